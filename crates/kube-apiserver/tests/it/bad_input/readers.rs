//! Peers on a socket that are slow, silent or rude. The tests of `kubewright-serve` cover its limits; here the whole
//! cluster is behind it.

use std::{net::SocketAddr, time::Duration};

use kubewright_serve::{Limits, Server};
use kubewright_testing::TestCluster;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::Target;
use crate::http_client::{Http, MAPS, event, map, map_with};

/// The cluster on a plain socket, for as long as the guard lives.
async fn listening(
    cluster: &TestCluster,
    limits: Limits,
) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = cluster.service();
    let task = tokio::spawn(async move {
        let server = Server::new(listener).limits(limits);
        server.serve(service, std::future::pending()).await;
    });
    (address, task)
}

async fn ask(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads until the peer closes or the text contains `enough`.
async fn read_until(stream: &mut TcpStream, enough: &str) -> String {
    let mut out = Vec::new();
    let mut buffer = [0; 4096];
    let reading = async {
        loop {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(n) => out.extend_from_slice(&buffer[..n]),
            }
            if String::from_utf8_lossy(&out).contains(enough) {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reading)
        .await
        .expect("an answer");
    String::from_utf8_lossy(&out).into_owned()
}

#[tokio::test]
async fn watchers_on_sockets_that_never_read_delay_no_others() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let (address, server) = listening(&cluster, Limits::default()).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(
            ask(
                address,
                &format!("GET {MAPS}?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n"),
            )
            .await,
        );
    }
    let mut reader = http.watch(MAPS, "").await;
    let big = "x".repeat(50_000);
    http.post(MAPS, map("big")).await.ok();
    assert_eq!(reader.step().await, event("ADDED", "big"));
    // More than the sockets' buffers hold.
    for i in 0..150 {
        http.put(
            &format!("{MAPS}/big"),
            map_with("big", &format!("{big}{i}")),
        )
        .await
        .ok();
        assert_eq!(reader.step().await, event("MODIFIED", "big"));
    }
    // A new connection is served as if nothing was.
    let mut other = ask(address, "GET /version HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(
        read_until(&mut other, "gitVersion")
            .await
            .starts_with("HTTP/1.1 200")
    );
    server.abort();
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_and_others_are_served() {
    let target = Target::new().await;
    let limits = Limits {
        header_timeout: Duration::from_millis(50),
        ..Limits::default()
    };
    let (address, server) = listening(&target.cluster, limits).await;
    let mut loris = Vec::new();
    for _ in 0..20 {
        loris.push(ask(address, "GET /version HTTP/1.1\r\nhost: x\r\nx-slow: ").await);
    }
    let mut other = ask(address, "GET /version HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(
        read_until(&mut other, "gitVersion")
            .await
            .starts_with("HTTP/1.1 200")
    );
    for mut stream in loris {
        let answer = read_until(&mut stream, "never").await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    server.abort();
    target.unharmed().await;
}

#[tokio::test]
async fn bytes_that_are_not_http_are_rejected() {
    let target = Target::new().await;
    let (address, server) = listening(&target.cluster, Limits::default()).await;
    for nonsense in [
        "\x16\x03\x01\x02\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
    ] {
        let mut stream = ask(address, nonsense).await;
        let answer = read_until(&mut stream, "never").await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{nonsense:?}: {answer}"
        );
    }
    let two_lengths = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 300\r\n\r\n{{}}x"
    );
    let mut stream = ask(address, &two_lengths).await;
    assert!(
        read_until(&mut stream, "never")
            .await
            .starts_with("HTTP/1.1 400")
    );
    server.abort();
    target.unharmed().await;
}

#[tokio::test]
async fn a_request_that_is_cut_off_stores_nothing() {
    let target = Target::new().await;
    let (address, server) = listening(&target.cluster, Limits::default()).await;
    let body = r#"{"metadata":{"name":"b"}}"#;
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    );
    let stream = ask(address, &format!("{head}{body}")).await;
    drop(stream);
    // The server has seen the end of that connection before it answers on another one; either way nothing is stored.
    let mut other = ask(address, &format!("GET {MAPS} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
    assert!(
        read_until(&mut other, "items")
            .await
            .starts_with("HTTP/1.1 200")
    );
    server.abort();
    target.unharmed().await;
}

#[tokio::test]
async fn a_very_long_head_is_refused() {
    let target = Target::new().await;
    let limits = Limits {
        max_header_bytes: 16 * 1024,
        ..Limits::default()
    };
    let (address, server) = listening(&target.cluster, limits).await;
    let long = "a".repeat(100_000);
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may stop reading at any time.
    let _ = stream
        .write_all(format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes())
        .await;
    let answer = read_until(&mut stream, "never").await;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
        "{answer}"
    );
    server.abort();
    target.unharmed().await;
}
