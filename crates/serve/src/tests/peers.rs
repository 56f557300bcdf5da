//! Peers that are not to be trusted: connections without credentials, ambiguous hosts, protocols that were not
//! negotiated.

use super::*;

/// Marks the connection of every request that has an `authorization` header.
#[derive(Clone)]
struct Authenticating(Service);

impl tower::Service<Request<Incoming>> for Authenticating {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = <Service as tower::Service<Request<Incoming>>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        tower::Service::<Request<Incoming>>::poll_ready(&mut self.0, cx)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let handle = request.extensions().get::<ConnectionHandle>();
        if let Some(handle) = handle
            && request.headers().contains_key("authorization")
        {
            handle.mark_authenticated();
        }
        self.0.call(request)
    }
}

fn authorized(path: &str) -> Request<Empty<Bytes>> {
    let mut request = get(path);
    let value = http::HeaderValue::from_static("Bearer x");
    request.headers_mut().insert("authorization", value);
    request
}

#[tokio::test]
async fn idle_connections_without_credentials_do_not_block_others() {
    const ATTACKERS: usize = 50;
    let (tls, certificate) = self_signed();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = Limits {
        max_connections: 20,
        max_unauthenticated: Some(4),
        ..Limits::default()
    };
    let server = Server::new(listener).limits(limits).tls(tls);
    let service = Authenticating(Service::default());
    let server = tokio::spawn(server.serve(service, std::future::pending()));

    let mut early = http1(tls_stream(address, &certificate, b"http/1.1").await).await;
    let response = early.send_request(authorized("/hello")).await.unwrap();
    assert_eq!(text(response).await, "hello HTTP/1.1");

    let mut attackers = Vec::new();
    for _ in 0..ATTACKERS {
        attackers.push(tls_stream(address, &certificate, b"http/1.1").await);
    }
    let late = async {
        let mut late = http2(tls_stream(address, &certificate, b"h2").await).await;
        text(late.send_request(authorized("/hello")).await.unwrap()).await
    };
    let late = timeout(SOON, late).await.expect("a client gets in");
    assert_eq!(late, "hello HTTP/2.0");
    let response = early.send_request(get("/hello")).await;
    assert_eq!(text(response.unwrap()).await, "hello HTTP/1.1");

    let mut open = 0;
    for attacker in &mut attackers {
        let closed = timeout(SHORT / 2, attacker.read(&mut [0; 64])).await;
        open += usize::from(closed.is_err());
    }
    assert!(open <= 4, "{open} attackers are still connected");
    server.abort();
}

