//! Classes of vulnerabilities that Kubernetes and HTTP servers have had, one test for each that applies.
//!
//! Webhooks that redirect (CVE-2020-8561) are tested in `kube-apiserver`, certificates and TLS in `serve`.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use kubewright_apiserver::auth::TokenFile;
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_serve::Server;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tower::ServiceExt;

/// The time that a request may take in a debug build on a busy machine.
const SOON: Duration = Duration::from_secs(20);

struct Cluster(KubeApiServer);

impl Cluster {
    async fn start() -> Self {
        Self(KubeApiServer::builder().build().await.unwrap())
    }

    /// Sends a request, and returns the code and the body.
    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let Ok(response) = self.0.server().clone().oneshot(request).await;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn create(&self, path: &str, object: &Value) -> (u16, Value) {
        let json = [("content-type", "application/json")];
        self.send(Method::POST, path, &json, object.to_string())
            .await
    }

    /// Serves on a port, and returns its address.
    async fn listen(&self) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = self.0.server().clone();
        tokio::spawn(Server::new(listener).serve(service, std::future::pending()));
        address
    }
}

/// Sends bytes, and returns everything that comes back until the connection is closed or idle.
async fn exchange(address: std::net::SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may close the connection while it is still being written to.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(Duration::from_secs(2), read).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// YAML aliases that expand exponentially.
#[tokio::test]
async fn cve_2019_11253() {
    let cluster = Cluster::start().await;
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let below = vec![format!("*a{}", n - 1); 9].join(", ");
        bomb += &format!("a{n}: &a{n} [{below}]\n");
    }
    let start = Instant::now();
    let yaml = [("content-type", "application/yaml")];
    let path = "/api/v1/namespaces/default/configmaps";
    let (code, status) = cluster.send(Method::POST, path, &yaml, bomb).await;
    assert!((400..500).contains(&code), "{code}: {status}");
    // A large scalar that is used many times: every copy counts.
    let scalar = format!(
        "data: {{a: &x \"{}\", b: [{}]}}\n",
        "y".repeat(500_000),
        vec!["*x"; 6_000].join(", ")
    );
    let (code, status) = cluster.send(Method::POST, path, &yaml, scalar).await;
    assert!((400..500).contains(&code), "{code}: {status}");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

/// YAML whose parsing takes more than linear time.
#[tokio::test]
async fn cve_2019_11254() {
    let cluster = Cluster::start().await;
    let yaml = [("content-type", "application/yaml")];
    let start = Instant::now();
    for body in [
        "? ".repeat(100_000),
        "[".repeat(100_000),
        "- ".repeat(100_000),
        format!("a: {}", "&a ".repeat(100_000)),
        format!("\"{}", "\\\n ".repeat(100_000)),
        "{a: ".repeat(100_000),
        format!("%TAG ! {}\n---\na: b", "x".repeat(1_000_000)),
    ] {
        let path = "/api/v1/namespaces/default/configmaps";
        let (code, status) = cluster.send(Method::POST, path, &yaml, body).await;
        assert!((400..500).contains(&code), "{code}: {status}");
    }
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

/// Requests that make the server keep memory: many, each with a body at the limit.
#[tokio::test]
async fn cve_2020_8552() {
    let cluster = Cluster::start().await;
    let json = [("content-type", "application/json")];
    let path = "/api/v1/namespaces/default/configmaps";
    let large = format!("{{\"data\":{{\"a\":\"{}\"}}}}", "x".repeat(3 << 20));
    let (code, _) = cluster.send(Method::POST, path, &json, large).await;
    assert_eq!(code, 413);
    let selector = format!(
        "/api/v1/pods?labelSelector={}",
        vec!["a!%3Db"; 5_000].join(",")
    );
    let (code, _) = cluster.send(Method::GET, &selector, &[], "").await;
    assert!(code < 500, "{code}");
}

/// A cluster-scoped custom resource, asked for in a namespace; and a namespaced one, created without.
#[tokio::test]
async fn cve_2019_11247() {
    let cluster = Cluster::start().await;
    for (plural, kind, scope) in [
        ("fleets", "Fleet", "Cluster"),
        ("ships", "Ship", "Namespaced"),
    ] {
        let crd = json!({
            "metadata": {"name": format!("{plural}.example.com")},
            "spec": {
                "group": "example.com", "scope": scope, "names": {"plural": plural, "kind": kind},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        });
        let (code, status) = cluster
            .create(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                &crd,
            )
            .await;
        assert_eq!(code, 201, "{status}");
    }
    let object = |kind: &str| json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "a"}});
    let (code, status) = cluster
        .create("/apis/example.com/v1/fleets", &object("Fleet"))
        .await;
    assert_eq!(code, 201, "{status}");
    for (method, path) in [
        (
            Method::GET,
            "/apis/example.com/v1/namespaces/default/fleets/a",
        ),
        (
            Method::GET,
            "/apis/example.com/v1/namespaces/default/fleets",
        ),
        (
            Method::DELETE,
            "/apis/example.com/v1/namespaces/default/fleets/a",
        ),
        (Method::GET, "/apis/example.com/v1/ships/a"),
        (Method::DELETE, "/apis/example.com/v1/ships/a"),
    ] {
        let (code, status) = cluster.send(method.clone(), path, &[], "").await;
        assert_eq!(code, 404, "{method} {path}: {status}");
    }
    for (path, kind) in [
        ("/apis/example.com/v1/namespaces/default/fleets", "Fleet"),
        ("/apis/example.com/v1/ships", "Ship"),
    ] {
        let (code, status) = cluster.create(path, &object(kind)).await;
        assert!((400..500).contains(&code), "{path}: {code} {status}");
    }
    assert_eq!(
        cluster
            .send(Method::GET, "/apis/example.com/v1/fleets/a", &[], "")
            .await
            .0,
        200
    );
}

