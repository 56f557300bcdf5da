//! The shutdown of a server.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use kubewright_extension_apiserver::ExtensionServer;
use kubewright_store::MemoryStore;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    time::Instant,
};

use crate::sky::{COMETS, Comet};

/// Returns the status line of the answer, if there is one.
async fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut client = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: sky\r\nConnection: close\r\n\r\n");
    client.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.ok()?;
    Some(answer.lines().next()?.to_owned())
}

#[tokio::test]
async fn readiness_ends_before_the_listener() {
    let delay = Duration::from_secs(5);
    let server = ExtensionServer::builder()
        .store::<Comet>(Arc::new(MemoryStore::new()))
        .shutdown_delay(delay)
        .build()
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(async move {
        server.serve(listener, async { drop(stopped.await) }).await;
    });
    assert_eq!(get(address, "/readyz").await.unwrap(), "HTTP/1.1 200 OK");
    let began = Instant::now();
    stop.send(()).unwrap();
    while get(address, "/readyz").await.as_deref() == Some("HTTP/1.1 200 OK") {}
    // As before, but for load balancers.
    assert_eq!(get(address, "/livez").await.unwrap(), "HTTP/1.1 200 OK");
    assert_eq!(get(address, COMETS).await.unwrap(), "HTTP/1.1 200 OK");
    assert!(
        began.elapsed() < delay,
        "the machine is too slow for this test"
    );
    served.await.unwrap();
    assert!(began.elapsed() >= delay);
    assert_eq!(get(address, "/livez").await, None);
}
