//! Aggregated servers behind TLS on the loopback interface.

use std::sync::atomic::Ordering;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Request, header};
use http_body_util::BodyExt;
use kubewright_apiserver::{Body, auth::HeaderNames};
use kubewright_kube_apiserver::FrontProxy;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    SERVICES, SKY,
    backend::{
        CHUNK, CHUNKS, ENDED, LINES, MADE, STARTED, authority, backend, backend_as, front, get,
        reason, register, send, served, signed, signed_until, values,
    },
};

#[tokio::test]
async fn users_are_named_by_the_proxy_alone() {
    let proxies = authority("proxies");
    let backend = backend(&proxies).await;
    let api = front(&proxies, &backend).build().await.unwrap();
    register(&api, json!({"caBundle": backend.ca_bundle})).await;
    reason(&api, "Passed").await;
    let forged = Request::get(format!("{SKY}/headers"))
        .header("x-remote-user", "admin")
        .header("x-remote-group", "system:masters")
        .header("x-remote-extra-scopes", "all")
        .header("connection", "x-secret")
        .header("x-secret", "1")
        .body(Body::empty());
    let (code, seen) = send(&api, forged.unwrap()).await;
    assert_eq!((code, &seen["certificate"]), (200, &json!(true)));
    assert_eq!(values(&seen, "x-remote-user"), ["system:anonymous"]);
    assert_eq!(values(&seen, "x-remote-group"), ["system:unauthenticated"]);
    assert!(values(&seen, "x-remote-extra-scopes").is_empty());
    assert!(values(&seen, "x-secret").is_empty());
    assert_eq!(values(&seen, "host"), ["sky.test.svc:443"]);
    assert_eq!(values(&seen, "x-forwarded-uri"), [format!("{SKY}/headers")]);
}

#[tokio::test]
async fn headers_of_any_configured_name_are_not_passed_on() {
    let proxies = authority("proxies");
    let backend = backend(&proxies).await;
    let one = |name: &str| vec![name.to_owned()];
    let custom = FrontProxy {
        headers: HeaderNames {
            user: one("X-Sso-User"),
            uid: one("X-Sso-Id"),
            group: one("X-Sso-Team"),
            extra_prefix: one("X-Sso-Extra-"),
        },
        ..FrontProxy::new(proxies.pem())
    };
    let api = front(&proxies, &backend).front_proxy(custom);
    let api = api.build().await.unwrap();
    register(&api, json!({"caBundle": backend.ca_bundle})).await;
    reason(&api, "Passed").await;
    let names = ["x-sso-user", "x-sso-id", "x-sso-team", "x-sso-extra-scopes"];
    let mut forged = Request::get(format!("{SKY}/headers")).header("x-sso-theme", "dark");
    for name in names {
        forged = forged.header(name, "system:masters");
    }
    let (code, seen) = send(&api, forged.body(Body::empty()).unwrap()).await;
    assert_eq!((code, values(&seen, "x-sso-theme").len()), (200, 1));
    assert_eq!(values(&seen, "x-remote-user"), ["system:anonymous"]);
    for name in names {
        assert!(values(&seen, name).is_empty(), "{name}");
    }
}

#[tokio::test]
async fn lines_of_a_stream_arrive_one_by_one_at_clients_that_accept_gzip() {
    let (api, _) = served().await;
    let request = Request::get(format!("{SKY}/lines"))
        .header(header::ACCEPT_ENCODING, "gzip")
        .body(Body::empty());
    let response = api.server().handle(request.unwrap()).await;
    assert_eq!(response.status(), 200);
    assert!(!response.headers().contains_key(header::CONTENT_ENCODING));
    let mut lines = response.into_body();
    for n in 0..3 {
        let line = lines.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(line, format!("{{\"line\":{n}}}\n"));
        LINES.add_permits(1);
    }
}

#[tokio::test]
async fn certificates_are_verified_by_default() {
    let proxies = authority("proxies");
    let backend = backend(&proxies).await;
    let api = front(&proxies, &backend).build().await.unwrap();
    let other = STANDARD.encode(authority("other").pem());
    register(&api, json!({"caBundle": other})).await;
    let message = reason(&api, "FailedDiscoveryCheck").await;
    assert!(
        message.ends_with("certificate signed by unknown authority"),
        "{message}"
    );
    assert_eq!(backend.requests.load(Ordering::SeqCst), 0);
    let path = format!("{SERVICES}/v1.sky.example.com");
    let insecure = json!({"spec": {"caBundle": null, "insecureSkipTLSVerify": true}});
    let request = Request::patch(path)
        .header(header::CONTENT_TYPE, "application/merge-patch+json")
        .body(Body::from(insecure.to_string()));
    assert_eq!(send(&api, request.unwrap()).await.0, 200);
    reason(&api, "Passed").await;
}

