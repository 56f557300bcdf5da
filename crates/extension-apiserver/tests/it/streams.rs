//! Streams of an object, over a socket.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use async_trait::async_trait;
use futures_util::stream;
use http::{Method, Request};
use kube::ResourceExt;
use kubewright_apiserver::{
    Body,
    auth::{Attributes, Authorizer, Decision},
    boxed_async,
    request::RequestContext,
};
use kubewright_extension_apiserver::{
    ExecSubresource, ExtensionServer, Kind, LogStream, LogSubresource, PortForwardSubresource,
};
use kubewright_machinery::Status;
use kubewright_store::MemoryStore;
use kubewright_streams::{Duplex, Exec, ExecSession, Exit, ForwardError, PortForward};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::sky::{COMETS, Comet, comet, get, post, send};

struct Sky;

#[async_trait]
impl LogSubresource<Comet> for Sky {
    async fn log(&self, _: &RequestContext, comet: Comet) -> Result<LogStream, Status> {
        let name = comet.name_any();
        let lines = ["rises", "sets"].map(|verb| Ok(format!("{name} {verb}\n").into()));
        Ok(Box::pin(stream::iter(lines)))
    }
}

#[async_trait]
impl ExecSubresource<Comet> for Sky {
    async fn exec(&self, _: &RequestContext, comet: Comet) -> Result<Arc<dyn Exec>, Status> {
        Ok(Arc::new(Greet(comet)))
    }
}

struct Greet(Comet);

#[async_trait]
impl Exec for Greet {
    async fn exec(&self, mut session: ExecSession) -> Result<Exit, Status> {
        let text = format!(
            "{} of {}",
            session.options.command.join(" "),
            self.0.name_any()
        );
        let stdout = session.stdout.as_mut().expect("stdout");
        stdout.write_all(text.as_bytes()).await.expect("a client");
        Ok(Exit::code(self.0.spec.years))
    }
}

#[async_trait]
impl PortForwardSubresource<Comet> for Sky {
    async fn port_forward(
        &self,
        _: &RequestContext,
        _: Comet,
    ) -> Result<Arc<dyn PortForward>, Status> {
        Ok(Arc::new(Ports))
    }
}

struct Ports;

#[async_trait]
impl PortForward for Ports {
    async fn forward(&self, port: u16, mut connection: Duplex) -> Result<(), ForwardError> {
        let text = format!("port {port}");
        let sent = connection.write_all(text.as_bytes()).await;
        sent.map_err(|e| ForwardError::new(port, e))
    }
}

/// Allows only reading.
struct Readers;

#[boxed_async]
impl Authorizer for Readers {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        match attributes.verb {
            "get" | "list" => Decision::allow(),
            _ => Decision::no_opinion("read only"),
        }
    }
}

/// Returns comets with a log, a command and ports.
pub(crate) fn kind(store: Arc<MemoryStore>) -> Kind<Comet> {
    Kind::stored(store)
        .log("log", Sky)
        .exec("exec", Sky)
        .port_forward("portforward", Sky)
}

/// Returns a server with a comet.
async fn server() -> (ExtensionServer, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let server = ExtensionServer::builder().kind(kind(store.clone()));
    let server = server.build().unwrap();
    let (code, made) = post(&server, COMETS, &comet("halley", 76)).await;
    assert_eq!(code, 201, "{made}");
    (server, store)
}

/// Opens a WebSocket. Returns the head of the response, and all bytes after it.
async fn websocket(server: &ExtensionServer, path: &str, protocol: &str) -> (String, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let server = server.clone();
    let served = tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: sky\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(client.read_u8().await.unwrap());
    }
    let mut rest = Vec::new();
    if answer.starts_with(b"HTTP/1.1 101 ") {
        // The server closes the connection first.
        client.read_to_end(&mut rest).await.unwrap();
    }
    served.abort();
    (String::from_utf8(answer).unwrap(), rest)
}

#[tokio::test]
async fn streams_are_listed_with_their_verbs() {
    let (server, _) = server().await;
    let (_, list) = get(&server, "/apis/sky.example.com/v1").await;
    let verbs = |name: &str| -> Value {
        let all = list["resources"].as_array().unwrap().iter();
        let found = all.clone().find(|resource| resource["name"] == name);
        found.unwrap_or_else(|| panic!("{name}"))["verbs"].clone()
    };
    assert_eq!(verbs("comets/log"), json!(["get"]));
    assert_eq!(verbs("comets/exec"), json!(["create", "get"]));
    assert_eq!(verbs("comets/portforward"), json!(["create", "get"]));
}

#[tokio::test]
async fn logs_are_bodies_or_messages() {
    let (server, _) = server().await;
    let path = format!("{COMETS}/halley/log");
    let request = Request::get(&path).body(Body::empty()).unwrap();
    let response = server.handle(request).await;
    assert_eq!(response.headers()["content-type"], "text/plain");
    let body = response.into_body().collect_up_to(100).await.unwrap();
    assert_eq!(body.unwrap(), "halley rises\nhalley sets\n");
    let (_, messages) = websocket(&server, &path, "binary.k8s.io").await;
    assert_eq!(
        messages,
        b"\x82\x0dhalley rises\n\x82\x0challey sets\n\x88\x02\x03\xe8"
    );
    assert_eq!(get(&server, &format!("{COMETS}/none/log")).await.0, 404);
    assert_eq!(get(&server, &format!("{path}/below")).await.0, 404);
}

