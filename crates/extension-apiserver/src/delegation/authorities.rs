//! [`Authorities`]: the contents of the ConfigMap `kube-system/extension-apiserver-authentication`.

use std::{collections::BTreeMap, fs, io, path::PathBuf, sync::Arc};

use kube::Client;
use kubewright_apiserver::{
    SystemClock,
    auth::{Authenticator, ClientCertificates, HeaderNames, RequestHeaders, TrustedAuthorities},
};
use serde_json::{Value, json};

use super::calls;
use crate::flags::{DelegationOptions, Lookup};

const PATH: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";
const ALLOWED_NAMES: &str = "requestheader-allowed-names";
const USER_HEADERS: &str = "requestheader-username-headers";
const UID_HEADERS: &str = "requestheader-uid-headers";
const GROUP_HEADERS: &str = "requestheader-group-headers";
const EXTRA_HEADERS: &str = "requestheader-extra-headers-prefix";

/// The authorities of a cluster are unusable.
#[derive(Debug, thiserror::Error)]
pub enum DelegationError {
    /// The ConfigMap cannot be read.
    #[error("cannot read the ConfigMap kube-system/extension-apiserver-authentication: {0}")]
    Unreadable(String),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An entry of the ConfigMap, or the file in its place, is invalid.
    #[error(
        "the entry {key} of kube-system/extension-apiserver-authentication, or of the flag in its place, is invalid: {reason}"
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
    /// Reads the files that the options name, and the ConfigMap for the rest.
    pub(super) async fn read(
        client: &Client,
        options: &DelegationOptions,
    ) -> Result<Self, DelegationError> {
        let files = Self::of_files(options)?;
        let is_complete = options.client_ca_file.is_some() && options.proxies.is_some();
        if is_complete || options.lookup == Lookup::Skipped {
            return Ok(files);
        }
        let map = calls::get(client, PATH).await;
        let map = map.map_err(DelegationError::Unreadable)?;
        let mut all = Self::of(&map);
        if options.proxies.is_some() {
            all.0.retain(|key, _| !key.starts_with("requestheader-"));
        }
        all.0.extend(files.0);
        Ok(all)
    }

    /// Reads the files that the options name.
    pub(super) fn of_files(options: &DelegationOptions) -> Result<Self, DelegationError> {
        let read = |path: &PathBuf| {
            fs::read_to_string(path).map_err(|source| DelegationError::File {
                path: path.clone(),
                source,
            })
        };
        let mut entries = BTreeMap::new();
        if let Some(path) = &options.client_ca_file {
            entries.insert(CLIENT_CA.to_owned(), read(path)?);
        }
        if let Some(proxies) = &options.proxies {
            entries.insert(PROXY_CA.to_owned(), read(&proxies.client_ca_file)?);
            let headers = &proxies.headers;
            for (key, values) in [
                (ALLOWED_NAMES, &proxies.allowed_names),
                (USER_HEADERS, &headers.user),
                (UID_HEADERS, &headers.uid),
                (GROUP_HEADERS, &headers.group),
                (EXTRA_HEADERS, &headers.extra_prefix),
            ] {
                entries.insert(key.to_owned(), json!(values).to_string());
            }
        }
        Ok(Self(entries))
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
                user: self.list(USER_HEADERS)?,
                uid: self.list(UID_HEADERS)?,
                group: self.list(GROUP_HEADERS)?,
                extra_prefix: self.list(EXTRA_HEADERS)?,
            };
            let proxies = RequestHeaders::new(self.authority(PROXY_CA)?)
                .allow_names(self.list(ALLOWED_NAMES)?)
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
