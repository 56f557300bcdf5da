//! Commands over SPDY.

use std::{sync::atomic::Ordering::SeqCst, time::Duration};

use tokio::io::AsyncWriteExt;

use crate::{
    commands::TestServer,
    spdy_client::{Frame, Spdy, data, fin},
};

const ECHO: &str = "/exec?command=echo&stdin=true&stdout=true";

/// Opens the streams of `echo`: 1 for errors, 3 for input, 5 for output.
async fn echo(server: &TestServer, protocol: &str) -> Spdy<tokio::io::DuplexStream> {
    let mut spdy = Spdy::open(server, ECHO, protocol).await;
    for (id, kind) in [(1, "error"), (3, "stdin"), (5, "stdout")] {
        spdy.stream(id, &[("streamtype", kind)]).await;
        spdy.expect([Frame::Reply(id)]).await;
    }
    spdy
}

#[tokio::test]
async fn streams_are_echoed_and_ended() {
    let server = TestServer::new();
    let mut spdy = echo(&server, "v4.channel.k8s.io").await;
    spdy.send(3, b"hello", false).await;
    spdy.expect([data(5, "hello")]).await;
    // With pings, settings and window updates in between.
    spdy.control(6, &7u32.to_be_bytes()).await;
    spdy.expect([Frame::Ping(7)]).await;
    spdy.control(4, &[0; 4]).await;
    spdy.control(9, &[0, 0, 0, 3, 0, 1, 0, 0]).await;
    spdy.send(3, b" world", true).await;
    let status = data(1, r#"{"metadata":{},"status":"Success"}"#);
    spdy.expect([data(5, " world"), status, fin(5), fin(1), Frame::GoAway])
        .await;
    assert_eq!(spdy.frame().await, None);
}

#[tokio::test]
async fn old_protocols_send_no_status() {
    let server = TestServer::new();
    for protocol in ["v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"] {
        let mut spdy = echo(&server, protocol).await;
        spdy.send(3, b"", true).await;
        spdy.expect([fin(5), fin(1), Frame::GoAway]).await;
    }
}

#[tokio::test]
async fn writes_to_a_reset_stream_fail() {
    let server = TestServer::new();
    let path = "/exec?command=flood&stdout=true";
    let mut spdy = Spdy::open(&server, path, "v4.channel.k8s.io").await;
    spdy.stream(1, &[("streamtype", "error")]).await;
    spdy.stream(3, &[("streamtype", "stdout")]).await;
    spdy.expect([Frame::Reply(1), Frame::Reply(3)]).await;
    spdy.control(3, &[0, 0, 0, 3, 0, 0, 0, 5]).await;
    loop {
        match spdy.frame().await {
            Some(Frame::Data { stream: 3, .. }) => {}
            Some(Frame::Data {
                stream: 1, text, ..
            }) => {
                assert!(text.contains("exit code 1"), "{text}");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn invalid_streams_are_rejected() {
    let server = TestServer::new();
    let mut spdy = echo(&server, "v4.channel.k8s.io").await;
    // An even stream ID, a reused one, and one too many.
    for id in [8, 5] {
        spdy.stream(id, &[("streamtype", "stdin")]).await;
        spdy.expect([Frame::Reset {
            stream: id,
            status: 1,
        }])
        .await;
    }
    for id in [7, 9, 11, 13, 15] {
        spdy.stream(id, &[("streamtype", "unknown")]).await;
        spdy.expect([Frame::Reply(id)]).await;
    }
    spdy.stream(17, &[("streamtype", "unknown")]).await;
    spdy.expect([Frame::Reset {
        stream: 17,
        status: 3,
    }])
    .await;
    // The command is not affected.
    spdy.send(3, b"still", false).await;
    spdy.expect([data(5, "still")]).await;
}

#[tokio::test]
async fn garbage_ends_the_connection() {
    let server = TestServer::new();
    for garbage in [
        // A header block that is not compressed.
        &[
            0x80, 3, 0, 1, 0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, 2,
        ][..],
        // A frame that is too short, and one that is too long.
        &[0x80, 3, 0, 1, 0, 0, 0, 2, 0, 0],
        &[0x80, 3, 0, 8, 0, 0xff, 0xff, 0xff],
    ] {
        let mut spdy = echo(&server, "v4.channel.k8s.io").await;
        spdy.io.write_all(garbage).await.unwrap();
        assert_eq!(spdy.frame().await, None, "{garbage:?}");
    }
    while server.commands.running.load(SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn missing_streams_time_out() {
    let server = TestServer::new();
    let start = tokio::time::Instant::now();
    let mut spdy = Spdy::open(&server, ECHO, "v4.channel.k8s.io").await;
    spdy.stream(1, &[("streamtype", "error")]).await;
    spdy.expect([Frame::Reply(1), Frame::GoAway]).await;
    assert_eq!(start.elapsed(), Duration::from_secs(30));
    assert_eq!(spdy.frame().await, None);
}
