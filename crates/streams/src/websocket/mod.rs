//! The server side of WebSockets (RFC 6455).
//!
//! | module | contents |
//! |---|---|
//! | `frame` | incoming frames, read in parts, and outgoing frames |
//! | `channels` | messages that begin with the number of a channel |
//! | `tunnel` | messages that carry a byte stream |

mod channels;
mod frame;
mod tunnel;

pub(crate) use channels::{ChannelEncoder, Codec, Demultiplexer};
pub(crate) use frame::{CLOSE_NORMAL, Frames, MessageEncoder, close_frame};
pub(crate) use tunnel::tunnel;
