//! [`Console`]: the listener, its token, and shutdown.

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use kubewright_cluster::Lab;
use kubewright_serve::{Limits, Server};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::{
    guard::Guard,
    lab::Laboratory,
    metrics::Sampler,
    operator::LocalOperator,
    own::Own,
    service::{Pages, Shared},
    token::Token,
};

/// The maximum number of connections. A browser opens six for each host.
const CONNECTIONS: usize = 256;

/// A console on a loopback address. Dropping it aborts all connections.
///
/// See the [crate documentation](crate) for an example.
pub struct Console {
    address: SocketAddr,
    url: String,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

/// Builds a [`Console`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_cluster::Cluster;
/// use kubewright_console::{Console, ConsoleError};
///
/// let cluster = Cluster::builder().start().await.unwrap();
/// let builder = Console::builder(cluster.client()).title("staging").local();
/// // Other machines cannot be let in.
/// let refused = builder.start("0.0.0.0:0".parse().unwrap()).await;
/// assert!(matches!(refused, Err(ConsoleError::NotLoopback(_))));
/// # });
/// ```
#[must_use = "nothing listens before `start`"]
pub struct ConsoleBuilder {
    client: kube::Client,
    title: String,
    is_local: bool,
    lab: Option<Lab>,
    operator: Option<Arc<dyn LocalOperator>>,
    perturbations: Option<PathBuf>,
    sessions: Option<PathBuf>,
    directory: Option<PathBuf>,
}

/// An error of starting a console.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// The address is reachable from other machines, which is not supported since the console has no TLS.
    #[error("{0} is not a loopback address: the console is for this machine only")]
    NotLoopback(SocketAddr),
    /// The address could not be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        #[source]
        source: io::Error,
    },
}

impl Console {
    /// Returns a builder of a console for the cluster of a client. The console acts as the client's user.
    pub fn builder(client: kube::Client) -> ConsoleBuilder {
        ConsoleBuilder {
            client,
            title: "kubewright".to_owned(),
            is_local: false,
            lab: None,
            operator: None,
            perturbations: None,
            sessions: None,
            directory: None,
        }
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL. The token is in its fragment, which browsers do not send.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops listening, ends the streams of open tabs, and waits for the requests in flight.
    pub async fn stop(mut self) {
        self.stop.take();
        if let Some(task) = self.task.take() {
            // The runtime has already reported a panic of the task.
            let _ = task.await;
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

impl ConsoleBuilder {
    /// Sets the title of the pages (default: `kubewright`).
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Declares that the cluster runs in this process and ends with it, so that pages delete without asking for confirmation.
    pub fn local(mut self) -> Self {
        self.is_local = true;
        self
    }

    /// Adds the page of a lab, which injects faults into the cluster, moves its clock, and forks it. The console's client should be
    /// the cluster's [direct one](kubewright_cluster::Cluster::direct_client), which faults do not affect.
    pub fn lab(mut self, lab: Lab) -> Self {
        self.lab = Some(lab);
        self
    }

    /// Shows the results of perturbed tests that are saved in a directory: see `Perturb::save` of `kubewright-testing`.
    pub fn perturbations(mut self, directory: impl Into<PathBuf>) -> Self {
        self.perturbations = Some(directory.into());
        self
    }

    /// Plots the metrics of an operator, and adds buttons that pause its controllers and enqueue keys. The operator belongs to this
    /// program: commands are not sent to others.
    pub fn operator(mut self, operator: Arc<dyn LocalOperator>) -> Self {
        self.operator = Some(operator);
        self
    }

    /// Shows the sessions that [`save_session`](crate::save_session) has saved in a directory.
    pub fn sessions(mut self, directory: impl Into<PathBuf>) -> Self {
        self.sessions = Some(directory.into());
        self
    }

    /// Reads the files of the pages from a directory instead of the program, so that they can be changed without a build.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Listens on a loopback address. The system chooses the port if it is 0.
    ///
    /// # Errors
    ///
    /// Fails if the address is not a loopback address, or cannot be bound.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub async fn start(self, address: SocketAddr) -> Result<Console, ConsoleError> {
        if !address.ip().is_loopback() {
            return Err(ConsoleError::NotLoopback(address));
        }
        let failed = |source| ConsoleError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let token = Token::generate();
        let url = format!("http://{address}/#t={}", token.as_str());
        let own = Arc::new(Own {
            lab: self.lab.map(|lab| Laboratory::new(lab, &self.title)),
            metrics: Sampler::new(self.client.clone(), self.operator.clone()),
            client: self.client,
            title: self.title,
            is_local: self.is_local,
            operator: self.operator,
            perturbations: self.perturbations,
            sessions: self.sessions,
        });
        let pages = Pages::new(Shared {
            guard: Guard::new(address.ip(), token),
            hub: crate::stream::Hub::new(own.clone()),
            own,
            directory: self.directory,
        });
        let limits = Limits {
            max_connections: CONNECTIONS,
            grace_period: Duration::from_secs(2),
            write_timeout: Duration::from_secs(20),
            max_header_bytes: 64 << 10,
            ..Limits::default()
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            // A message and a dropped sender both mean shutdown.
            let _ = stopped.await;
        };
        let server = Server::new(listener).limits(limits);
        let task = tokio::spawn(server.serve(Arc::new(pages).service(), shutdown));
        Ok(Console {
            address,
            url,
            stop: Some(stop),
            task: Some(task),
        })
    }
}
