//! [`Authorities`]: the contents of the ConfigMap `kube-system/extension-apiserver-authentication`.

use std::{collections::BTreeMap, sync::Arc};

use kube::Client;
use kubewright_apiserver::{
    SystemClock,
    auth::{Authenticator, ClientCertificates, HeaderNames, RequestHeaders, TrustedAuthorities},
};
use serde_json::Value;

use super::calls;

const PATH: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";

/// The authorities of a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DelegationError {
    /// The ConfigMap cannot be read.
    #[error("cannot read the ConfigMap kube-system/extension-apiserver-authentication: {0}")]
    Unreadable(String),
    /// An entry of the ConfigMap is invalid.
    #[error(
        "the entry {key} of kube-system/extension-apiserver-authentication is invalid: {reason}"
    )]
    Invalid {
        /// The key of the entry.
        key: &'static str,
        /// The reason.
        reason: String,
    },
}

/// The authorities that a cluster publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Authorities(BTreeMap<String, String>);

impl Authorities {
    /// Reads the ConfigMap.
    pub(super) async fn read(client: &Client) -> Result<Self, DelegationError> {
        let map = calls::get(client, PATH).await;
        let map = map.map_err(DelegationError::Unreadable)?;
        Ok(Self::of(&map))
    }

    fn of(map: &Value) -> Self {
        let entries = map["data"].as_object().into_iter().flatten();
        let texts = entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.into())));
        Self(texts.collect())
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).map(String::as_str).unwrap_or_default()
    }

    /// Returns whether there is an authority of proxies.
    pub(super) fn has_proxies(&self) -> bool {
        !self.text(PROXY_CA).is_empty()
    }

    /// Returns all authorities as PEM.
    pub(super) fn pem(&self) -> Vec<u8> {
        let mut pem = Vec::new();
        for key in [CLIENT_CA, PROXY_CA] {
            pem.extend_from_slice(self.text(key).as_bytes());
            pem.push(b'\n');
        }
        pem
    }

    /// Returns the authenticators of proxies and of clients with certificates.
    pub(super) fn authenticators(&self) -> Result<Vec<Arc<dyn Authenticator>>, DelegationError> {
        let mut members = Vec::<Arc<dyn Authenticator>>::new();
        if self.has_proxies() {
            let headers = HeaderNames {
                user: self.list("requestheader-username-headers")?,
                uid: self.list("requestheader-uid-headers")?,
                group: self.list("requestheader-group-headers")?,
                extra_prefix: self.list("requestheader-extra-headers-prefix")?,
            };
            let proxies = RequestHeaders::new(self.authority(PROXY_CA)?)
                .allow_names(self.list("requestheader-allowed-names")?)
                .headers(headers);
            members.push(Arc::new(proxies));
        }
        if !self.text(CLIENT_CA).is_empty() {
            let clients = ClientCertificates::new(self.authority(CLIENT_CA)?);
            members.push(Arc::new(clients));
        }
        Ok(members)
    }

    fn authority(&self, key: &'static str) -> Result<TrustedAuthorities, DelegationError> {
        let pem = self.text(key).as_bytes();
        let authority = TrustedAuthorities::from_pem(pem, Arc::new(SystemClock));
        authority.map_err(|e| DelegationError::Invalid {
            key,
            reason: e.to_string(),
        })
    }

    /// Reads a list of strings, which is JSON.
    fn list(&self, key: &'static str) -> Result<Vec<String>, DelegationError> {
        match self.text(key) {
            "" => Ok(Vec::new()),
            text => serde_json::from_str(text).map_err(|e| DelegationError::Invalid {
                key,
                reason: e.to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bad_entries_are_named() {
        let none = Authorities::of(&json!({}));
        assert!(!none.has_proxies());
        assert!(none.authenticators().unwrap().is_empty());
        for (data, key) in [
            (json!({CLIENT_CA: "no certificate"}), CLIENT_CA),
            (
                json!({PROXY_CA: "x", "requestheader-allowed-names": "{"}),
                "requestheader-",
            ),
        ] {
            let authorities = Authorities::of(&json!({"data": data}));
            let error = authorities.authenticators().err().unwrap().to_string();
            assert!(error.contains(key), "{error}");
        }
    }
}
