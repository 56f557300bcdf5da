//! [`Listener`]: a port on which a container listens.

use std::{io, net::Ipv4Addr};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};

use super::{Accepted, Network};

/// The number of connections that are queued until they are accepted.
const BACKLOG: usize = 128;

/// A port on which a container listens, until it is dropped.
///
/// ```
/// use kubewright_nodes::{Behavior, Container};
/// use tokio::io::AsyncWriteExt;
///
/// // Greets every client that connects to port 7000.
/// let greeter = Behavior::function(|container: Container| async move {
///     let Ok(mut listener) = container.listen(7000) else { return 1 };
///     while let Some(mut connection) = listener.accept().await {
///         let _ = connection.write_all(b"hello\n").await;
///     }
///     0
/// });
/// # let _ = greeter;
/// ```
pub struct Listener {
    network: Network,
    at: (Ipv4Addr, u16),
    accepted: mpsc::Receiver<Accepted>,
}

impl Network {
    /// Listens on a port of an address.
    pub(crate) fn listen(&self, address: Ipv4Addr, port: u16) -> io::Result<Listener> {
        let mut listeners = self.0.listeners.lock();
        let at = (address, port);
        if listeners.get(&at).is_some_and(|known| !known.is_closed()) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let (sender, accepted) = mpsc::channel(BACKLOG);
        listeners.insert(at, sender);
        Ok(Listener {
            network: self.clone(),
            at,
            accepted,
        })
    }
}

impl Listener {
    /// Waits for a connection. Returns `None` once no further connections are possible.
    pub async fn accept(
        &mut self,
    ) -> Option<impl AsyncRead + AsyncWrite + Send + Unpin + 'static + use<>> {
        self.accept_from().await.map(|(connection, _)| connection)
    }

    /// Waits for a connection, and returns the address that it comes from as well.
    pub(crate) async fn accept_from(&mut self) -> Option<Accepted> {
        self.accepted.recv().await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepted.close();
        let mut listeners = self.network.0.listeners.lock();
        // Another listener may own the port by now.
        if listeners.get(&self.at).is_some_and(mpsc::Sender::is_closed) {
            listeners.remove(&self.at);
        }
    }
}
