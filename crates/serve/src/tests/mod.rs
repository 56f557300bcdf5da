use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, client::conn, upgrade};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::*;

mod client_certificates;
mod peers;
mod shutdown;

const SOON: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(100);

type Body = UnsyncBoxBody<Bytes, Infallible>;

fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// `/hello` returns the HTTP version, `/slow` does so after a while, `/flood` never ends, `/watch` sends one event and
/// then waits forever, `/panic` panics, `/upgrade` echoes one line, `/peer` returns the number of certificates and the
/// length of the first, `/close` closes the connection.
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
            let mut response = Response::new(full(format!("hello {:?}", request.version())));
            match request.uri().path() {
                "/slow" => {
                    slow_begun.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(SHORT * 8).await;
                }
                "/flood" => {
                    let chunks = stream::repeat_with(move || {
                        let _ = &ended;
                        Ok(Frame::data(Bytes::from_static(&[b'x'; 64 << 10])))
                    });
                    response = Response::new(StreamBody::new(chunks).boxed_unsync());
                }
                "/watch" => {
                    let event = stream::iter([Ok(Frame::data(Bytes::from_static(b"event")))]);
                    let events = event.chain(stream::pending());
                    response = Response::new(StreamBody::new(events).boxed_unsync());
                    response.extensions_mut().insert(OpenEnded);
                }
                "/panic" => panic!("on purpose"),
                "/peer" => {
                    let peer = request.extensions().get::<PeerCertificates>();
                    let count = peer.map_or(0, |chain| 1 + chain.intermediates().count());
                    let length = peer.and_then(PeerCertificates::leaf).map_or(0, <[u8]>::len);
                    response = Response::new(full(format!("{count} {length}")));
                }
                "/close" => {
                    let headers = response.headers_mut();
                    headers.insert("connection", "close".parse().unwrap());
                }
                "/upgrade" => {
                    let upgraded = upgrade::on(&mut request);
                    tokio::spawn(async move {
                        let mut io = TokioIo::new(upgraded.await.unwrap());
                        let mut line = [0; 4];
                        io.read_exact(&mut line).await.unwrap();
                        io.write_all(&line).await.unwrap();
                    });
                    response = Response::new(full(""));
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
    server: JoinHandle<()>,
}

async fn start(limits: Limits, tls: Option<Tls>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let service = Service::default();
    let shutdown = async move {
        let _ = stopped.await;
    };
    let mut server = Server::new(listener).limits(limits);
    if let Some(tls) = tls {
        server = server.tls(tls);
    }
    let server = tokio::spawn(server.serve(service.clone(), shutdown));
    Running {
        address,
        service,
        stop,
        server,
    }
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(format!("http://localhost{path}"))
        .header("host", "localhost")
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

/// A TLS configuration, and the certificate that clients must trust.
fn self_signed() -> (Tls, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (cert.pem(), signing_key.serialize_pem());
    let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
    (tls, certificate)
}

type ClientStream = tokio_rustls::client::TlsStream<TcpStream>;

async fn tls_stream(address: SocketAddr, ca_pem: &str, alpn: &[u8]) -> ClientStream {
    connect(address, client_config(ca_pem, alpn, None)).await
}

/// Connects with a configuration, and expects the handshake to succeed on the client's side.
async fn connect(address: SocketAddr, config: rustls::ClientConfig) -> ClientStream {
    let tcp = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let name = ServerName::from(address.ip());
    connector.connect(name, tcp).await.unwrap()
}

/// A configuration that trusts a certificate, and presents one with its key.
fn client_config(
    ca_pem: &str,
    alpn: &[u8],
    own: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match own {
        Some((chain, key)) => config.with_client_auth_cert(chain, key).unwrap(),
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = if alpn.is_empty() {
        vec![]
    } else {
        vec![alpn.to_vec()]
    };
    config
}

#[tokio::test]
async fn plain_connections_speak_both_versions() {
    let running = start(Limits::default(), None).await;
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
    let (tls, certificate) = self_signed();
    let running = start(Limits::default(), Some(tls)).await;
    let stream = tls_stream(running.address, &certificate, b"h2").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let response = http2(stream)
        .await
        .send_request(get("/hello"))
        .await
        .unwrap();
    assert_eq!(text(response).await, "hello HTTP/2.0");
    for alpn in [&b"http/1.1"[..], b""] {
        let stream = tls_stream(running.address, &certificate, alpn).await;
        let response = http1(stream)
            .await
            .send_request(get("/hello"))
            .await
            .unwrap();
        assert_eq!(text(response).await, "hello HTTP/1.1");
    }
}

#[tokio::test]
async fn plain_requests_to_a_server_with_tls_are_answered_as_by_go() {
    let running = start(Limits::default(), Some(self_signed().0)).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let request = b"GET /hello HTTP/1.1\r\nhost: x\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = String::new();
    let read = timeout(SOON, stream.read_to_string(&mut answer)).await;
    read.unwrap().unwrap();
    assert_eq!(
        answer,
        "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
    );
}

#[tokio::test]
async fn handshakes_that_never_come_are_given_up() {
    let (tls, _) = self_signed();
    let limits = Limits {
        handshake_timeout: SHORT,
        ..Limits::default()
    };
    let running = start(limits, Some(tls)).await;
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
async fn peers_that_never_read_are_dropped() {
    let limits = Limits {
        write_timeout: SHORT,
        ..Limits::default()
    };
    let running = start(limits, None).await;
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
    let limits = Limits {
        header_timeout: SHORT * 5,
        ..Limits::default()
    };
    let running = start(limits, None).await;
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
    let limits = Limits {
        idle_timeout: SHORT * 5,
        header_timeout: SOON,
        ..Limits::default()
    };
    let running = start(limits, None).await;
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
    let limits = Limits {
        max_connections: 1,
        ..Limits::default()
    };
    let running = start(limits, None).await;
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
    let running = start(Limits::default(), None).await;
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
    let running = start(Limits::default(), None).await;
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
