//! The same server behind a cluster: the cluster authenticates and authorizes, and leads requests here.

use std::error::Error;

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright::{
    extension_apiserver::{Registration, ServerFlags},
    webhook::ManagedCertificates,
};

/// The Service in front of the server.
const NAMESPACE: &str = "sky-system";
const SERVICE: &str = "sky";

/// Registers the server and serves until `stop` completes.
pub(crate) async fn run(
    flags: &ServerFlags,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), Box<dyn Error>> {
    let config = match &flags.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path)?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => Config::incluster()?,
    };
    let client = Client::try_from(config)?;
    let delegation = flags.delegation(client.clone()).await?;
    let store = flags.store.open(SERVICE).await?;
    let kinds = crate::kinds().default_store(store.store());
    let server = flags.configure(kinds)?.delegate(&delegation).build()?;
    let listener = tokio::net::TcpListener::bind(flags.address()).await?;
    println!("serving at https://{}", listener.local_addr()?);
    let mut registration = Registration::new(NAMESPACE, SERVICE);
    if let Some(certificate) = &flags.tls_cert_file {
        // A certificate that signed itself is its own authority.
        registration = registration.ca_bundle(std::fs::read(certificate)?);
    }
    if flags.kubeconfig.is_some() {
        // Outside the cluster, the Service leads to this machine.
        registration = registration.external(listener.local_addr()?);
    }
    registration.apply(&client, server.api()).await?;
    let managed = ManagedCertificates::new(client.clone(), NAMESPACE, SERVICE);
    let certificates = flags.certificates(managed.api_service("v1.sky.example.com"))?;
    tokio::select! {
        served = server.serve_tls(listener, &certificates, &delegation, stop) => served?,
        () = store.maintain() => {}
    }
    Ok(())
}