/// Headers of an authenticating proxy, or of impersonation, from a client that is neither.
#[tokio::test]
async fn spoofed_identity_headers() {
    let tokens = TokenFile::parse("secret,alice,1").unwrap();
    let builder = KubeApiServer::builder().authenticator(Arc::new(tokens));
    let cluster = Cluster(builder.build().await.unwrap());
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    for headers in [
        [
            ("X-Remote-User", "root"),
            ("X-Remote-Group", "system:masters"),
        ],
        [("x_remote_user", "root"), ("X-Remote-Uid", "0")],
    ] {
        let (code, _) = cluster
            .send(Method::GET, "/api/v1/namespaces", &headers, "")
            .await;
        assert_eq!(code, 401, "{headers:?}");
        let mut all = vec![
            ("authorization", "Bearer secret"),
            ("content-type", "application/json"),
        ];
        all.extend(headers);
        let (code, review) = cluster.send(Method::POST, path, &all, "{}").await;
        assert_eq!(code, 201, "{review}");
        assert_eq!(
            review["status"]["userInfo"]["username"], "alice",
            "{review}"
        );
    }
}

/// Two lengths of one body: a second request must not hide in the first.
#[tokio::test]
async fn request_smuggling() {
    let address = Cluster::start().await.listen().await;
    let hidden = "GET /version HTTP/1.1\r\nHost: a\r\n\r\n";
    for head in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: xchunked",
        "Content-Length: 4\r\nContent-Length: 5",
        "Content-Length: +5",
        "Content-Length : 5",
    ] {
        let bytes = format!("POST /api HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n0\r\n\r\n{hidden}");
        let answer = exchange(address, bytes.as_bytes()).await;
        assert!(!answer.contains("gitVersion"), "{head}: {answer}");
    }
}

/// HTTP/2: streams that are opened and reset at once, headers without an end, and empty frames.
#[tokio::test]
async fn http2_floods() {
    let address = Cluster::start().await.listen().await;
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        frame
    };
    let preface = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &frame(4, 0, 0, b""),
    ]
    .concat();
    let get = b"\x82\x86\x84\x41\x01a";
    let mut resets = preface.clone();
    let mut open = preface.clone();
    for n in 0..20_000 {
        resets.extend(frame(1, 5, 2 * n + 1, get));
        resets.extend(frame(3, 0, 2 * n + 1, &8_u32.to_be_bytes()));
    }
    open.extend(frame(1, 0, 1, get));
    for _ in 0..20_000 {
        open.extend(frame(9, 0, 1, &[0x40, 1, b'x', 1, b'y']));
    }
    let mut empty = preface.clone();
    empty.extend(frame(1, 4, 1, b"\x83\x86\x84\x41\x01a"));
    for _ in 0..50_000 {
        empty.extend(frame(0, 0, 1, b""));
    }
    for flood in [resets, open, empty] {
        let start = Instant::now();
        exchange(address, &flood).await;
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        let answer = exchange(
            address,
            b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        )
        .await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}
