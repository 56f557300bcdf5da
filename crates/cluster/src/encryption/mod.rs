//! [`Encryption`]: encryption of values in etcd, compatible with kube-apiserver.
//!
//! An encrypted value begins with `k8s:enc:`, the provider, and the name of its key. The first provider of a resource encrypts,
//! and all of its providers decrypt.
//!
//! | file | contents |
//! |---|---|
//! | `config` | the file that kube-apiserver takes as `--encryption-provider-config` |
//! | `provider` | providers with their keys, and the ciphers |

mod config;
mod provider;

use std::sync::Arc;

use bytes::Bytes;
use kubewright_store::{BackendError, Key, Payload, layout::Layout};

use provider::Provider;

/// The providers that encrypt values in etcd, as configured by a file for `--encryption-provider-config` of kube-apiserver. The
/// supported providers are `aescbc`, `aesgcm`, `secretbox` and `identity`.
///
/// Values of other providers, such as `kms`, cannot be decrypted.
///
/// ```
/// use kubewright_cluster::Encryption;
///
/// let encryption = Encryption::parse(
///     "apiVersion: apiserver.config.k8s.io/v1
/// kind: EncryptionConfiguration
/// resources:
/// - resources: [secrets]
///   providers:
///   - secretbox: {keys: [{name: key1, secret: c2VjcmV0IGlzIHNlY3VyZSwgb3IgaXMgaXQ/Pz8/Pz8=}]}
///   - identity: {}
/// ",
/// )?;
/// # let _ = encryption;
/// # Ok::<_, kubewright_cluster::EncryptionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encryption {
    rules: Arc<[Rule]>,
}

/// An invalid encryption configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid encryption configuration: {0}")]
pub struct EncryptionError(String);

/// The providers of some resources.
#[derive(Debug)]
struct Rule {
    resources: Vec<Pattern>,
    providers: Vec<Provider>,
}

/// The resources that a rule applies to.
#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    /// `*.*`
    All,
    /// `*.apps`; `*.` is the core group.
    Group(String),
    /// `secrets`, `deployments.apps`.
    Resource { group: String, resource: String },
}

/// A layout that encrypts the values of another layout.
struct EncryptedLayout {
    inner: Arc<dyn Layout>,
    /// The prefix of all keys, which is part of the authenticated key.
    prefix: String,
    encryption: Encryption,
}

impl Encryption {
    /// Parses a configuration in YAML or JSON.
    ///
    /// # Errors
    ///
    /// Fails if it is not an `EncryptionConfiguration` of `apiserver.config.k8s.io/v1`, or if a key is invalid.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, EncryptionError> {
        let rules = config::parse(text.as_ref()).map_err(EncryptionError)?;
        Ok(Self {
            rules: rules.into(),
        })
    }

    /// Returns a layout that encrypts and decrypts the values of another.
    pub(crate) fn layout(&self, prefix: &str, inner: Arc<dyn Layout>) -> Arc<dyn Layout> {
        Arc::new(EncryptedLayout {
            inner,
            prefix: prefix.to_owned(),
            encryption: self.clone(),
        })
    }

    /// Returns the providers of a collection: those of the first matching rule.
    fn providers(&self, collection: &str) -> Option<&[Provider]> {
        let (group, resource) = collection.split_once('/').unwrap_or(("", collection));
        let names = |pattern: &Pattern| match pattern {
            Pattern::All => true,
            Pattern::Group(named) => named == group,
            Pattern::Resource {
                group: named,
                resource: plural,
            } => named == group && plural == resource,
        };
        let rule = self.rules.iter().find(|r| r.resources.iter().any(names))?;
        Some(&rule.providers)
    }
}

impl EncryptedLayout {
    /// Returns the full etcd key of an object.
    fn whole(&self, key: &Key) -> Result<String, BackendError> {
        let name = self.inner.name(key);
        let name = name.ok_or_else(|| format!("{} has no place in etcd", key.collection))?;
        Ok(format!("{}/{name}", self.prefix))
    }
}

impl Layout for EncryptedLayout {
    fn name(&self, key: &Key) -> Option<String> {
        self.inner.name(key)
    }

    fn key(&self, name: &str) -> Option<Key> {
        self.inner.key(name)
    }

    fn encode(&self, key: &Key, payload: &Payload) -> Result<Bytes, BackendError> {
        let value = self.inner.encode(key, payload)?;
        let providers = self.encryption.providers(&key.collection);
        match providers.and_then(<[Provider]>::first) {
            Some(provider) => Ok(provider.seal(&self.whole(key)?, value)?),
            None => Ok(value),
        }
    }

    fn decode(&self, key: &Key, value: &Bytes) -> Result<Payload, BackendError> {
        let Some(providers) = self.encryption.providers(&key.collection) else {
            return self.inner.decode(key, value);
        };
        let plain = provider::open(providers, &self.whole(key)?, value)?;
        self.inner.decode(key, &plain)
    }
}

#[cfg(test)]
mod tests;
