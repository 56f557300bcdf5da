//! [`TokenGenerator`]: the source of tokens for Secrets.

use std::error::Error;

/// The identity that a token of a Secret proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecretTokenClaims<'a> {
    /// The namespace of the account and the Secret.
    pub namespace: &'a str,
    /// The name of the account.
    pub account: &'a str,
    /// The uid of the account.
    pub account_uid: &'a str,
    /// The name of the Secret.
    pub secret: &'a str,
}

/// Generates the tokens that Secrets of service accounts hold, which do not expire.
///
/// ```
/// use std::{error::Error, sync::Arc};
///
/// use kubewright_builtin_controllers::{Controllers, SecretTokenClaims, TokenGenerator};
///
/// struct Plain;
///
/// impl TokenGenerator for Plain {
///     fn generate(&self, claims: &SecretTokenClaims<'_>) -> Result<String, Box<dyn Error + Send + Sync>> {
///         Ok(format!("token of {}", claims.account))
///     }
/// }
///
/// let controllers = Controllers::default().token_generator(Arc::new(Plain));
/// # let _ = controllers;
/// ```
pub trait TokenGenerator: Send + Sync + 'static {
    /// Returns a token.
    ///
    /// # Errors
    ///
    /// Fails if the token cannot be signed. The controller tries again later.
    fn generate(
        &self,
        claims: &SecretTokenClaims<'_>,
    ) -> Result<String, Box<dyn Error + Send + Sync>>;
}
