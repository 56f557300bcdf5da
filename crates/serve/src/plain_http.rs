//! Clients that send plain HTTP to a server that expects TLS.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The first bytes of requests, as far as Go's server recognises them.
const REQUESTS: [&[u8; 5]; 5] = [b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO"];

/// The answer of Go's server.
const ANSWER: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// Waits for the first bytes, and answers if they begin a plain request. Returns whether they did.
pub(crate) async fn answered(stream: &mut TcpStream) -> bool {
    let mut first = [0; 5];
    let plain = matches!(stream.peek(&mut first).await, Ok(5)) && REQUESTS.contains(&&first);
    if plain {
        tracing::debug!("plain HTTP request to a server with TLS");
        // Closing a connection with unread bytes would reset it, and the answer with it. The client may be gone.
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(ANSWER).await;
        let _ = stream.shutdown().await;
    }
    plain
}
