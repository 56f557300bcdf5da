//! Random identifiers: uids of objects, ids of requests.
//!
//! They come from the thread-local generator, which rarely asks the operating system for randomness.

use uuid::{Builder, Uuid};

/// Returns a random identifier (UUID version 4).
pub(crate) fn random() -> Uuid {
    Builder::from_random_bytes(rand::random()).into_uuid()
}

/// Returns a random uid, for an object that is written to the store without the generic registry.
///
/// ```
/// assert_eq!(kubewright_apiserver::random_uid().len(), 36);
/// ```
pub fn random_uid() -> String {
    random().hyphenated().to_string()
}
