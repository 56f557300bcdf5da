use std::{
    net::SocketAddr,
    pin::Pin,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    task::{Context, Poll},
    time::SystemTime,
};

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use http_body_util::{BodyExt, Empty};
use hyper::{client::conn, upgrade};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::{certs::SelfSigned, *};

const SOON: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(100);

/// `/hello` says so with the version, `/slow` does after a while, `/flood` never ends, `/panic` does what it says, `/upgrade` echoes one line.
#[derive(Clone, Default)]
struct Service {
    flood_ended: Arc<AtomicBool>,
    slow_begun: Arc<AtomicUsize>,
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl tower::Service<Request<Incoming>> for Service {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        let ended = SetOnDrop(self.flood_ended.clone());
        let slow_begun = self.slow_begun.clone();
        Box::pin(async move {
            let mut response = Response::new(Body::from(format!("hello {:?}", request.version())));
            match request.uri().path() {
                "/slow" => {
                    slow_begun.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(SHORT * 8).await;
                }
                "/flood" => {
                    let chunks = stream::repeat_with(move || {
                        let _ = &ended;
                        Ok(Bytes::from_static(&[b'x'; 64 << 10]))
                    });
                    response = Response::new(Body::stream(chunks));
                }
                "/panic" => panic!("on purpose"),
                "/upgrade" => {
                    let upgraded = upgrade::on(&mut request);
                    tokio::spawn(async move {
                        let mut io = TokioIo::new(upgraded.await.unwrap());
                        let mut line = [0; 4];
                        io.read_exact(&mut line).await.unwrap();
                        io.write_all(&line).await.unwrap();
                    });
                    response = Response::new(Body::empty());
                    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
                    response
                        .headers_mut()
                        .insert("connection", "upgrade".parse().unwrap());
                    response
                        .headers_mut()
                        .insert("upgrade", "echo".parse().unwrap());
                }
                _ => {}
            }
            Ok(response)
        })
    }
}

struct Running {
    address: SocketAddr,
    service: Service,
    stop: oneshot::Sender<()>,
    server: JoinHandle<io::Result<()>>,
}

async fn start(options: ServeOptions, tls: Option<Arc<rustls::ServerConfig>>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let service = Service::default();
    let shutdown = async move {
        let _ = stopped.await;
    };
    let server = tokio::spawn(serve(listener, tls, service.clone(), options, shutdown));
    Running {
        address,
        service,
        stop,
        server,
    }
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(format!("http://localhost{path}"))
        .body(Empty::new())
        .unwrap()
}

async fn http1<T>(stream: T) -> conn::http1::SendRequest<Empty<Bytes>>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    sender
}

async fn http2<T>(stream: T) -> conn::http2::SendRequest<Empty<Bytes>>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let handshake = conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = handshake.unwrap();
    tokio::spawn(connection);
    sender
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(
        response
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
            .to_vec(),
    )
    .unwrap()
}

async fn tls_stream(
    address: SocketAddr,
    ca_pem: &str,
    alpn: &[u8],
) -> tokio_rustls::client::TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = if alpn.is_empty() {
        vec![]
    } else {
        vec![alpn.to_vec()]
    };
    let tcp = TcpStream::connect(address).await.unwrap();
    let name = ServerName::from(address.ip());
    TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
        .unwrap()
}

#[tokio::test]
async fn plain_connections_speak_both_versions() {
    let running = start(ServeOptions::default(), None).await;
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    for _ in 0..2 {
        let response = one.send_request(get("/hello")).await.unwrap();
        assert!(response.headers().contains_key("date"));
        assert_eq!(text(response).await, "hello HTTP/1.1");
    }
    let mut two = http2(TcpStream::connect(running.address).await.unwrap()).await;
    assert_eq!(
        text(two.send_request(get("/hello")).await.unwrap()).await,
        "hello HTTP/2.0"
    );
}

#[tokio::test]
async fn tls_connections_speak_what_was_negotiated() {
    let made = SelfSigned::generate(["localhost", "127.0.0.1"], SystemTime::now()).unwrap();
    let running = start(ServeOptions::default(), Some(made.server_config().unwrap())).await;
    let stream = tls_stream(running.address, &made.ca_pem, b"h2").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let response = http2(stream)
        .await
        .send_request(get("/hello"))
        .await
        .unwrap();
    assert_eq!(text(response).await, "hello HTTP/2.0");
    for alpn in [&b"http/1.1"[..], b""] {
        let stream = tls_stream(running.address, &made.ca_pem, alpn).await;
        let response = http1(stream)
            .await
            .send_request(get("/hello"))
            .await
            .unwrap();
        assert_eq!(text(response).await, "hello HTTP/1.1");
    }
}

#[tokio::test]
async fn handshakes_that_never_come_are_given_up() {
    let made = SelfSigned::generate(["127.0.0.1"], SystemTime::now()).unwrap();
    let options = ServeOptions {
        handshake_timeout: SHORT,
        ..ServeOptions::default()
    };
    let running = start(options, Some(made.server_config().unwrap())).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    assert_eq!(
        timeout(SOON, stream.read(&mut [0; 8]))
            .await
            .unwrap()
            .unwrap(),
        0
    );
}

