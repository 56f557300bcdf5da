//! [`Transform`]: a change to every object before it is cached.
//!
//! A transform runs once for each object that is cached, in the order of the stream. It must not change the name,
//! namespace, UID or resource version.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::object::field_path::FieldPath;

/// A change to every object before it is cached.
///
/// ```
/// use kubewright_informer::Transform;
///
/// let slim = Transform::drop_fields(["status", "metadata.annotations"])
///     .then(Transform::json(|object| object["data"] = serde_json::json!({})));
/// # let _ = slim;
/// ```
#[derive(Clone)]
pub struct Transform(Arc<Change>);

type Change = dyn Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync;

impl Transform {
    /// Drops fields, straight from the bytes: `status`, `metadata.annotations`.
    pub fn drop_fields<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Self {
        let paths: Vec<_> = paths
            .into_iter()
            .map(|p| FieldPath::new(p.as_ref()))
            .collect();
        Self(Arc::new(move |json| {
            Ok(paths
                .iter()
                .fold(json.to_vec(), |json, path| path.remove_from(&json)))
        }))
    }

    /// Changes the object as a JSON value.
    pub fn json(change: impl Fn(&mut serde_json::Value) + Send + Sync + 'static) -> Self {
        Self::typed(change)
    }

    /// Changes the object as a `K`. Every object is decoded and encoded once for it.
    pub fn typed<K>(change: impl Fn(&mut K) + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Serialize,
    {
        Self(Arc::new(move |json| {
            let mut value: K = serde_json::from_slice(json).map_err(|error| error.to_string())?;
            change(&mut value);
            serde_json::to_vec(&value).map_err(|error| error.to_string())
        }))
    }

    /// Combines this transform with a second one.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self(Arc::new(move |json| next.apply(&self.apply(json)?)))
    }

    /// Applies the transform. One that panics rejects the object.
    pub(crate) fn apply(&self, json: &[u8]) -> Result<Vec<u8>, String> {
        catch_unwind(AssertUnwindSafe(|| (self.0)(json)))
            .unwrap_or_else(|_| Err("the transform panicked".to_owned()))
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transform")
    }
}
