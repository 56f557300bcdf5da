//! Streamed bodies.

use crate::{
    commands::TestServer,
    websocket_client::{WebSocket, head},
};

#[tokio::test]
async fn chunks_are_sent_as_messages() {
    let server = TestServer::new();
    for (protocol, first, expected) in [
        ("", 0x82, ["one\n", "two\n"]),
        ("binary.k8s.io", 0x82, ["one\n", "two\n"]),
        ("base64.binary.k8s.io", 0x81, ["b25lCg==", "dHdvCg=="]),
    ] {
        let mut socket = WebSocket::open(&server, "/log", protocol).await;
        for text in expected {
            let frame = socket.frame().await;
            assert_eq!(frame, Some((first, text.as_bytes().to_vec())), "{protocol}");
        }
        assert_eq!(socket.frame().await, Some((0x88, vec![3, 232])));
    }
    let (_, refused) = server.open(&head("/log", "channel.k8s.io")).await;
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
}
