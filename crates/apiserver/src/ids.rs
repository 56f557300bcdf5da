//! Random identifiers: uids of objects, ids of requests.
//!
//! They come from the thread's own generator, which asks the system for randomness now and then rather than every time.

use uuid::{Builder, Uuid};

/// A new random identifier (version 4).
pub(crate) fn random() -> Uuid {
    Builder::from_random_bytes(rand::random()).into_uuid()
}
