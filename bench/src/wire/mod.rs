//! The client of the load generator: HTTP/1.1 or HTTP/2 over TLS on one connection, one request at a time.
//!
//! It shares the machine with the server that it measures, so it does as little as possible: requests are prepared
//! bytes, only the status and length of responses are parsed, and the socket is read in large pieces that are decrypted
//! without another copy. It is not a general HTTP client.

mod answer;
mod connection;
pub(crate) mod http2;

pub(crate) use answer::Answer;
pub(crate) use connection::Connection;

/// The version of HTTP that a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}
