//! `/portForward`: connections to the ports of a pod.

use std::{io, net::Ipv4Addr, pin::pin, time::Duration};

use async_trait::async_trait;
use futures_util::future::{Either, select};
use http::StatusCode;
use kubewright_informer::Key;
use kubewright_streams::{Duplex, ForwardError, PortForward};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::Refused;
use crate::{
    image::hex,
    network::Network,
    nodes::{Known, Shared},
};

/// The time that one direction of a connection has after the end of the other.
const GRACE: Duration = Duration::from_secs(1);

/// The ports of a pod.
pub(super) struct Ports {
    network: Network,
    address: Ipv4Addr,
    /// The ID of the pod's sandbox.
    sandbox: String,
}

impl Shared {
    pub(super) fn forwarding(&self, key: &Key, known: &Known) -> Result<Ports, Refused> {
        let (address, has_sandbox, node) = {
            let state = known.state.lock();
            (state.ip, state.has_sandbox, state.node.clone())
        };
        let address = address.or_else(|| self.address_of(&node));
        let name = format!("{}_{}", key.name(), key.namespace().unwrap_or_default());
        let address = address.filter(|_| has_sandbox).ok_or_else(|| {
            let text = format!("pod not found ({name:?})");
            (StatusCode::INTERNAL_SERVER_ERROR, text)
        })?;
        Ok(Ports {
            network: self.network.clone(),
            address,
            sandbox: hex(&[&known.uid, "sandbox"]),
        })
    }
}

#[async_trait]
impl PortForward for Ports {
    async fn forward(&self, port: u16, connection: Duplex) -> Result<(), ForwardError> {
        let from = Ipv4Addr::LOCALHOST;
        let opened = self.network.dial(from, self.address, port).await;
        let opened = opened.map_err(|_| {
            let (id, short) = (&self.sandbox, &self.sandbox[..32]);
            ForwardError(format!(
                "error forwarding port {port} to pod {id}, uid : failed to execute portforward in network namespace \
                 \"/var/run/netns/cni-{short}\": failed to connect to localhost:{port} inside namespace \"{id}\", IPv4: dial tcp4 \
                 127.0.0.1:{port}: connect: connection refused IPv6 dial tcp6: address localhost: no suitable address found "
            ))
        })?;
        copied(connection, opened)
            .await
            .map_err(|error| ForwardError::new(port, error))
    }
}

/// Copies bytes in both directions. As in containerd, the end of one direction is soon that of the other, since a client of a
/// WebSocket cannot end its direction.
async fn copied(client: Duplex, pod: impl AsyncRead + AsyncWrite) -> io::Result<()> {
    let Duplex {
        mut input,
        mut output,
    } = client;
    let (mut from_pod, mut to_pod) = tokio::io::split(pod);
    let inward = pin!(async {
        tokio::io::copy(&mut input, &mut to_pod).await?;
        to_pod.shutdown().await
    });
    let outward = pin!(async {
        tokio::io::copy(&mut from_pod, &mut output).await?;
        output.shutdown().await
    });
    match select(inward, outward).await {
        Either::Left((ended, outward)) => ended.and(soon(outward).await),
        Either::Right((ended, inward)) => ended.and(soon(inward).await),
    }
}

async fn soon(direction: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let ended = tokio::time::timeout(GRACE, direction).await;
    ended.unwrap_or(Ok(()))
}
