//! Cached objects: JSON bytes, the metadata that everybody asks for, and the decoded value while somebody holds it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`stored`] | [`StoredObject`]: one object as it is cached, of any kind |
//! | [`cached`] | [`Cached`]: a stored object seen as a `K` |
//! | [`kind`] | [`ObjectKind`]: what all objects of one cache share |
//! | [`ingest`] | from bytes on the wire to a [`StoredObject`] |
//! | [`field_path`] | a field's value straight from the bytes |

pub mod cached;
pub mod field_path;
pub mod ingest;
pub mod kind;
pub(crate) mod spans;
pub mod stored;

pub use cached::Cached;
pub use ingest::{Ingest, Rejected};
pub use kind::{Compression, ObjectKind};
pub use stored::{DecodeFailure, Owner, StoredObject};
