//! Forwarded ports.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    commands::TestServer,
    spdy_client::{Frame, Spdy, data, fin},
    websocket_client::{WebSocket, head},
};

const PROTOCOL: &str = "portforward.k8s.io";

fn headers<'a>(kind: &'a str, port: &'a str, request: &'a str) -> [(&'a str, &'a str); 3] {
    [("streamtype", kind), ("port", port), ("requestid", request)]
}

#[tokio::test]
async fn stream_pairs_form_connections() {
    let server = TestServer::new();
    let mut spdy = Spdy::open(&server, "/portforward", PROTOCOL).await;
    for (id, kind, request) in [
        (1, "error", "0"),
        (3, "error", "1"),
        (5, "data", "1"),
        (7, "data", "0"),
    ] {
        spdy.stream(id, &headers(kind, "80", request)).await;
        spdy.expect([Frame::Reply(id)]).await;
    }
    spdy.send(7, b"zero", true).await;
    spdy.expect([data(7, "port 80: zero"), fin(7), fin(1)])
        .await;
    spdy.send(5, b"one", true).await;
    spdy.expect([data(5, "port 80: one"), fin(5), fin(3)]).await;
    // Old clients send no request ID.
    spdy.stream(9, &[("streamtype", "error"), ("port", "81")])
        .await;
    spdy.stream(11, &[("streamtype", "data"), ("port", "81")])
        .await;
    let refused = "error forwarding port 81: connection refused";
    let reset = Frame::Reset {
        stream: 11,
        status: 5,
    };
    spdy.expect([
        Frame::Reply(9),
        Frame::Reply(11),
        data(9, refused),
        fin(9),
        reset,
    ])
    .await;
}

#[tokio::test]
async fn streams_need_a_port_and_a_type() {
    let server = TestServer::new();
    let mut spdy = Spdy::open(&server, "/portforward", PROTOCOL).await;
    let cases = [
        ("data", ""),
        ("data", "0"),
        ("data", "65536"),
        ("", "80"),
        ("stdin", "80"),
    ];
    for (id, (kind, port)) in (1u32..).step_by(2).zip(cases) {
        spdy.stream(id, &headers(kind, port, "0")).await;
        spdy.expect([Frame::Reset {
            stream: id,
            status: 5,
        }])
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn unpaired_streams_time_out() {
    let server = TestServer::new();
    let start = tokio::time::Instant::now();
    let mut spdy = Spdy::open(&server, "/portforward", PROTOCOL).await;
    spdy.stream(1, &headers("error", "80", "a")).await;
    let text = data(1, "(request=a) timed out waiting for streams");
    spdy.expect([Frame::Reply(1), text, fin(1)]).await;
    assert_eq!(start.elapsed(), Duration::from_secs(30));
}

#[tokio::test]
async fn channels_start_with_their_port() {
    let server = TestServer::new();
    let path = "/portforward?ports=80,81";
    let mut socket = WebSocket::open(&server, path, "v4.channel.k8s.io").await;
    for begin in [[0, 80, 0], [1, 80, 0], [2, 81, 0], [3, 81, 0]] {
        assert_eq!(socket.message().await, begin);
    }
    let mut refused = vec![3];
    refused.extend(b"error forwarding port 81: connection refused");
    assert_eq!(socket.message().await, refused);
    socket.send(b"\0hi.").await;
    assert_eq!(socket.message().await, b"\0port 80: hi.");
    assert_eq!(socket.rest().await.1, 1000);
}

#[tokio::test]
async fn ports_are_required_and_checked() {
    let server = TestServer::new();
    let many = format!("/portforward?ports={}", vec!["80"; 65].join(","));
    for (path, expected) in [
        ("/portforward", r#"query parameter "port" is required"#),
        (
            "/portforward?ports=",
            r#"query parameter "port" cannot be empty"#,
        ),
        (
            "/portforward?ports=70000",
            r#"unable to parse "70000" as a port"#,
        ),
        (&many, "at most 64 ports can be forwarded at once"),
    ] {
        let (mut io, response) = server.open(&head(path, "v4.channel.k8s.io")).await;
        assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
        let mut text = vec![0; expected.len()];
        io.read_exact(&mut text).await.unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}

#[tokio::test]
async fn spdy_can_be_tunneled_through_a_websocket() {
    let server = TestServer::new();
    let protocol = "SPDY/3.1+portforward.k8s.io";
    let (io, response) = server.open(&head("/portforward", protocol)).await;
    assert!(response.contains(protocol), "{response}");
    let mut socket = WebSocket { io };
    let (near, far) = tokio::io::duplex(1 << 10);
    let (mut from_client, mut to_client) = tokio::io::split(far);
    let pump = tokio::spawn(async move {
        let mut buffer = [0; 64];
        loop {
            tokio::select! {
                count = from_client.read(&mut buffer) => match count.unwrap() {
                    0 => return,
                    count => socket.send(&buffer[..count]).await,
                },
                frame = socket.frame() => match frame {
                    Some((0x82, bytes)) => to_client.write_all(&bytes).await.unwrap(),
                    _ => return,
                },
            }
        }
    });
    let mut spdy = Spdy::over(near);
    spdy.stream(1, &headers("error", "80", "0")).await;
    spdy.stream(3, &headers("data", "80", "0")).await;
    spdy.expect([Frame::Reply(1), Frame::Reply(3)]).await;
    spdy.send(3, b"inside", true).await;
    spdy.expect([data(3, "port 80: inside"), fin(3), fin(1)])
        .await;
    // The client closes its stream, and the server closes the WebSocket.
    spdy.control(7, &[0; 8]).await;
    pump.await.unwrap();
}
