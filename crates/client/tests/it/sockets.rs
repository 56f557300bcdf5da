//! Connections that break, on real sockets.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use kube::Config;
use kubewright_client::{ClientOptions, Error, RestClient};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The fate of a connection.
#[derive(Clone, Copy)]
enum Fate {
    /// Closed when the request has come.
    Close,
    /// Reset when the request has come.
    Reset,
    /// Closed in the middle of the body.
    HalfABody,
    /// An answer.
    Answer,
}

/// A server whose first connections have these fates, and all others an answer. Answers with the number of connections.
async fn server(fates: &'static [Fate]) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let n = counted.fetch_add(1, Ordering::Relaxed);
            let fate = fates.get(n).copied().unwrap_or(Fate::Answer);
            tokio::spawn(serve(stream, fate));
        }
    });
    (address, count)
}

async fn serve(mut stream: TcpStream, fate: Fate) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    match fate {
        Fate::Close => {}
        // Closed with something unread, a connection is reset.
        Fate::Reset => stream.set_zero_linger().unwrap(),
        Fate::HalfABody => {
            let _ = stream
                .write_all(format!("{head}content-length: 100\r\n\r\n{{\"half\"").as_bytes())
                .await;
        }
        Fate::Answer => {
            let _ = stream
                .write_all(format!("{head}content-length: 8\r\n\r\n{{\"ok\":1}}").as_bytes())
                .await;
        }
    }
    let _ = stream.flush().await;
}

fn client(address: SocketAddr) -> RestClient {
    let config = Config::new(format!("http://{address}").parse().unwrap());
    RestClient::new(ClientOptions::new().connect(config).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_read_survives_connections_that_break() {
    let (address, count) = server(&[Fate::Close, Fate::Reset]).await;
    let answer = client(address).get().abs_path("/x").send().await.unwrap();
    assert_eq!(answer.object::<Value>().unwrap(), json!({"ok": 1}));
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

/// Nobody knows what became of a write.
#[tokio::test(start_paused = true)]
async fn a_write_is_not_sent_twice() {
    for fate in [&[Fate::Close], &[Fate::Reset]] {
        let (address, count) = server(fate).await;
        let error = client(address)
            .post()
            .abs_path("/x")
            .json(&json!({}))
            .send()
            .await
            .unwrap_err();
        assert!(
            matches!(error, Error::Transport(_)) && error.is_transient(),
            "{error}"
        );
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn half_an_answer_is_an_error() {
    let (address, count) = server(&[Fate::HalfABody]).await;
    let error = client(address)
        .get()
        .abs_path("/x")
        .send()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Transport(_)), "{error}");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

/// A refused connection is not a broken one.
#[tokio::test(start_paused = true)]
async fn refused_connections_fail_immediately() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let began = tokio::time::Instant::now();
    let error = client(address)
        .get()
        .abs_path("/x")
        .send()
        .await
        .unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(began.elapsed().as_secs(), 0);
}
