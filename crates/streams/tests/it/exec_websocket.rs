//! Commands over WebSockets.

use std::{sync::atomic::Ordering::SeqCst, time::Duration};

use kubewright_streams::StreamLimits;
use tokio::io::AsyncReadExt;

use crate::{
    commands::TestServer,
    websocket_client::{WebSocket, head},
};

const SUCCESS: &str = r#"{"metadata":{},"status":"Success"}"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn closing_a_channel_ends_standard_input() {
    let server = TestServer::new();
    let path = "/exec?command=echo&stdin=true&stdout=true";
    let mut socket = WebSocket::open(&server, path, "v5.channel.k8s.io").await;
    assert_eq!(socket.message().await, [1], "the connection stands");
    socket.send(b"\0hello ").await;
    // A message in two frames, with a ping in between.
    socket.send_frame(0x02, b"\0wo").await;
    socket.send_frame(0x89, b"still there?").await;
    socket.send_frame(0x80, b"rld").await;
    socket.send(&[255, 0]).await;
    let (channels, code) = socket.rest().await;
    assert_eq!(text(&channels[1]), "hello world");
    assert_eq!(text(&channels[3]), SUCCESS);
    assert_eq!(code, 1000);
}

#[tokio::test]
async fn pings_are_answered() {
    let server = TestServer::new();
    let path = "/exec?command=wait&stdout=true";
    let mut socket = WebSocket::open(&server, path, "v4.channel.k8s.io").await;
    socket.message().await;
    socket.send_frame(0x89, b"abc").await;
    assert_eq!(socket.frame().await, Some((0x8a, b"abc".to_vec())));
    socket.send_frame(0x88, &[3, 232, b'b', b'y', b'e']).await;
    assert_eq!(socket.frame().await, Some((0x88, vec![3, 232])));
    assert_eq!(socket.frame().await, None);
}

#[tokio::test]
async fn failures_are_statuses_or_text() {
    let server = TestServer::new();
    let cases = [
        (
            "fail",
            "v5.channel.k8s.io",
            r#""reason":"BadRequest","code":400}"#,
        ),
        (
            "exit&command=3",
            "v4.channel.k8s.io",
            r#""causes":[{"reason":"ExitCode","message":"3"}]}}"#,
        ),
        ("panic", "v4.channel.k8s.io", r#""code":500}"#),
        ("fail", "channel.k8s.io", "no such command"),
        ("exit&command=3", "", "command terminated with exit code 3"),
        ("both", "channel.k8s.io", ""),
    ];
    for (command, protocol, expected) in cases {
        let path = format!("/exec?command={command}&stdout=true");
        let mut socket = WebSocket::open(&server, &path, protocol).await;
        let (channels, code) = socket.rest().await;
        let error = text(&channels[3]);
        assert!(error.ends_with(expected), "{command}: {error}");
        assert_eq!(error.is_empty(), expected.is_empty(), "{command}: {error}");
        assert_eq!(code, 1000);
    }
}

#[tokio::test]
async fn base64_is_text() {
    let server = TestServer::new();
    let path = "/exec?command=size&command=&stdout=true&tty=true&stderr=true";
    let path = path.replace("&command=&", "&");
    let protocol = "v4.base64.channel.k8s.io";
    let mut socket = WebSocket::open(&server, &path, protocol).await;
    assert_eq!(socket.frame().await, Some((0x81, b"1".to_vec())));
    // {"Width":80,"Height":24}, in two frames.
    socket.send_frame(0x01, b"4eyJXaWR0aCI6ODAsI").await;
    socket.send_frame(0x80, b"khlaWdodCI6MjR9").await;
    assert_eq!(socket.frame().await, Some((0x81, b"1ODB4MjQ=".to_vec())));
}

#[tokio::test]
async fn handshake_errors_equal_those_of_the_real_server() {
    let server = TestServer::new();
    let exec = "/exec?command=both&stdout=true";
    let valid = head(exec, "");
    let unknown = head(exec, "v9.channel.k8s.io");
    let nothing = head("/exec?command=both", "v4.channel.k8s.io");
    for (head, code, body) in [
        (
            format!("GET {exec} HTTP/1.1"),
            400,
            "Upgrade request required",
        ),
        (unknown, 403, ""),
        (
            valid.replace("Version: 13", "Version: 8"),
            400,
            "missing or bad WebSocket Version",
        ),
        (
            valid.replace("Sec-WebSocket-Key", "X-Key"),
            400,
            "mismatch challenge/response",
        ),
        (valid.replace("GET", "POST"), 405, "bad method"),
        (
            nothing,
            400,
            "you must specify at least 1 of stdin, stdout, stderr",
        ),
    ] {
        let (mut io, response) = server.open(&head).await;
        assert!(
            response.starts_with(&format!("HTTP/1.1 {code} ")),
            "{response}"
        );
        let mut text = vec![0; body.len()];
        io.read_exact(&mut text).await.unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), body);
    }
}

