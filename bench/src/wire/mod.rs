//! The client of the load generator: HTTP/1.1 over TLS on one connection, one request at a time.
//!
//! It shares the machine with the server that it measures, so it does as little as possible: requests are prepared
//! bytes, only the status and length of responses are parsed, and the socket is read in large pieces that are decrypted
//! without another copy. It is not a general HTTP client.

mod answer;
mod connection;

pub(crate) use answer::Answer;
pub(crate) use connection::Connection;
