//! SPDY/3.1 as used by Kubernetes: the client opens streams, and the server replies to them.
//!
//! | module | contents |
//! |---|---|
//! | `connection` | incoming frames, and their streams |
//! | `frame` | outgoing frames |
//! | `headers` | header blocks, compressed with one state for the whole connection |
//! | `dictionary` | the initial dictionary of the compression |

mod connection;
mod dictionary;
mod frame;
mod headers;

pub(crate) use connection::{Incoming, SpdyStream};
pub(crate) use frame::{DataEncoder, RST_CANCEL, go_away, reset};
pub(crate) use headers::Headers;
