//! Bytes on a socket of a whole server.

use std::{cell::RefCell, net::SocketAddr, time::Duration};

use kubewright_kube_apiserver::KubeApiServer;
use kubewright_serve::Server;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

/// The time to wait for the end of a response. Watches and requests that are not complete stay open.
const PATIENCE: Duration = Duration::from_millis(100);

/// The most bytes of a response that are read.
const MAX_RESPONSE: u64 = 1 << 20;

thread_local! {
    static SERVER: RefCell<Option<(Runtime, SocketAddr)>> = const { RefCell::new(None) };
}

/// Sends the input on a new connection, and checks that the server still answers.
pub(crate) fn connection(data: &[u8]) {
    SERVER.with_borrow_mut(|slot| {
        let (runtime, address) = slot.get_or_insert_with(start);
        runtime.block_on(async {
            let _ = exchange(*address, data).await;
            let answer = exchange(
                *address,
                b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
            );
            let answer = answer.await.expect("the server still accepts connections");
            assert!(
                answer.starts_with(b"HTTP/1.1 200"),
                "{}",
                String::from_utf8_lossy(&answer)
            );
        });
    });
}

fn start() -> (Runtime, SocketAddr) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let address = runtime.block_on(async {
        let server = KubeApiServer::builder().build().await.expect("a server");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let service = server.server().clone();
        tokio::spawn(Server::new(listener).serve(service, std::future::pending()));
        address
    });
    (runtime, address)
}

async fn exchange(address: SocketAddr, data: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let mut answer = Vec::new();
    let exchanged = async {
        // The server may close the connection early.
        let _ = stream.write_all(data).await;
        let _ = stream.shutdown().await;
        let _ = (&mut stream)
            .take(MAX_RESPONSE)
            .read_to_end(&mut answer)
            .await;
    };
    let _ = tokio::time::timeout(PATIENCE, exchanged).await;
    Ok(answer)
}
