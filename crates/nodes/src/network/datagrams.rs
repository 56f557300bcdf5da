//! [`UdpSocket`]: a UDP port of a pod.

use std::{io, net::Ipv4Addr};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Call, DialError, Network, Protocol};

/// The number of datagrams that wait to be received. Others are lost.
const QUEUE: usize = 128;

/// A UDP port of a pod, until it is dropped.
///
/// ```
/// use kubewright_nodes::{Behavior, Container};
///
/// // Sends every datagram back.
/// let echo = Behavior::function(|container: Container| async move {
///     let Ok(mut socket) = container.bind_udp(7) else { return 1 };
///     while let Some(datagram) = socket.receive().await {
///         let bytes = datagram.bytes().clone();
///         datagram.reply(bytes);
///     }
///     0
/// });
/// # let _ = echo;
/// ```
pub struct UdpSocket {
    network: Network,
    at: (Ipv4Addr, u16),
    received: mpsc::Receiver<Datagram>,
}

/// A datagram that a [`UdpSocket`] has received.
#[derive(Debug)]
pub struct Datagram {
    bytes: Bytes,
    from: Ipv4Addr,
    reply: mpsc::Sender<Bytes>,
}

impl Datagram {
    /// Returns the contents.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the address of the sender.
    pub fn from(&self) -> Ipv4Addr {
        self.from
    }

    /// Sends a datagram to the sender. It is lost if the sender no longer waits for it.
    pub fn reply(&self, bytes: impl Into<Bytes>) {
        // As on a network, a datagram that nobody receives is lost.
        let _ = self.reply.try_send(bytes.into());
    }
}

impl Network {
    /// Binds a UDP port of an address.
    pub(crate) fn bind_udp(&self, address: Ipv4Addr, port: u16) -> io::Result<UdpSocket> {
        let mut sockets = self.0.sockets.lock();
        let at = (address, port);
        if sockets.get(&at).is_some_and(|known| !known.is_closed()) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let (sender, received) = mpsc::channel(QUEUE);
        sockets.insert(at, sender);
        Ok(UdpSocket {
            network: self.clone(),
            at,
            received,
        })
    }

    /// Sends a datagram to a port of a host, and returns the channel of its answers.
    pub(crate) async fn send_udp(
        &self,
        namespace: &str,
        own: Option<&str>,
        (host, port): (&str, u16),
        bytes: Bytes,
    ) -> Result<mpsc::Receiver<Bytes>, DialError> {
        let call = Call::new(own, port, Protocol::Udp);
        let at = self.locate(namespace, host, &call).await?;
        let socket = self.0.sockets.lock().get(&at).cloned();
        let (reply, answers) = mpsc::channel(QUEUE);
        let from = call.from;
        let datagram = Datagram { bytes, from, reply };
        let socket = socket.ok_or(DialError::Refused)?;
        // As on a network, a datagram that does not fit into the queue is lost.
        let _ = socket.try_send(datagram);
        Ok(answers)
    }
}

impl UdpSocket {
    /// Waits for a datagram. Returns `None` once no further datagrams are possible.
    pub async fn receive(&mut self) -> Option<Datagram> {
        self.received.recv().await
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.received.close();
        let mut sockets = self.network.0.sockets.lock();
        // Another socket may own the port by now.
        if sockets.get(&self.at).is_some_and(mpsc::Sender::is_closed) {
            sockets.remove(&self.at);
        }
    }
}
