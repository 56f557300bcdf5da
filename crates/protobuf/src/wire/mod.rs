//! The protobuf wire: varints, tags and lengths.
//!
//! [`Reader`] goes forwards over borrowed bytes and never past their end. [`Writer`] fills its buffer from the back,
//! so that the length of a message is known when it is written in front of it.

mod reader;
mod writer;

pub(crate) use reader::{Reader, Tag};
pub(crate) use writer::{Counter, Sink, Writer};

/// A number of up to 64 bits, seven to a byte.
pub(crate) const VARINT: u8 = 0;
/// Eight bytes, little endian.
pub(crate) const FIXED64: u8 = 1;
/// A length and that many bytes.
pub(crate) const LENGTH: u8 = 2;
/// The start of a group, which only unknown fields are.
const GROUP: u8 = 3;
/// The end of a group.
pub(crate) const END_GROUP: u8 = 4;
/// Four bytes, little endian.
const FIXED32: u8 = 5;