#[tokio::test]
async fn protocol_violations_close_the_connection_with_a_status() {
    let server = TestServer::new();
    let path = "/exec?command=echo&stdin=true&stdout=true";
    for (first, payload) in [
        // Reserved bits, a continuation without a message, an unknown type, a long ping, a fragmented ping.
        (0xf2, vec![0]),
        (0x80, vec![0]),
        (0x83, vec![0]),
        (0x89, vec![0; 126]),
        (0x09, vec![]),
    ] {
        let mut socket = WebSocket::open(&server, path, "v4.channel.k8s.io").await;
        socket.send_frame(first, &payload).await;
        let (_, code) = socket.rest().await;
        assert_eq!(code, 1002, "{first:x}");
    }
    // A frame without a mask.
    let mut socket = WebSocket::open(&server, path, "v4.channel.k8s.io").await;
    tokio::io::AsyncWriteExt::write_all(&mut socket.io, &[0x82, 1, 0])
        .await
        .unwrap();
    assert_eq!(socket.rest().await.1, 1002);
    // A close signal for an unknown channel.
    let mut socket = WebSocket::open(&server, path, "v5.channel.k8s.io").await;
    socket.send(&[255, 9]).await;
    assert_eq!(socket.rest().await.1, 0);
}

#[tokio::test]
async fn a_client_that_does_not_read_uses_bounded_memory() {
    let server = TestServer::new();
    let path = "/exec?command=flood&stdout=true";
    let socket = WebSocket::open(&server, path, "v5.channel.k8s.io").await;
    let written = &server.commands.written;
    let mut before = usize::MAX;
    // The command writes until every buffer is full.
    while before != written.load(SeqCst) {
        before = written.load(SeqCst);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    assert!((16 << 10..100 << 10).contains(&before), "{before}");
    drop(socket);
    while server.commands.running.load(SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn idle_connections_end() {
    let server = TestServer::with_limits(StreamLimits {
        idle_timeout: Duration::from_secs(600),
        ..StreamLimits::default()
    });
    let start = tokio::time::Instant::now();
    let path = "/exec?command=wait&stdout=true";
    let mut socket = WebSocket::open(&server, path, "v5.channel.k8s.io").await;
    socket.message().await;
    tokio::time::sleep(Duration::from_secs(500)).await;
    socket.send(b"\0").await;
    assert_eq!(socket.frame().await, None);
    assert_eq!(start.elapsed().as_secs(), 1100);
    assert_eq!(server.commands.running.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn connections_of_unresponsive_clients_are_dropped() {
    let server = TestServer::new();
    let start = tokio::time::Instant::now();
    let path = "/exec?command=both&stdout=true";
    let mut socket = WebSocket::open(&server, path, "v5.channel.k8s.io").await;
    let (_, code) = socket.rest().await;
    assert_eq!(code, 1000);
    // Writes succeed until the server closes the connection.
    while tokio::io::AsyncWriteExt::write_all(&mut socket.io, &[0x82, 0x80, 0, 0, 0, 0])
        .await
        .is_ok()
    {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!((5..=6).contains(&start.elapsed().as_secs()));
}
