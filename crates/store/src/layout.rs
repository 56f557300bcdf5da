//! [`Layout`]: the keys and values of a backend that other programs read and write too.

use bytes::Bytes;

use crate::{BackendError, Key, Payload};

/// Translates between the objects of a store and the keys and values of a backend that is shared with others, such as etcd.
///
/// ```
/// use kubewright_store::{Key, Payload, layout::{Layout, PlainLayout}};
///
/// let layout = PlainLayout;
/// let key = Key::new("apps/deployments", "default/web");
/// let name = layout.name(&key).expect("a name");
/// assert_eq!(name, "apps%2Fdeployments/default/web");
/// assert_eq!(layout.key(&name), Some(key.clone()));
///
/// let value = layout.encode(&key, &Payload::plain("{}"))?;
/// assert_eq!(layout.decode(&key, &value)?.bytes, "{}");
/// # Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub trait Layout: Send + Sync + 'static {
    /// Returns the name of an object in the backend, below the prefix of the store. `None`: such objects cannot be stored.
    fn name(&self, key: &Key) -> Option<String>;

    /// Returns the object of a name; `None` if the name does not belong to an object.
    fn key(&self, name: &str) -> Option<Key>;

    /// Returns the value of an object.
    ///
    /// # Errors
    ///
    /// Fails if the object cannot be expressed in the form of the backend.
    fn encode(&self, key: &Key, payload: &Payload) -> Result<Bytes, BackendError>;

    /// Returns the object of a value, without its revision.
    ///
    /// # Errors
    ///
    /// Fails if the value is not an object in one of the forms that others write.
    fn decode(&self, key: &Key, value: &Bytes) -> Result<Payload, BackendError>;
}

/// A layout for backends without other writers: any collection, path and bytes.
///
/// A name is the collection, with `/` and `%` escaped, and the path. A value is the bytes after the position of the
/// revision in them.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainLayout;

/// The position of a value without a revision.
const NO_POSITION: u32 = u32::MAX;

impl Layout for PlainLayout {
    fn name(&self, key: &Key) -> Option<String> {
        let collection = key.collection.replace('%', "%25").replace('/', "%2F");
        Some(format!("{collection}/{}", key.path))
    }

    fn key(&self, name: &str) -> Option<Key> {
        let (collection, path) = name.split_once('/')?;
        let collection = collection.replace("%2F", "/").replace("%25", "%");
        Some(Key::new(collection, path))
    }

    fn encode(&self, _: &Key, payload: &Payload) -> Result<Bytes, BackendError> {
        let position = payload.revision_at.unwrap_or(NO_POSITION);
        let mut value = Vec::with_capacity(4 + payload.bytes.len());
        value.extend_from_slice(&position.to_be_bytes());
        value.extend_from_slice(&payload.bytes);
        Ok(value.into())
    }

    fn decode(&self, _: &Key, value: &Bytes) -> Result<Payload, BackendError> {
        let Some((position, _)) = value.split_first_chunk::<4>() else {
            return Err("the value is shorter than 4 bytes".into());
        };
        let position = u32::from_be_bytes(*position);
        Ok(Payload {
            revision_at: (position != NO_POSITION).then_some(position),
            ..Payload::plain(value.slice(4..))
        })
    }
}
