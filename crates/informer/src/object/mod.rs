//! Cached objects: JSON bytes, the metadata that every reader needs, and a bounded number of decoded values.
//!
//! | module | contents |
//! |---|---|
//! | `stored` | [`StoredObject`]: one object as it is cached, of any kind |
//! | `cached` | [`Cached`]: a stored object as a `K` |
//! | `kind` | [`ObjectKind`]: what all objects of one cache share |
//! | `decoded` | the decoded values that a cache keeps, and their limits |
//! | `ingest` | from bytes on the wire to a [`StoredObject`] |
//! | `field_path` | the value of a field, straight from the bytes |

pub(crate) mod cached;
mod decoded;
pub(crate) mod field_path;
pub(crate) mod ingest;
pub(crate) mod kind;
pub(crate) mod spans;
pub(crate) mod stored;

pub use cached::Cached;
pub use decoded::DecodedLimits;
pub use ingest::{Ingest, Rejected};
pub use kind::{Compression, ObjectKind};
pub use stored::{DecodeFailure, Owner, StoredObject};
