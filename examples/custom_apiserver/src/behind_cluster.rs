//! The same server behind a cluster: the cluster authenticates and authorizes, and leads requests here.

use std::error::Error;

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright::{
    extension_apiserver::{Delegation, Registration, ServerFlags},
    webhook::{Certificates, ManagedCertificates},
};

/// The Service in front of the server.
const NAMESPACE: &str = "sky-system";
const SERVICE: &str = "sky";

/// Registers the server and serves until the program is interrupted.
pub(crate) async fn run(flags: &ServerFlags) -> Result<(), Box<dyn Error>> {
    let config = match &flags.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path)?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => Config::incluster()?,
    };
    let client = Client::try_from(config)?;
    let delegation = Delegation::new(client.clone()).await?;
    let delegation = delegation.always_allow(flags.always_allow_paths.clone());
    let server = crate::kinds().delegate(&delegation).build()?;
    let mut registration = Registration::new(NAMESPACE, SERVICE);
    let certificates = match (&flags.tls_cert_file, &flags.tls_private_key_file) {
        (Some(certificate), Some(key)) => {
            let certificate = std::fs::read(certificate)?;
            // A certificate that signed itself is its own authority.
            registration = registration.ca_bundle(&certificate);
            Certificates::pem(certificate, std::fs::read(key)?)
        }
        _ => {
            let managed = ManagedCertificates::new(client.clone(), NAMESPACE, SERVICE);
            Certificates::managed(managed.api_service("v1.sky.example.com"))
        }
    };
    registration.apply(&client, server.api()).await?;
    let listener = tokio::net::TcpListener::bind(flags.address()).await?;
    println!("serving at https://{}", listener.local_addr()?);
    let stop = crate::interrupted();
    server
        .serve_tls(listener, &certificates, &delegation, stop)
        .await?;
    Ok(())
}
