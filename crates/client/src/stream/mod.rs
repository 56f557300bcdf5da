//! Lists and watches as they arrive: objects are cut out of the byte stream and passed on without decoding.
//!
//! This module knows JSON's brackets and strings, and the envelopes of lists and watches. It builds no tree and decodes
//! no object: a pod of 7 KB is skipped at memory speed, and readers that need its fields decode the bytes.
//!
//! | module | contents |
//! |---|---|
//! | [`scan`] | finding the end of a JSON value, in whole buffers and across chunks |
//! | `list` | [`ListDecoder`]: the items of a list, one by one |
//! | `watch` | [`WatchDecoder`]: the events of a watch |
//! | `response` | [`open`], [`open_watch`]: requests through [`kube::Client`], with bodies as chunks |
//!
//! Invariants: an object within one chunk is a slice of it, not a copy; a decoder buffers at most one object, and no
//! object may be longer than [`MAX_OBJECT`]; nothing recurses, so no nesting exhausts the stack.

mod list;
mod response;
pub mod scan;
mod watch;

pub use list::{ListDecoder, ListHead};
pub use response::{ByteStream, OpenError, open, open_watch};
pub use watch::{EventType, WatchDecoder, WatchFrame};

/// The maximum size of an object in a stream. The server's own limit is 3 MiB for a request.
pub const MAX_OBJECT: usize = 32 << 20;

/// A stream that cannot be split into objects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Bytes that do not belong to a list or a watch.
    #[error("malformed JSON: {0}")]
    Malformed(&'static str),
    /// The stream ended in the middle of something.
    #[error("the stream ended in the middle of a {0}")]
    Truncated(&'static str),
    /// An object is longer than [`MAX_OBJECT`].
    #[error("an object is longer than {MAX_OBJECT} bytes")]
    TooLong,
    /// The envelope is not of the requested type.
    #[error("unexpected response: {0}")]
    Unexpected(String),
}