#[tokio::test]
async fn paths_do_not_lead_out_of_a_subresource() {
    let (server, _) = server().await;
    let halley = format!("{COMETS}/halley");
    for path in [
        "/log/../exec",
        "/log/..%2f..%2fother",
        "/log%2f..%2fexec",
        "/..%2fencke/log",
        "/log/%2e%2e/status",
        "/./log",
        "/none",
    ] {
        let (code, _) = get(&server, &format!("{halley}{path}")).await;
        assert!(matches!(code, 400 | 404), "{path}: {code}");
    }
    let (code, _) = get(&server, &format!("{COMETS}/..%2f..%2fsecrets/log")).await;
    assert!(matches!(code, 400 | 404), "{code}");
}

/// A log that counts its chunks, and panics at the end.
#[derive(Clone, Default)]
struct Endless(Arc<AtomicUsize>);

const CHUNK: usize = 64 << 10;
/// More than all buffers between the server and a client.
const CHUNKS: usize = 1024;

#[async_trait]
impl LogSubresource<Comet> for Endless {
    async fn log(&self, _: &RequestContext, _: Comet) -> Result<LogStream, Status> {
        let made = self.0.clone();
        Ok(Box::pin(stream::poll_fn(move |_| {
            let n = made.fetch_add(1, Ordering::SeqCst);
            assert!(n < CHUNKS, "a bug of the log");
            Poll::Ready(Some(Ok(vec![b'x'; CHUNK].into())))
        })))
    }
}

/// Serves an endless log on a socket.
async fn endless() -> (std::net::SocketAddr, Arc<AtomicUsize>) {
    let (log, store) = (Endless::default(), Arc::new(MemoryStore::new()));
    let made = log.0.clone();
    let kind = Kind::<Comet>::stored(store).log("log", log);
    let server = ExtensionServer::builder().kind(kind).build().unwrap();
    post(&server, COMETS, &comet("halley", 76)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
    (address, made)
}

#[tokio::test]
async fn a_reader_that_stops_holds_up_only_its_stream() {
    let (address, made) = endless().await;
    let mut lazy = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {COMETS}/halley/log HTTP/1.1\r\nHost: sky\r\n\r\n");
    lazy.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(lazy.read_u8().await.unwrap(), b'H');
    // Others are answered, and in the meantime the log stops at what buffers hold.
    for _ in 0..200 {
        let mut other = TcpStream::connect(address).await.unwrap();
        let request = b"GET /readyz HTTP/1.1\r\nHost: sky\r\nConnection: close\r\n\r\n";
        other.write_all(request).await.unwrap();
        let mut answer = String::new();
        other.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    assert!(made.load(Ordering::SeqCst) < CHUNKS / 2);
}

#[tokio::test]
async fn a_panic_of_a_log_cuts_only_its_body() {
    let (address, made) = endless().await;
    let mut reader = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {COMETS}/halley/log HTTP/1.1\r\nHost: sky\r\n\r\n");
    reader.write_all(head.as_bytes()).await.unwrap();
    let mut body = Vec::new();
    // The body has no end.
    let _ = reader.read_to_end(&mut body).await;
    assert!(body.len() > CHUNK * CHUNKS && !body.ends_with(b"0\r\n\r\n"));
    assert_eq!(made.load(Ordering::SeqCst), CHUNKS + 1);
}

#[tokio::test]
async fn commands_run_behind_a_websocket() {
    let (server, _) = server().await;
    let path = format!("{COMETS}/halley/exec?command=tail&stdout=true");
    let (_, messages) = websocket(&server, &path, "v5.channel.k8s.io").await;
    let text = String::from_utf8_lossy(&messages);
    assert!(text.contains("\u{1}tail of halley"), "{text}");
    assert!(
        text.contains(r#"{"reason":"ExitCode","message":"76"}"#),
        "{text}"
    );
    let (code, error) = get(&server, &path).await;
    assert_eq!(
        (code, &error["message"]),
        (400, &json!("Upgrade request required"))
    );
    let json = [("content-type", "application/json")];
    let dry = format!("{path}&dryRun=All");
    let (code, _) = send(&server, Method::POST, &dry, &json, &Value::Null).await;
    assert_eq!(code, 400);
}

#[tokio::test]
async fn ports_are_forwarded_behind_a_websocket() {
    let (server, _) = server().await;
    let path = format!("{COMETS}/halley/portforward?ports=80");
    let (_, messages) = websocket(&server, &path, "v4.channel.k8s.io").await;
    let text = String::from_utf8_lossy(&messages);
    assert!(text.contains("\0port 80"), "{text}");
    let (code, _) = get(&server, &format!("{COMETS}/halley/portforward?ports=x")).await;
    assert_eq!(code, 400);
}

#[tokio::test]
async fn commands_require_the_verb_create() {
    let (_, store) = server().await;
    let server = ExtensionServer::builder()
        .kind(kind(store))
        .configure(|server| server.authorizer(Arc::new(Readers)))
        .build()
        .unwrap();
    let path = format!("{COMETS}/halley/exec?command=tail&stdout=true");
    let (head, _) = websocket(&server, &path, "v5.channel.k8s.io").await;
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    let (head, _) = websocket(&server, &format!("{COMETS}/halley/log"), "binary.k8s.io").await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
}
