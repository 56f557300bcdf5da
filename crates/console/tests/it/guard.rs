//! The rules of the listener: who may call it, and how.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, header};
use http_body_util::Full;
use kubewright_console::{Console, ConsoleError};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::scene::Scene;

/// Paths of pages, of the API, and of the stream.
const PATHS: [&str; 4] = [
    "/",
    "/app/main.js",
    "/api/v1/namespaces",
    "/kubewright/v1/stream",
];

fn with(
    mut request: Request<Full<Bytes>>,
    name: &'static str,
    value: &str,
) -> Request<Full<Bytes>> {
    let value = HeaderValue::from_str(value).unwrap();
    request.headers_mut().insert(name, value);
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_host_is_misdirected() {
    let scene = Scene::start().await;
    let port = scene.address().port();
    let foreign = [
        "attacker.example".to_owned(),
        format!("attacker.example:{port}"),
        format!("localhost.attacker.example:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        format!("localhost@attacker.example:{port}"),
        format!("attacker@127.0.0.1:{port}"),
        format!("192.0.2.1:{port}"),
        format!("[::1]:{port}"),
        "127.1".to_owned(),
        "2130706433".to_owned(),
        String::new(),
    ];
    for host in &foreign {
        for path in PATHS {
            let request = with(scene.request(Method::GET, path, None), "host", host);
            assert_eq!(scene.code(request).await, 421, "{host} {path}");
        }
    }
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        "localhost".into(),
    ] {
        let request = with(
            scene.request(Method::GET, "/api/v1/namespaces", None),
            "host",
            &host,
        );
        assert_eq!(scene.code(request).await, 200, "{host}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_target_is_misdirected_whatever_the_host_says() {
    let scene = Scene::start().await;
    let port = scene.address().port();
    let request = scene.request(
        Method::GET,
        &format!("http://attacker.example:{port}/api/v1/pods"),
        None,
    );
    assert_eq!(scene.code(request).await, 421);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_other_sites_are_refused() {
    let scene = Scene::start().await;
    for path in PATHS {
        for site in ["cross-site", "same-site", "anything"] {
            let request = with(
                scene.request(Method::GET, path, None),
                "sec-fetch-site",
                site,
            );
            assert_eq!(scene.code(request).await, 403, "{site} {path}");
        }
    }
    for site in ["same-origin", "none"] {
        let request = with(
            scene.request(Method::GET, "/api/v1/pods", None),
            "sec-fetch-site",
            site,
        );
        assert_eq!(scene.code(request).await, 200, "{site}");
    }
}

/// A link from elsewhere opens the page, which knows nothing without a token. Data, frames and scripts stay refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_from_elsewhere_opens_the_page_only() {
    let scene = Scene::start().await;
    let navigate = |path: &str, dest: &str| {
        let request = scene.request(Method::GET, path, None);
        let request = with(request, "sec-fetch-site", "cross-site");
        with(
            with(request, "sec-fetch-mode", "navigate"),
            "sec-fetch-dest",
            dest,
        )
    };
    assert_eq!(scene.code(navigate("/", "document")).await, 200);
    assert_eq!(scene.code(navigate("/", "iframe")).await, 403);
    assert_eq!(scene.code(navigate("/app/main.js", "document")).await, 403);
    assert_eq!(scene.code(navigate("/api/v1/pods", "document")).await, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_cannot_write() {
    let scene = Scene::start().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    let path = "/api/v1/namespaces/default/configmaps";
    for form in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain; application/json",
    ] {
        let request = with(
            scene.request(Method::POST, path, Some(&object)),
            "content-type",
            form,
        );
        assert_eq!(scene.code(request).await, 415, "{form}");
    }
    let mut none = scene.request(Method::POST, path, Some(&object));
    none.headers_mut().remove(header::CONTENT_TYPE);
    assert_eq!(scene.code(none).await, 415);
    let (code, _) = scene.call(Method::POST, path, Some(&object)).await;
    assert_eq!(code, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_is_refused() {
    let scene = Scene::start().await;
    let request = with(
        scene.request(Method::OPTIONS, "/api/v1/pods", None),
        "origin",
        "https://attacker.example",
    );
    let response = scene.send(request).await;
    assert_eq!(response.status(), 405);
    assert!(
        !response
            .headers()
            .contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_the_token_in_its_header_gives_access() {
    let scene = Scene::start().await;
    let token = scene.token().to_owned();
    let data = [
        "/api/v1/namespaces",
        "/apis",
        "/version",
        "/openapi/v3",
        "/kubewright/v1/stream",
        "/kubewright/v1/console/session",
    ];
    for path in data {
        let mut none = scene.request(Method::GET, path, None);
        none.headers_mut().remove(header::AUTHORIZATION);
        assert_eq!(scene.code(none).await, 401, "{path}");
        let mut in_query = scene.request(
            Method::GET,
            &format!("{path}?t={token}&token={token}"),
            None,
        );
        in_query.headers_mut().remove(header::AUTHORIZATION);
        assert_eq!(scene.code(in_query).await, 401, "{path}");
        let mut cookie = with(
            scene.request(Method::GET, path, None),
            "cookie",
            &format!("t={token}; token={token}"),
        );
        cookie.headers_mut().remove(header::AUTHORIZATION);
        assert_eq!(scene.code(cookie).await, 401, "{path}");
        for wrong in [
            "Bearer 00000000000000000000000000000000".to_owned(),
            format!("Basic {token}"),
            token.clone(),
            format!("Bearer {token}x"),
        ] {
            let request = with(
                scene.request(Method::GET, path, None),
                "authorization",
                &wrong,
            );
            assert_eq!(scene.code(request).await, 401, "{path} {wrong}");
        }
        let mut two = scene.request(Method::GET, path, None);
        two.headers_mut()
            .append(header::AUTHORIZATION, HeaderValue::from_static("Bearer 0"));
        assert_eq!(scene.code(two).await, 401, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_in_the_fragment_and_new_at_each_start() {
    let (one, other) = (Scene::start().await, Scene::start().await);
    assert_eq!(one.token().len(), 32);
    assert!(one.token().chars().all(|c| c.is_ascii_hexdigit()));
    assert_ne!(one.token(), other.token());
    let url = one.url();
    assert!(
        url.starts_with("http://127.0.0.1:") && url.contains("/#t="),
        "{url}"
    );
    // No page knows it.
    let (_, page) = one.get("/").await;
    assert!(!page.to_string().contains(one.token()));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_forbids_scripts_frames_and_referrers() {
    let scene = Scene::start().await;
    let foreign = with(
        scene.request(Method::GET, "/", None),
        "host",
        "attacker.example",
    );
    let mut answers = vec![scene.send(foreign).await];
    for path in [
        "/",
        "/o/pods",
        "/app/main.js",
        "/app/none.js",
        "/api/v1/pods",
        "/api/v1/none",
        "/kubewright/v1/stream",
    ] {
        answers.push(scene.send(scene.request(Method::GET, path, None)).await);
    }
    for answer in answers {
        let header = |name: &str| {
            answer
                .headers()
                .get(name)
                .map(|it| it.to_str().unwrap().to_owned())
                .unwrap_or_default()
        };
        assert_eq!(
            header("content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'none'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
        );
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin");
        assert_eq!(header("cache-control"), "no-store");
        assert!(!answer.headers().contains_key("set-cookie"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_loopback_addresses_are_listened_on() {
    let scene = Scene::start().await;
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = Console::builder(scene.cluster().client())
            .start(address.parse().unwrap())
            .await;
        assert!(
            matches!(refused, Err(ConsoleError::NotLoopback(_))),
            "{address}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_is_refused() {
    let scene = Scene::start().await;
    let mut stream = TcpStream::connect(scene.address()).await.unwrap();
    // The length alone is refused. A client that went on to send the body could find the connection closed.
    let head = format!(
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        scene.address(),
        scene.token(),
        4 << 20,
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 413");
}