#[tokio::test]
async fn shutting_down_lets_requests_end_and_takes_no_more() {
    let running = start(ServeOptions::default(), None).await;
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let mut two = http2(TcpStream::connect(running.address).await.unwrap()).await;
    let idle = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let slow = tokio::spawn(async move {
        let (one, two) = tokio::join!(
            one.send_request(get("/slow")),
            two.send_request(get("/slow"))
        );
        (text(one.unwrap()).await, text(two.unwrap()).await)
    });
    let begun = async {
        while running.service.slow_begun.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    timeout(SOON, begun).await.expect("both requests arrive");
    running.stop.send(()).unwrap();
    let (one, two) = timeout(SOON, slow).await.unwrap().unwrap();
    assert_eq!(
        (one.as_str(), two.as_str()),
        ("hello HTTP/1.1", "hello HTTP/2.0")
    );
    timeout(ServeOptions::default().grace_period / 2, running.server)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(TcpStream::connect(running.address).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn streams_that_never_end_are_cut_after_the_grace_period() {
    let options = ServeOptions {
        grace_period: SHORT,
        ..ServeOptions::default()
    };
    let running = start(options, None).await;
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let mut two = http2(TcpStream::connect(running.address).await.unwrap()).await;
    let streams = [
        one.send_request(get("/flood")).await.unwrap(),
        two.send_request(get("/flood")).await.unwrap(),
    ];
    running.stop.send(()).unwrap();
    timeout(SOON, running.server)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    for stream in streams {
        let mut body = stream.into_body();
        let end = timeout(SOON, async {
            while let Some(frame) = body.frame().await {
                frame?;
            }
            Ok::<_, hyper::Error>(())
        });
        assert!(
            end.await.unwrap().is_err(),
            "a part must not pass for the whole"
        );
    }
}

#[tokio::test]
async fn peers_that_never_read_are_dropped() {
    let options = ServeOptions {
        write_timeout: SHORT,
        ..ServeOptions::default()
    };
    let running = start(options, None).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream
        .write_all(b"GET /flood HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let dropped = async {
        while !running.service.flood_ended.load(Ordering::SeqCst) {
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    timeout(SOON, dropped).await.expect("the stream is dropped");
}

#[tokio::test]
async fn heads_that_trickle_and_silence_are_cut() {
    let options = ServeOptions {
        header_timeout: SHORT * 5,
        ..ServeOptions::default()
    };
    let running = start(options, None).await;
    for first in [
        &b""[..],
        b"GET /hello HTTP/1.1\r\nhost: l",
        b"PRI * HTTP/2.0\r\n",
    ] {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        stream.write_all(first).await.unwrap();
        let read = timeout(SOON, stream.read(&mut [0; 8])).await.unwrap();
        assert!(matches!(read, Ok(0) | Err(_)), "{first:?}");
    }
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream
        .write_all(b"GET /hello HTTP/1.1\r\nhost: l\r\n\r\nGET /hel")
        .await
        .unwrap();
    let (mut reader, mut writer) = stream.split();
    let trickle = async {
        loop {
            tokio::time::sleep(SHORT / 4).await;
            if writer.write_all(b"l").await.is_err() {
                break;
            }
        }
    };
    let mut answer = Vec::new();
    let read = async { reader.read_to_end(&mut answer).await };
    let ended = timeout(SOON, async {
        tokio::select! { () = trickle => {}, _ = read => {} }
    })
    .await;
    assert!(ended.is_ok(), "a second head that never ends");
    assert!(String::from_utf8_lossy(&answer).contains("hello HTTP/1.1"));
}

#[tokio::test]
async fn idle_connections_are_closed_but_slow_answers_are_not_idle() {
    let options = ServeOptions {
        idle_timeout: SHORT * 5,
        header_timeout: SOON,
        ..ServeOptions::default()
    };
    let running = start(options, None).await;
    let mut two = http2(TcpStream::connect(running.address).await.unwrap()).await;
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let slow = tokio::join!(
        one.send_request(get("/slow")),
        two.send_request(get("/slow"))
    );
    assert_eq!(text(slow.0.unwrap()).await, "hello HTTP/1.1");
    assert_eq!(text(slow.1.unwrap()).await, "hello HTTP/2.0");
    let closed = async {
        while !(one.is_closed() && two.is_closed()) {
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    timeout(SOON, closed).await.expect("both are closed");
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let options = ServeOptions {
        max_connections: 1,
        ..ServeOptions::default()
    };
    let running = start(options, None).await;
    let mut first = http1(TcpStream::connect(running.address).await.unwrap()).await;
    assert_eq!(
        text(first.send_request(get("/hello")).await.unwrap()).await,
        "hello HTTP/1.1"
    );
    let mut second = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let mut answer = pin!(second.send_request(get("/hello")));
    assert!(
        timeout(SHORT, &mut answer).await.is_err(),
        "the second one waits"
    );
    drop(first);
    let response = timeout(SOON, answer).await.unwrap().unwrap();
    assert_eq!(text(response).await, "hello HTTP/1.1");
}

#[tokio::test]
async fn a_panic_takes_down_its_request_and_nothing_else() {
    let running = start(ServeOptions::default(), None).await;
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    assert!(one.send_request(get("/panic")).await.is_err());
    let mut two = http2(TcpStream::connect(running.address).await.unwrap()).await;
    assert!(two.send_request(get("/panic")).await.is_err());
    assert_eq!(
        text(two.send_request(get("/hello")).await.unwrap()).await,
        "hello HTTP/2.0"
    );
    let mut again = http1(TcpStream::connect(running.address).await.unwrap()).await;
    assert_eq!(
        text(again.send_request(get("/hello")).await.unwrap()).await,
        "hello HTTP/1.1"
    );
}

#[tokio::test]
async fn handlers_can_take_over_the_connection() {
    let running = start(ServeOptions::default(), None).await;
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let mut request = get("/upgrade");
    request
        .headers_mut()
        .insert("connection", "upgrade".parse().unwrap());
    request
        .headers_mut()
        .insert("upgrade", "echo".parse().unwrap());
    let response = one.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut io = TokioIo::new(upgrade::on(response).await.unwrap());
    io.write_all(b"ping").await.unwrap();
    let mut line = [0; 4];
    timeout(SOON, io.read_exact(&mut line))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&line, b"ping");
}