#[tokio::test]
async fn expired_and_foreign_certificates_are_named() {
    let (proxies, own) = (authority("proxies"), authority("backend"));
    for (pair, expected) in [
        (
            signed_until(&own, "sky", Some("sky.test.svc"), 2021),
            "x509: certificate has expired or is not yet valid: current time ",
        ),
        (
            signed(&own, "sky", Some("other.test.svc")),
            "x509: certificate is valid for other.test.svc, not sky.test.svc",
        ),
    ] {
        let backend = backend_as(&proxies, &own, pair).await;
        let api = front(&proxies, &backend).build().await.unwrap();
        register(&api, json!({"caBundle": backend.ca_bundle})).await;
        let message = reason(&api, "FailedDiscoveryCheck").await;
        assert!(message.contains(expected), "{message}");
        let answer = api.server().handle(
            Request::get(format!("{SKY}/headers"))
                .body(Body::empty())
                .unwrap(),
        );
        assert_eq!(answer.await.status(), 503);
        assert_eq!(backend.requests.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn an_upgrade_that_is_never_answered_ends_with_its_client() {
    let (_api, address) = served().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET {SKY}/never HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.unwrap();
    STARTED.acquire().await.unwrap().forget();
    assert_eq!(ENDED.available_permits(), 0);
    drop(client);
    ENDED.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn bodies_are_not_buffered() {
    let (api, address) = served().await;
    let mut lazy = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {SKY}/endless HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    lazy.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(lazy.read_u8().await.unwrap(), b'H');
    // In the meantime, the body stops at what buffers hold.
    for _ in 0..200 {
        assert_eq!(get(&api, &format!("{SKY}/headers")).await.0, 200);
    }
    assert!(MADE.load(Ordering::SeqCst) < CHUNKS / 2);
    let mut body = Vec::new();
    lazy.read_to_end(&mut body).await.unwrap();
    assert!(body.len() > CHUNK * CHUNKS && body.ends_with(b"0\r\n\r\n"));
}

#[tokio::test]
async fn upgrades_are_passed_through() {
    let (_api, address) = served().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET {SKY}/echo HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    for word in ["hello", "again"] {
        client.write_all(word.as_bytes()).await.unwrap();
        let mut echo = [0; 5];
        client.read_exact(&mut echo).await.unwrap();
        assert_eq!(echo, *word.as_bytes());
    }
}

fn upgrade(path: &str) -> Request<Body> {
    Request::get(format!("{SKY}/{path}"))
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "echo")
        .body(Body::empty())
        .unwrap()
}

/// A backend could read what its client sends next as a request of this server.
#[tokio::test]
async fn cve_2018_1002105_a_connection_whose_upgrade_was_refused_is_closed() {
    let (api, _) = served().await;
    let ask = async || get(&api, &format!("{SKY}/headers")).await;
    let (code, refused) = send(&api, upgrade("refused")).await;
    assert_eq!(code, 403);
    let mut peers = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let peer = ask().await.1["peer"].clone();
        assert_ne!(peer, refused["peer"]);
        peers.insert(peer.to_string());
    }
    assert!(peers.len() < 20, "idle connections are used again");
}

/// A redirect would lead a client with its credentials, or this server, to another address.
#[tokio::test]
async fn cve_2018_1002102_redirects_of_upgrades_are_refused() {
    let proxies = authority("proxies");
    let backend = backend(&proxies).await;
    let api = front(&proxies, &backend).build().await.unwrap();
    register(&api, json!({"caBundle": backend.ca_bundle})).await;
    reason(&api, "Passed").await;
    let before = backend.requests.load(Ordering::SeqCst);
    // So is an answer that is neither an upgrade nor an error.
    for (path, code) in [("elsewhere", 302), ("headers", 200)] {
        let response = api.server().handle(upgrade(path)).await;
        assert_eq!(response.status(), 503);
        assert!(!response.headers().contains_key(header::LOCATION));
        let body = response.into_body().collect_up_to(1000).await;
        let body = String::from_utf8(body.unwrap().unwrap().to_vec()).unwrap();
        assert_eq!(
            body,
            format!("invalid upgrade response: status code {code}\n")
        );
    }
    // The probe of the server may have come in between, but nothing was followed.
    assert!(backend.requests.load(Ordering::SeqCst) <= before + 3);
}
