//! Replicas of an operator whose webhooks are served over TLS, and a client that calls them as an API server does.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};

use jiff::{SignedDuration, fmt::rfc2822, tz::TimeZone};
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_apiserver::Clock as _;
use kubewright_testing::TestCluster;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    time_provider::TimeProvider,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use super::{CONFIGURATION, NAMESPACE, SERVICE};
use crate::{Certificates, ManagedCertificates, WebhookServer, Webhooks, certificates::Presented};

/// The time limit of a call, by the clock of the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A replica that serves a validator. It is stopped when it is dropped.
pub(super) struct Replica {
    address: SocketAddr,
    /// The time at which it last read the Secret, in seconds since 1970.
    looked: Arc<AtomicI64>,
    /// The lead of its clock, in seconds.
    off: i64,
    presented: Arc<OnceLock<Arc<Presented>>>,
    serving: JoinHandle<()>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Replica {
    /// Starts a replica whose clock is off by some hours. If it is off by more than a day, the server says what time it is.
    pub(super) async fn start(cluster: &TestCluster, interval: Duration, off: i64) -> Self {
        let clock = cluster.clock().clone();
        let looked = Arc::new(AtomicI64::new(clock.now().as_second()));
        let look = looked.clone();
        let client = match off.abs() > 24 {
            // As over a connection.
            true => dated(cluster),
            false => cluster.client(),
        };
        let managed = ManagedCertificates::new(client, NAMESPACE, SERVICE)
            .validating_configuration(CONFIGURATION)
            .interval(interval)
            .clock(Arc::new(move || {
                // The clock is read with each read of the Secret.
                look.store(clock.now().as_second(), Relaxed);
                clock.now() + SignedDuration::from_hours(off)
            }));
        let webhooks = Webhooks::builder().validator(|_: &ConfigMap| Ok(()));
        let server = WebhookServer::new(webhooks.build().unwrap(), Certificates::managed(managed));
        let presented = server.presented.clone();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = async move {
            let served = server.serve(listener, std::future::pending()).await;
            served.unwrap();
        };
        Self {
            address,
            looked,
            off: off * 3600,
            presented,
            serving: tokio::spawn(serving),
        }
    }

    /// Waits until it has a certificate.
    pub(super) async fn ready(&self) {
        while self.presented.get().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Reports whether it is ready, where the server has this time.
    pub(super) fn is_ready(&self, server: i64) -> bool {
        let presented = self.presented.get();
        presented.is_some_and(|it| it.check(server + self.off).is_ok())
    }

    /// Returns the time at which it last read the Secret.
    pub(super) fn looked(&self) -> i64 {
        self.looked.load(Relaxed)
    }

    /// Sends a review on a new connection, and returns the certificate that the replica presented. Panics unless a client with
    /// this bundle trusts the certificate at that time, and the review is allowed.
    pub(super) async fn review(&self, bundle: &[u8], now: i64) -> Vec<u8> {
        let config = Arc::new(trusting(bundle, now));
        let address = self.address;
        // The virtual clock stands still until the response arrives, because the call blocks.
        let call = tokio::task::spawn_blocking(move || call(address, config).unwrap());
        call.await.unwrap()
    }
}

/// Returns a client that gets the time of the cluster with each response.
fn dated(cluster: &TestCluster) -> kube::Client {
    let (clock, inner) = (cluster.clock().clone(), cluster.client());
    let service = tower::service_fn(move |request| {
        let (clock, inner) = (clock.clone(), inner.clone());
        async move {
            let mut response = inner.send(request).await?;
            let now = rfc2822::to_string(&clock.now().to_zoned(TimeZone::UTC)).unwrap();
            let headers = response.headers_mut();
            headers.insert(http::header::DATE, now.parse().unwrap());
            Ok::<_, kube::Error>(response)
        }
    });
    kube::Client::new(service, NAMESPACE)
}

/// A clock that stands still.
#[derive(Debug)]
struct At(UnixTime);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

/// Returns the configuration of a client that trusts a bundle, and whose clock shows this time.
fn trusting(bundle: &[u8], now: i64) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle) {
        roots.add(authority.unwrap()).unwrap();
    }
    let now = Duration::from_secs(u64::try_from(now).unwrap());
    let clock = At(UnixTime::since_unix_epoch(now));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_details(provider, Arc::new(clock))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

fn call(address: SocketAddr, config: Arc<ClientConfig>) -> io::Result<Vec<u8>> {
    let socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let host = format!("{SERVICE}.{NAMESPACE}.svc");
    let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
    let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "1", "operation": "CREATE", "object": {"metadata": {"name": "a"}}},
    })
    .to_string();
    let head = format!(
        "POST /validate--v1-configmap HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        review.len()
    );
    stream.write_all((head + &review).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let allowed = head.starts_with("HTTP/1.1 200") && body["response"]["allowed"] == true;
    let leaf = stream.conn.peer_certificates().and_then(<[_]>::first);
    match leaf.filter(|_| allowed) {
        Some(leaf) => Ok(leaf.to_vec()),
        None => Err(io::Error::other(answer)),
    }
}
