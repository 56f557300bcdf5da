//! [`Proxy`]: connections that are passed on, until they are not.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// By a RST.
    Reset,
    /// By a FIN.
    Close,
    /// Not at all, but nothing comes any more.
    Silence,
}

/// The end of connections, and the number of bytes until then.
type Order = Option<(End, usize)>;

/// Passes connections on to a server.
pub(crate) struct Proxy {
    address: SocketAddr,
    /// The fate of the current connections.
    orders: Arc<Mutex<watch::Sender<Order>>>,
}

impl Proxy {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let orders = Arc::new(Mutex::new(watch::Sender::new(None)));
        let given = orders.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let orders = given.lock().subscribe();
                if let Ok(server) = TcpStream::connect(server).await {
                    tokio::spawn(pass(client, server, orders));
                }
            }
        });
        Self { address, orders }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the connections there are; later ones are not concerned.
    pub(crate) fn end(&self, end: End, after: usize) {
        let orders = std::mem::replace(&mut *self.orders.lock(), watch::Sender::new(None));
        orders.send_replace(Some((end, after)));
        // Those who have it keep it for as long as they live.
        std::mem::forget(orders);
    }
}

async fn pass(client: TcpStream, server: TcpStream, mut orders: watch::Receiver<Order>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let upward = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
        from_client
    });
    let mut buffer = vec![0; 16 << 10];
    let mut ordered: Order = None;
    loop {
        if let Some((end, 0)) = ordered {
            upward.abort();
            match end {
                End::Reset => {
                    let _ = to_client.as_ref().set_zero_linger();
                }
                End::Close => {}
                End::Silence => std::future::pending().await,
            }
            return;
        }
        let read = tokio::select! {
            biased;
            Ok(()) = orders.changed(), if ordered.is_none() => {
                ordered = *orders.borrow_and_update();
                continue;
            }
            read = from_server.read(&mut buffer) => read,
        };
        let Ok(mut length) = read else { return };
        if length == 0 {
            return;
        }
        if let Some((_, left)) = &mut ordered {
            length = length.min(*left);
            *left -= length;
        }
        if to_client.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
