//! [`Endpoint`]: a test cluster on a socket, for kubectl and for clients in other languages.

use std::{io, net::SocketAddr, time::SystemTime};

use kubewright_apiserver::serve::{ServeOptions, certs::SelfSigned, kubeconfig::Kubeconfig, serve};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::faults::FaultyServer;

/// A cluster on a loopback port. Dropped, it stops listening.
pub struct Endpoint {
    address: SocketAddr,
    kubeconfig: Kubeconfig,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

impl Endpoint {
    pub(crate) async fn start(service: FaultyServer) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let certificates = SelfSigned::generate(["127.0.0.1", "localhost"], SystemTime::now())
            .map_err(io::Error::other)?;
        let tls = certificates.server_config().map_err(io::Error::other)?;
        let mut kubeconfig = Kubeconfig::new("kubewright", format!("https://{address}"));
        kubeconfig.ca_pem = Some(certificates.ca_pem.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let shutdown = async {
                // Both a message and a dropped sender mean the end.
                let _ = stopped.await;
            };
            if let Err(e) = serve(
                listener,
                Some(tls),
                service,
                ServeOptions::default(),
                shutdown,
            )
            .await
            {
                tracing::error!("the test cluster stopped serving: {e}");
            }
        });
        Ok(Self {
            address,
            kubeconfig,
            stop: Some(stop),
            task: Some(task),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:…`
    pub fn url(&self) -> &str {
        &self.kubeconfig.server
    }

    /// A kubeconfig as YAML, for `kubectl --kubeconfig` and the like.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig.to_yaml()
    }

    /// Stops listening and waits until requests under way are answered.
    pub async fn stop(mut self) {
        self.stop.take();
        if let Some(task) = self.task.take() {
            // A panic of the task has been reported by the runtime already.
            let _ = task.await;
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}
