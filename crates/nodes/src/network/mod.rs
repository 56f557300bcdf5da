//! [`Network`]: the network of the pods, within this process.

mod addresses;
mod datagrams;
mod dns;
mod listener;
mod names;

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use kubewright_controller::Client;
use kubewright_informer::Key;
use parking_lot::Mutex;
use tokio::{io::DuplexStream, sync::mpsc};

use crate::nodes::Shared;
pub(crate) use addresses::{PodRange, node_ip};
pub use datagrams::{Datagram, UdpSocket};
pub(crate) use dns::{Data, Record, RecordType, ZONE, search_path};
pub use listener::Listener;

/// The capacity of a connection in one direction, in bytes.
const BUFFER: usize = 64 << 10;

/// The network of the pods. Clones share it.
#[derive(Clone)]
pub(crate) struct Network(Arc<Inner>);

struct Inner {
    nodes: Weak<Shared>,
    client: OnceLock<Client>,
    listeners: Mutex<HashMap<(Ipv4Addr, u16), mpsc::Sender<Accepted>>>,
    sockets: Mutex<HashMap<(Ipv4Addr, u16), mpsc::Sender<Datagram>>>,
    /// The pods by address. Pods on the host network are not included.
    pods: Mutex<HashMap<Ipv4Addr, Key, foldhash::fast::RandomState>>,
    /// The number of endpoints that have been chosen, for round-robin.
    turns: AtomicUsize,
}

/// An accepted connection, with the address of its client.
pub(crate) type Accepted = (DuplexStream, Ipv4Addr);

/// The protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    /// Returns the name in the API.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }
}

/// A connection or datagram to a port.
pub(crate) struct Call {
    /// The address of the pod that it comes from.
    own: Option<Ipv4Addr>,
    from: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
}

impl Call {
    fn new(own: Option<&str>, port: u16, protocol: Protocol) -> Self {
        let own = own.and_then(|own| own.parse().ok());
        Self {
            own,
            from: own.unwrap_or(Ipv4Addr::LOCALHOST),
            port,
            protocol,
        }
    }
}

/// A connection that could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DialError {
    #[error("No such host")]
    UnknownHost,
    #[error("No route to host")]
    NoRoute,
    #[error("Connection refused")]
    Refused,
}

impl From<DialError> for io::Error {
    fn from(error: DialError) -> Self {
        let kind = match error {
            DialError::UnknownHost => io::ErrorKind::NotFound,
            DialError::NoRoute => io::ErrorKind::HostUnreachable,
            DialError::Refused => io::ErrorKind::ConnectionRefused,
        };
        Self::new(kind, error)
    }
}

impl Network {
    pub(crate) fn new(nodes: Weak<Shared>) -> Self {
        Self(Arc::new(Inner {
            nodes,
            client: OnceLock::new(),
            listeners: Mutex::default(),
            sockets: Mutex::default(),
            pods: Mutex::default(),
            turns: AtomicUsize::new(0),
        }))
    }

    /// Sets the client that resolves names.
    pub(crate) fn set_client(&self, client: Client) {
        // There is only one manager, so this is set once.
        let _ = self.0.client.set(client);
    }

    pub(crate) fn client(&self) -> Option<&Client> {
        self.0.client.get()
    }

    pub(crate) fn nodes(&self) -> Option<Arc<Shared>> {
        self.0.nodes.upgrade()
    }

    /// Records that a pod has an address.
    pub(crate) fn assign(&self, address: Ipv4Addr, pod: &Key) {
        self.0.pods.lock().insert(address, pod.clone());
    }

    /// Records that a pod no longer has an address.
    pub(crate) fn release(&self, address: Ipv4Addr, pod: &Key) {
        let mut pods = self.0.pods.lock();
        if pods.get(&address) == Some(pod) {
            pods.remove(&address);
        }
    }

