//! Commands and ports of a kind, over SPDY and WebSocket, at the server itself and behind a cluster.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use http::Request;
use hyper::body::Incoming;
use kubewright_apiserver::{Body, request::UserInfo};
use kubewright_extension_apiserver::ExtensionServer;
use kubewright_serve::Server;
use kubewright_store::MemoryStore;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    delegated::Scene,
    sky::{COMETS, comet, post},
    spdy_client::{Frame, Spdy, data, fin},
    streams::kind,
};

/// Serves comets on a socket.
async fn direct() -> SocketAddr {
    let server = ExtensionServer::builder().kind(kind(Arc::new(MemoryStore::new())));
    let server = server.build().unwrap();
    post(&server, COMETS, &comet("halley", 76)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
    address
}

/// Serves a cluster on a socket, whose clients are its administrators. Comets are behind it.
async fn behind_a_cluster() -> (Scene, SocketAddr) {
    let scene = Scene::new().await;
    let (code, made) = scene.send("POST", COMETS, &comet("halley", 76), &[]).await;
    assert_eq!(code, 200, "{made}");
    let api = scene.cluster.api_server().server().clone();
    let admin = Arc::new(UserInfo {
        name: "admin".to_owned(),
        groups: vec!["system:masters".to_owned()],
        ..UserInfo::default()
    });
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let (api, admin) = (api.clone(), admin.clone());
        async move { Ok::<_, Infallible>(api.handle_as(admin, request.map(Body::wrap)).await) }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(Server::new(listener).serve(service, std::future::pending()));
    (scene, address)
}

/// Sends a request. Returns the connection and the head of the response.
async fn open(address: SocketAddr, head: &str) -> (TcpStream, String) {
    let mut client = TcpStream::connect(address).await.unwrap();
    let head = format!("{head}\r\nHost: sky\r\nConnection: Upgrade\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(client.read_u8().await.unwrap());
    }
    (
        client,
        String::from_utf8(answer).unwrap().to_ascii_lowercase(),
    )
}

async fn spdy(address: SocketAddr, path: &str, protocol: &str) -> Spdy<TcpStream> {
    let head = format!(
        "POST {COMETS}/halley/{path} HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: {protocol}"
    );
    let (client, answer) = open(address, &head).await;
    assert!(answer.starts_with("http/1.1 101 "), "{answer}");
    let chosen = format!("x-stream-protocol-version: {protocol}\r\n");
    assert!(answer.contains(&chosen), "{answer}");
    Spdy::over(client)
}

/// Runs a command over SPDY, as kubectl before 1.31 and client-go's `NewSPDYExecutor` do.
async fn runs_a_command(address: SocketAddr) {
    let mut spdy = spdy(
        address,
        "exec?command=tail&stdout=true",
        "v4.channel.k8s.io",
    )
    .await;
    for (id, kind) in [(1, "error"), (3, "stdout")] {
        spdy.stream(id, &[("streamtype", kind)]).await;
    }
    let (mut output, mut status) = (String::new(), String::new());
    loop {
        match spdy.frame().await {
            Some(Frame::Data {
                stream: 1, text, ..
            }) => status.push_str(&text),
            Some(Frame::Data {
                stream: 3, text, ..
            }) => output.push_str(&text),
            Some(Frame::GoAway) | None => break,
            Some(_) => {}
        }
    }
    assert_eq!(output, "tail of halley");
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["details"]["causes"][0]["message"], "76", "{status}");
}

/// Forwards a port over SPDY, as kubectl does.
async fn forwards_a_port(address: SocketAddr) {
    let mut spdy = spdy(address, "portforward", "portforward.k8s.io").await;
    for (id, kind) in [(1, "error"), (3, "data")] {
        let headers = [("streamtype", kind), ("port", "80"), ("requestid", "0")];
        spdy.stream(id, &headers).await;
        spdy.expect([Frame::Reply(id)]).await;
    }
    spdy.send(3, b"", true).await;
    spdy.expect([data(3, "port 80"), fin(3), fin(1)]).await;
}

/// Runs a command over WebSocket, as kubectl does.
async fn runs_a_command_over_websocket(address: SocketAddr) {
    let head = format!(
        "GET {COMETS}/halley/exec?command=tail&stdout=true HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io"
    );
    let (mut client, answer) = open(address, &head).await;
    assert!(answer.starts_with("http/1.1 101 "), "{answer}");
    let chosen = "sec-websocket-protocol: v5.channel.k8s.io\r\n";
    assert!(answer.contains(chosen), "{answer}");
    let mut messages = Vec::new();
    client.read_to_end(&mut messages).await.unwrap();
    let text = String::from_utf8_lossy(&messages);
    assert!(text.contains("\u{1}tail of halley"), "{text}");
    assert!(
        text.contains(r#"{"reason":"ExitCode","message":"76"}"#),
        "{text}"
    );
    // The last message closes the connection normally.
    assert!(messages.ends_with(b"\x88\x02\x03\xe8"), "{text}");
}

#[tokio::test]
async fn commands_and_ports_are_reached_over_spdy() {
    let address = direct().await;
    runs_a_command(address).await;
    forwards_a_port(address).await;
}

#[tokio::test]
async fn commands_and_ports_are_reached_through_the_aggregator() {
    let (_scene, address) = behind_a_cluster().await;
    runs_a_command(address).await;
    forwards_a_port(address).await;
    runs_a_command_over_websocket(address).await;
}
