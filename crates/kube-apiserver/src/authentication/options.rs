//! The options of a server that concern authentication.

use std::{sync::Arc, time::Duration};

use kubewright_apiserver::auth::{Authenticator, TokenAuthenticator, TokenFile};

use super::{AnonymousAccess, FrontProxy};
use crate::{KubeApiServerBuilder, ServiceAccountKeys};

impl KubeApiServerBuilder {
    /// Adds an authenticator. It is asked after certificates and tokens. Once there is one, requests without credentials are
    /// rejected, unless [`anonymous`](Self::anonymous) says otherwise.
    #[must_use]
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authentication.others.push(authenticator);
        self
    }

    /// Adds an authenticator of bearer tokens, such as those of an identity provider. It is asked after the built-in ones.
    #[must_use]
    pub fn token_authenticator(mut self, tokens: Arc<dyn TokenAuthenticator>) -> Self {
        self.authentication.tokens.push(tokens);
        self
    }

    /// Sets the users with static bearer tokens.
    #[must_use]
    pub fn token_file(mut self, tokens: TokenFile) -> Self {
        self.authentication.token_file = Some(tokens);
        self
    }

    /// Accepts client certificates that these authorities (PEM) have signed. The common name is the user, organizations are
    /// groups. Authorities of several calls add up. The listener has to ask clients for certificates: see
    /// `Tls::request_client_certificates` of `kubewright-serve`.
    #[must_use]
    pub fn client_ca(mut self, pem: impl AsRef<[u8]>) -> Self {
        let authorities = &mut self.authentication.client_ca;
        authorities.extend_from_slice(pem.as_ref());
        authorities.push(b'\n');
        self
    }

    /// Sets whether the authorities of clients and proxies are published in the ConfigMap
    /// `kube-system/extension-apiserver-authentication`, for extension servers (default: yes).
    #[must_use]
    pub fn publish_authorities(mut self, publish: bool) -> Self {
        self.authentication.unpublished = !publish;
        self
    }

    /// Accepts the word of an authenticating proxy about its users. There may be several.
    #[must_use]
    pub fn front_proxy(mut self, proxy: FrontProxy) -> Self {
        self.authentication.front_proxies.push(proxy);
        self
    }

    /// Switches tokens of Secrets `kube-system/bootstrap-token-…` on (default: off).
    #[must_use]
    pub fn bootstrap_tokens(mut self, enabled: bool) -> Self {
        self.authentication.bootstrap_tokens = enabled;
        self
    }

    /// Sets whether requests without credentials are accepted. By default they are, if there is no way to authenticate but
    /// tokens of service accounts.
    #[must_use]
    pub fn anonymous(mut self, access: AnonymousAccess) -> Self {
        self.authentication.anonymous = Some(access);
        self
    }

    /// Sets the keys of service-account tokens (default: a new key for each server, so tokens end with it).
    #[must_use]
    pub fn service_account_keys(mut self, keys: ServiceAccountKeys) -> Self {
        self.service_accounts.keys = Some(keys);
        self
    }

    /// Sets the issuers of service-account tokens: the first one signs, all are accepted (default:
    /// `https://kubernetes.default.svc`).
    #[must_use]
    pub fn service_account_issuers<I: Into<String>>(
        mut self,
        issuers: impl IntoIterator<Item = I>,
    ) -> Self {
        self.service_accounts.issuers = issuers.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the URL of the keys in the issuer's discovery document (default: at the server's own address).
    #[must_use]
    pub fn service_account_jwks_uri(mut self, uri: impl Into<String>) -> Self {
        self.service_accounts.keys_uri = Some(uri.into());
        self
    }

    /// Limits the lifetime of service-account tokens (default: no limit but that of the API).
    #[must_use]
    pub fn service_account_max_token_expiration(mut self, max: Duration) -> Self {
        self.service_accounts.max_expiration = Some(max);
        self
    }

    /// Sets whether tokens that Kubernetes adds to pods are valid for a year, for clients that do not reload them (default:
    /// true).
    #[must_use]
    pub fn service_account_extend_token_expiration(mut self, extend: bool) -> Self {
        self.service_accounts.extend_expiration = extend;
        self
    }

    /// Sets the audiences that tokens must be meant for, one of them (default: the issuers of service-account tokens).
    #[must_use]
    pub fn api_audiences<A: Into<String>>(
        mut self,
        audiences: impl IntoIterator<Item = A>,
    ) -> Self {
        self.service_accounts.audiences = audiences.into_iter().map(Into::into).collect();
        self
    }
}