    /// Connects to a port of an address.
    pub(crate) async fn dial(
        &self,
        from: Ipv4Addr,
        address: Ipv4Addr,
        port: u16,
    ) -> Result<DuplexStream, DialError> {
        let listener = self.0.listeners.lock().get(&(address, port)).cloned();
        let (near, far) = tokio::io::duplex(BUFFER);
        if let Some(listener) = listener {
            let accepted = listener.send((far, from)).await;
            return accepted.map(|()| near).map_err(|_| DialError::Refused);
        }
        let pod = self.0.pods.lock().get(&address).cloned();
        let nodes = self.nodes().ok_or(DialError::NoRoute)?;
        let Some(pod) = pod else {
            // Pods on the host network use the address of their node.
            return Err(match nodes.has_address(address) {
                true => DialError::Refused,
                false => DialError::NoRoute,
            });
        };
        match nodes.serve(&pod, port, far, from).await {
            true => Ok(near),
            false => Err(DialError::Refused),
        }
    }

    /// Connects to a port of a host: an address or the name of a service.
    pub(crate) async fn connect(
        &self,
        namespace: &str,
        own: Option<&str>,
        host: &str,
        port: u16,
    ) -> Result<DuplexStream, DialError> {
        let call = Call::new(own, port, Protocol::Tcp);
        let (address, port) = self.locate(namespace, host, &call).await?;
        self.dial(call.from, address, port).await
    }

    /// Returns the address and port that a call leads to.
    async fn locate(
        &self,
        namespace: &str,
        host: &str,
        call: &Call,
    ) -> Result<(Ipv4Addr, u16), DialError> {
        let is_local = host == "localhost" || host == "127.0.0.1";
        let address = match host.parse::<Ipv4Addr>() {
            _ if is_local => call.own.ok_or(DialError::Refused)?,
            Ok(address) => address,
            Err(_) => return self.resolve(namespace, host, call).await,
        };
        let to = (address, call.port);
        if self.0.pods.lock().contains_key(&address) {
            return Ok(to);
        }
        let nodes = self.nodes().ok_or(DialError::NoRoute)?;
        if !nodes.has_address(address) {
            return self.behind(address, call).await;
        }
        // Pods on the host network come before ports of the node.
        if call.protocol == Protocol::Tcp && self.has_listener(address, call.port) {
            return Ok(to);
        }
        let host = if is_local {
            Ipv4Addr::LOCALHOST
        } else {
            address
        };
        let behind = match nodes.behind_host_port((address, host), call) {
            None => self.behind_node_port(call).await,
            found => found,
        };
        Ok(behind.unwrap_or(to))
    }

    /// Reports whether a port has a listener.
    pub(crate) fn has_listener(&self, address: Ipv4Addr, port: u16) -> bool {
        self.0.listeners.lock().contains_key(&(address, port))
    }

    /// Returns the ports of an address that have listeners.
    pub(crate) fn listening(&self, address: Ipv4Addr) -> Vec<u16> {
        let listeners = self.0.listeners.lock();
        let own = listeners.keys().filter(|(at, _)| *at == address);
        let mut ports: Vec<u16> = own.map(|(_, port)| *port).collect();
        ports.sort_unstable();
        ports
    }

    /// Returns the node that an address is on: its own, or that of a pod.
    fn node_of(&self, address: Ipv4Addr) -> Option<Arc<str>> {
        let nodes = self.nodes()?;
        let pod = self.0.pods.lock().get(&address).cloned();
        let Some(pod) = pod else {
            return nodes.node_at(address);
        };
        let known = nodes.pods.lock().get(&pod).cloned()?;
        let node = known.state.lock().node.clone();
        Some(node)
    }

    /// Returns the next index for a round-robin choice of endpoints.
    fn next_turn(&self) -> usize {
        self.0.turns.fetch_add(1, Relaxed)
    }

    /// Connects to a port from outside the cluster.
    pub(crate) async fn enter(&self, address: IpAddr, port: u16) -> io::Result<DuplexStream> {
        let IpAddr::V4(address) = address else {
            return Err(DialError::NoRoute.into());
        };
        let gateway = Ipv4Addr::new(10, 244, 0, 1);
        Ok(self.dial(gateway, address, port).await?)
    }
}
