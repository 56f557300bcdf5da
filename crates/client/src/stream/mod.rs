//! Lists and watches as they arrive: objects are cut out of the byte stream and handed on undecoded.
//!
//! What is here knows JSON's brackets and strings, and the envelopes of lists and watches. It builds no tree and decodes no
//! object: a pod of 7 KB is passed over at memory speed, and whoever wants its fields decodes the bytes.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scan`] | where a JSON value ends, on whole buffers and across chunks |
//! | `blocks` | the same by 64 bytes at once |
//! | [`list`] | [`ListDecoder`]: the items of a list, one by one |
//! | [`watch`] | [`WatchDecoder`]: the events of a watch |
//! | [`response`] | [`open`], [`open_watch`]: requests through [`kube::Client`], their bodies as chunks |
//!
//! Invariants: an object that lies within one chunk is a slice of it, no copy; a decoder buffers at most one object, and no
//! object may be longer than [`MAX_OBJECT`]; nothing here recurses, so no nesting exhausts the stack.

mod blocks;
pub mod list;
pub mod response;
pub mod scan;
pub mod watch;

pub use list::{ListDecoder, ListHead};
pub use response::{ByteStream, OpenError, open, open_watch};
pub use watch::{EventType, WatchDecoder, WatchFrame};

/// The longest object that is taken from a stream. The server's own limit is 3 MiB for a request.
pub const MAX_OBJECT: usize = 32 << 20;

/// Why a stream could not be taken apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Bytes that no list or watch begins or goes on with.
    #[error("malformed JSON: {0}")]
    Malformed(&'static str),
    /// The stream ended in the middle of something.
    #[error("the stream ended in the middle of a {0}")]
    Truncated(&'static str),
    /// An object longer than [`MAX_OBJECT`].
    #[error("an object is longer than {MAX_OBJECT} bytes")]
    TooLong,
    /// An envelope that is not what was asked for.
    #[error("unexpected answer: {0}")]
    Unexpected(String),
}
