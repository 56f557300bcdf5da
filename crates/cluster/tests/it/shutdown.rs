//! Stopping a cluster that has open watches.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use kubewright_apiserver::auth::Anonymous;
use kubewright_cluster::Cluster;
use kubewright_serve::Server;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

const WATCH: &str = "GET /api/v1/configmaps?watch=true HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Reads until the text contains `end` or the peer closes.
async fn read_until(stream: &mut TcpStream, text: &mut String, end: &str) {
    let mut buffer = [0; 4096];
    while !text.contains(end) {
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut buffer));
        match read.await.expect("an answer in time").unwrap() {
            0 => break,
            n => text.push_str(&String::from_utf8_lossy(&buffer[..n])),
        }
    }
}

async fn open_watch(address: SocketAddr) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(WATCH.as_bytes()).await.unwrap();
    let mut text = String::new();
    read_until(&mut stream, &mut text, "\r\n\r\n").await;
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    (stream, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn open_watches_end_cleanly_and_immediately() {
    let cluster = Cluster::builder().authenticator(Arc::new(Anonymous));
    let cluster = cluster.start().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let service = cluster.api_server().server().clone();
    let server = tokio::spawn(Server::new(listener).serve(service, async {
        let _ = stopped.await;
    }));

    let (mut stream, mut text) = open_watch(address).await;
    let began = Instant::now();
    drop(stop);
    read_until(&mut stream, &mut text, "0\r\n\r\n").await;
    assert!(
        text.ends_with("0\r\n\r\n"),
        "the last chunk is sent: {text}"
    );
    server.await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(2));
}