/// Sends text on a new connection and returns the whole response.
async fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(SOON, stream.read_to_end(&mut answer)).await;
    read.expect("the server closes the connection").unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn http1_requests_have_exactly_one_host() {
    let running = start(Limits::default(), None).await;
    let get = |version: &str, headers: &str| {
        format!("GET /hello {version}\r\nconnection: close\r\n{headers}\r\n")
    };
    for (version, headers, expected) in [
        ("HTTP/1.1", "", "missing required Host header"),
        (
            "HTTP/1.1",
            "host: a\r\nHost: a\r\n",
            "too many Host headers",
        ),
        (
            "HTTP/1.0",
            "host: a\r\nHost: b\r\n",
            "too many Host headers",
        ),
    ] {
        let answer = exchange(running.address, &get(version, headers)).await;
        assert!(answer.contains(" 400 Bad Request\r\n"), "{answer}");
        let body = format!("\r\n\r\n400 Bad Request: {expected}");
        assert!(answer.ends_with(&body), "{answer}");
    }
    for (version, headers) in [("HTTP/1.1", "host: a\r\n"), ("HTTP/1.0", "")] {
        let answer = exchange(running.address, &get(version, headers)).await;
        assert!(answer.contains(" 200 OK\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn the_negotiated_protocol_is_binding() {
    let (tls, certificate) = self_signed();
    let running = start(Limits::default(), Some(tls)).await;
    let mut one = http1(tls_stream(running.address, &certificate, b"h2").await).await;
    let response = one.send_request(get("/hello")).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    for alpn in [&b"http/1.1"[..], b""] {
        let mut two = http2(tls_stream(running.address, &certificate, alpn).await).await;
        let response = two.send_request(get("/hello")).await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let text = text(response).await;
        assert_eq!(text, "400 Bad Request: not the negotiated protocol");
    }
}

/// A body that yields whenever it may, so that only the server bounds what is buffered.
#[tokio::test]
async fn a_peer_that_does_not_read_costs_little() {
    use std::sync::atomic::AtomicU64;

    static YIELDED: AtomicU64 = AtomicU64::new(0);
    let flood = tower::service_fn(|_: Request<Incoming>| async {
        let chunks = stream::repeat_with(|| {
            YIELDED.fetch_add(16 << 10, Ordering::SeqCst);
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b'x'; 16 << 10])))
        });
        Ok::<_, Infallible>(Response::new(StreamBody::new(chunks)))
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(Server::new(listener).serve(flood, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request).await.unwrap();
    // The kernel's buffers fill up, and then nothing moves.
    let mut yielded = 0;
    loop {
        tokio::time::sleep(SHORT * 2).await;
        match YIELDED.load(Ordering::SeqCst) {
            now if now == yielded => break,
            now => yielded = now,
        }
    }
    server.abort();
    let _ = server.await;
    // Everything that the kernel had is still delivered; the rest was in the server.
    let mut delivered = 0;
    let mut buffer = vec![0; 256 << 10];
    while let Ok(Ok(n @ 1..)) = timeout(SOON, stream.read(&mut buffer)).await {
        delivered += n as u64;
    }
    let buffered = yielded.saturating_sub(delivered);
    assert!(buffered <= 64 << 10, "{buffered} bytes were buffered");
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut out = length[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// The head of `GET / HTTP/2`, compressed.
const HEAD: &[u8] = b"\x82\x86\x84\x41\x09localhost";
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

/// Writes what `next` returns until the server closes the connection, and returns the number of writes.
async fn flood(address: SocketAddr, mut next: impl FnMut(u32) -> Vec<u8>) -> u32 {
    const MOST: u32 = 1_000_000;
    let (mut reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
    writer.write_all(PREFACE).await.unwrap();
    let closed = tokio::spawn(async move {
        let mut buffer = [0; 4096];
        while let Ok(1..) = reader.read(&mut buffer).await {}
    });
    for i in 0..MOST {
        if closed.is_finished() || writer.write_all(&next(i)).await.is_err() {
            return i;
        }
    }
    panic!("the server reads forever");
}

async fn answers(address: SocketAddr) {
    let mut client = http2(TcpStream::connect(address).await.unwrap()).await;
    let response = timeout(SOON, client.send_request(get("/hello"))).await;
    assert_eq!(text(response.unwrap().unwrap()).await, "hello HTTP/2.0");
}

#[tokio::test]
async fn cve_2023_44487_rapid_resets_close_the_connection() {
    let running = start(Limits::default(), None).await;
    let reset = |i: u32| {
        let stream = 2 * i + 1;
        let mut out = frame(1, 0x4 | 0x1, stream, HEAD);
        out.extend(frame(3, 0, stream, &8u32.to_be_bytes()));
        out
    };
    let written = flood(running.address, reset).await;
    assert!(written < 100_000, "{written} streams");
    answers(running.address).await;
}

#[tokio::test]
async fn cve_2024_27316_endless_heads_close_the_connection() {
    let running = start(Limits::default(), None).await;
    let more = |i: u32| match i {
        0 => frame(1, 0, 1, HEAD),
        _ => frame(
            9,
            0,
            1,
            &[b'\x00', b'\x01', b'a', b'\x01', b'b'].repeat(1000),
        ),
    };
    let written = flood(running.address, more).await;
    assert!(written < 1_000, "{written} frames");
    answers(running.address).await;
}

#[tokio::test]
async fn requests_whose_length_is_ambiguous_are_rejected() {
    let running = start(Limits::default(), None).await;
    for headers in [
        "content-length: 3\r\ncontent-length: 4\r\n",
        "content-length: 3, 4\r\n",
        "content-length: +3\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: xchunked\r\n",
    ] {
        let request = format!("POST /hello HTTP/1.1\r\nhost: a\r\n{headers}\r\nabcd");
        let answer = exchange(running.address, &request).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{headers:?}: {answer}");
    }
}
