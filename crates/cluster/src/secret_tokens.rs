//! Tokens for service-account Secrets, signed with the keys of the cluster.

use std::error::Error;

use kubewright_builtin_controllers::{SecretTokenClaims, TokenGenerator};
use kubewright_kube_apiserver::ServiceAccountKeys;

/// Signs tokens that the API server accepts.
pub(crate) struct SecretTokens(pub(crate) ServiceAccountKeys);

impl TokenGenerator for SecretTokens {
    fn generate(
        &self,
        claims: &SecretTokenClaims<'_>,
    ) -> Result<String, Box<dyn Error + Send + Sync>> {
        let token = self.0.secret_token(
            claims.namespace,
            claims.account,
            claims.account_uid,
            claims.secret,
        );
        Ok(token?)
    }
}
