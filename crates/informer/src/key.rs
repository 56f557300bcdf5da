//! [`Key`]: the key under which an object is cached, `namespace/name` or `name`.

use std::fmt;
use std::sync::Arc;

use kubewright_machinery::gvk::ObjectKey;

/// The key of an object: `namespace/name`, or `name` if it is cluster-scoped. Cheap to clone.
///
/// ```
/// use kubewright_informer::Key;
///
/// let key = Key::parse("shop/web").unwrap();
/// assert_eq!((key.namespace(), key.name()), (Some("shop"), "web"));
/// assert_eq!(Key::new(None, "node-1").as_str(), "node-1");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

/// A string that is not a key: it has more than one slash, or no name.
///
/// ```
/// use kubewright_informer::Key;
///
/// let error = Key::parse("a/b/c").unwrap_err();
/// assert_eq!(error.to_string(), "unexpected key format: \"a/b/c\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unexpected key format: {0:?}")]
pub struct KeyError(String);

impl Key {
    /// Builds the key of an object. An empty namespace counts as none.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) if !namespace.is_empty() => Self(format!("{namespace}/{name}").into()),
            _ => Self(name.into()),
        }
    }

    /// Parses `namespace/name` or `name`.
    ///
    /// # Errors
    ///
    /// Fails if there is more than one slash, or no name.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(name), None, _) if !name.is_empty() => Ok(Self(text.into())),
            (Some(_), Some(name), None) if !name.is_empty() => Ok(Self(text.into())),
            _ => Err(KeyError(text.to_owned())),
        }
    }

    /// Returns the namespace, if the object has one.
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// Returns the key as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl std::borrow::Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&Key> for ObjectKey {
    fn from(key: &Key) -> Self {
        match key.namespace() {
            Some(namespace) => Self::namespaced(namespace, key.name()),
            None => Self::cluster(key.name()),
        }
    }
}

impl From<&ObjectKey> for Key {
    fn from(key: &ObjectKey) -> Self {
        Self::new(key.namespace.as_deref(), &key.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_namespace_and_name_or_the_name_alone() {
        assert_eq!(Key::new(Some("ns"), "a").as_str(), "ns/a");
        assert_eq!(Key::new(None, "a").as_str(), "a");
        assert_eq!(Key::new(Some(""), "a").as_str(), "a");
    }

    #[test]
    fn a_key_splits_into_one_or_two_parts() {
        let key = Key::parse("ns/a").unwrap();
        assert_eq!((key.namespace(), key.name()), (Some("ns"), "a"));
        let key = Key::parse("a").unwrap();
        assert_eq!((key.namespace(), key.name()), (None, "a"));
        assert!(Key::parse("a/b/c").is_err());
        assert!(Key::parse("").is_err());
    }
}
