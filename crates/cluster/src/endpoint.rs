//! [`Endpoint`]: a cluster on a socket.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::SystemTime,
};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use kubewright_serve::{BoxError, Limits, Server, Tls};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::{
    CertificateAuthority, CertifiedKey, Credential, Error, Kubeconfig, KubeconfigUser,
    ServingCertificate, cluster::Background, write_secret_file,
};

/// The maximum number of idle connections without an authenticated request, a tenth of all connections.
const MAX_UNAUTHENTICATED: usize = 1_000;

/// A cluster on a TCP socket, over TLS. Dropping it stops listening and aborts all connections.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_cluster::Cluster;
///
/// let cluster = Cluster::builder().start().await.unwrap();
/// let endpoint = cluster.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
/// assert!(endpoint.url().starts_with("https://127.0.0.1:"));
/// endpoint.stop().await;
/// # });
/// ```
pub struct Endpoint {
    address: SocketAddr,
    kubeconfig: Kubeconfig,
    ca_pem: String,
    tls: Tls,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
    _reload: Option<Background>,
}

/// The configuration of an endpoint.
pub(crate) struct Serving<'a> {
    /// The name of the cluster in the kubeconfig.
    pub(crate) name: &'a str,
    /// The credential of the kubeconfig.
    pub(crate) credential: Option<Credential>,
    pub(crate) certificate: &'a ServingCertificate,
    /// Signs the certificate if one has to be generated.
    pub(crate) authority: &'a CertificateAuthority,
    /// The authorities that are sent to clients to choose their certificate by.
    pub(crate) client_authorities: &'a [u8],
    /// Whether requests carry the address of their peer.
    pub(crate) peer_addresses: bool,
}

impl Endpoint {
    /// Serves on the listener.
    pub(crate) fn start<S, B>(
        listener: TcpListener,
        service: S,
        serving: Serving<'_>,
    ) -> Result<Self, Error>
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let address = local_address(&listener)?;
        let (certificate, ca_pem) = match serving.certificate.read()? {
            Some(given) => {
                let ca_pem = last_certificate(&given.certificate_pem).to_owned();
                (given, ca_pem)
            }
            None => {
                let own = serving
                    .authority
                    .sign_server(names(address), SystemTime::now())?;
                (own, serving.authority.certificate_pem().to_owned())
            }
        };
        let (chain, key) = (&certificate.certificate_pem, &certificate.key_pem);
        let tls = Tls::from_pem(chain.as_bytes(), key.as_bytes())?
            .request_client_certificates(serving.client_authorities)?;
        let mut kubeconfig =
            Kubeconfig::new(serving.name, format!("https://{}", reachable(address)));
        kubeconfig.ca_pem = Some(ca_pem.clone());
        kubeconfig.credential = serving.credential;
        let reload = match serving.certificate {
            files @ ServingCertificate::Files { .. } => {
                let current = files.clone().keep_current(tls.clone(), certificate);
                Some(Background::spawn(current))
            }
            _ => None,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            // A message and a dropped sender both mean shutdown.
            let _ = stopped.await;
        };
        let limits = Limits {
            max_unauthenticated: Some(MAX_UNAUTHENTICATED),
            ..Limits::default()
        };
        let mut server = Server::new(listener).tls(tls.clone()).limits(limits);
        if serving.peer_addresses {
            server = server.peer_addresses();
        }
        let task = tokio::spawn(server.serve(service, shutdown));
        Ok(Self {
            address,
            kubeconfig,
            ca_pem,
            tls,
            stop: Some(stop),
            task: Some(task),
            _reload: reload,
        })
    }

    /// Replaces the serving certificate. Existing connections keep the old one.
    ///
    /// # Errors
    ///
    /// Fails if the certificate is invalid; the old one is then kept.
    pub fn replace_certificate(&self, certificate: &CertifiedKey) -> Result<(), Error> {
        let (chain, key) = (&certificate.certificate_pem, &certificate.key_pem);
        let replaced = self
            .tls
            .replace_certificate(chain.as_bytes(), key.as_bytes());
        Ok(replaced?)
    }

    /// Adds a user to the kubeconfig, with a context of the same name. See [`Cluster::credential`](crate::Cluster::credential).
    pub fn add_user(&mut self, user: KubeconfigUser) {
        self.kubeconfig.others.push(user);
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for clients on this machine: `https://127.0.0.1:…`.
    pub fn url(&self) -> &str {
        &self.kubeconfig.server
    }

    /// Returns the PEM of the certificate authority that clients must trust.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Returns a kubeconfig as YAML, for `kubectl --kubeconfig` and other clients.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig.to_yaml()
    }

    /// Returns a kubeconfig with a single user and context.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use kubewright_cluster::Cluster;
    ///
    /// let cluster = Cluster::builder().listen("127.0.0.1:0".parse().unwrap()).start().await?;
    /// let web = cluster.credential(&"system:serviceaccount:shop:web".parse().unwrap()).await?;
    /// let kubeconfig = cluster.endpoint().unwrap().kubeconfig_of(web);
    /// assert_eq!(kubeconfig.namespace.as_deref(), Some("shop"));
    /// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
    /// ```
    pub fn kubeconfig_of(&self, user: KubeconfigUser) -> Kubeconfig {
        Kubeconfig {
            user: user.name.clone(),
            context: user.name,
            credential: Some(user.credential),
            namespace: user.namespace,
            others: Vec::new(),
            ..self.kubeconfig.clone()
        }
    }

    /// Writes the kubeconfig to a file that is readable only by its owner, since it contains a token.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        write_secret_file(path, self.kubeconfig())
    }

    /// Stops listening, ends open watches, and waits for requests in flight.
    pub async fn stop(mut self) {
        self.stop.take();
        if let Some(task) = self.task.take() {
            // The runtime has already reported a panic of the task.
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

/// Returns the names of a server that listens on an address.
fn names(address: SocketAddr) -> [String; 7] {
    let kubernetes = ["", ".default", ".default.svc", ".default.svc.cluster.local"];
    let [a, b, c, d] = kubernetes.map(|suffix| format!("kubernetes{suffix}"));
    let own = address.ip().to_string();
    [
        own,
        "127.0.0.1".to_owned(),
        "localhost".to_owned(),
        a,
        b,
        c,
        d,
    ]
}

/// Returns the last certificate of a chain, which is closest to the root.
fn last_certificate(chain: &str) -> &str {
    chain
        .rfind("-----BEGIN CERTIFICATE-----")
        .and_then(|at| chain.get(at..))
        .unwrap_or(chain)
}

/// Binds a listener.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|source| Error::Listen { address, source })
}

/// Returns the address of a listener, with the port that the system chose.
pub(crate) fn local_address(listener: &TcpListener) -> Result<SocketAddr, Error> {
    let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    listener.local_addr().map_err(|source| Error::Listen {
        address: unknown,
        source,
    })
}

/// Returns an address that a client on this machine can connect to.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    address
}
