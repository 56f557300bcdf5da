//! The load generator's client: HTTP/1.1 over TLS on one connection, one request at a time.
//!
//! It shares the machine with the server it measures, so it does as little as it can: requests are bytes made in
//! advance, of answers only the status and the length are understood, and the socket is read in large pieces that are
//! decrypted without another copy of the ciphertext. It is no general HTTP client.

mod answer;
mod connection;

pub(crate) use answer::Answer;
pub(crate) use connection::Connection;
