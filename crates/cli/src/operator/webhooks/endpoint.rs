//! [`Endpoint`]: the address on this machine at which an operator serves its webhooks.

use std::{
    ffi::OsString,
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::SystemTime,
};

use k8s_openapi::ByteString;
use kubewright_cluster::SelfSigned;
use kubewright_scaffold::Error;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

/// The beginning of the URLs of endpoints.
const SCHEME: &str = "https://127.0.0.1:";

/// An address on this machine, and a certificate for it.
pub(crate) struct Endpoint {
    pub(super) address: SocketAddr,
    /// The directory with the certificate.
    directory: PathBuf,
    pub(super) made: SelfSigned,
}

impl Endpoint {
    /// Chooses an address, and writes a certificate for it and for a Service to a directory.
    pub(super) async fn prepare(directory: &Path, service: Option<&str>) -> Result<Self, Error> {
        let wrong = |e: io::Error| Error::io("make", directory, &e);
        fs::create_dir_all(directory).map_err(wrong)?;
        let address = free_address().await.map_err(|e| {
            Error::new(
                format_args!("no free port: {e}"),
                "stop a process that listens, and retry",
            )
        })?;
        let names = ["127.0.0.1", "localhost"].into_iter().chain(service);
        let made = SelfSigned::generate(names, SystemTime::now())
            .map_err(|e| Error::new(e, "check the name of the operator"))?;
        let written = made.write_to(directory);
        written.map_err(|e| Error::io("write", directory, &e))?;
        Ok(Self {
            address,
            directory: directory.to_owned(),
            made,
        })
    }

    /// Returns the flags that make the operator serve the endpoint: those of `webhook` or of `apiserver`.
    pub(super) fn flags(&self, server: &str) -> Vec<OsString> {
        vec![
            format!("--{server}-bind-address").into(),
            self.address.to_string().into(),
            format!("--{server}-cert-path").into(),
            self.directory.clone().into(),
        ]
    }

    /// Returns the authority of the certificate, as objects have it.
    pub(super) fn ca_bundle(&self) -> ByteString {
        ByteString(self.made.ca_pem.clone().into_bytes())
    }

    /// Returns the `clientConfig` for a path.
    pub(super) fn client_config(&self, path: &str) -> Value {
        json!({
            "url": format!("{SCHEME}{}{path}", self.address.port()),
            "caBundle": self.ca_bundle(),
        })
    }

    /// Returns the URL without a path.
    pub(crate) fn url(&self) -> String {
        format!("{SCHEME}{}", self.address.port())
    }

    /// Reports whether something listens at the address.
    pub(crate) async fn is_served(&self) -> bool {
        TcpStream::connect(self.address).await.is_ok()
    }
}

/// Reports whether a URL is that of an endpoint, perhaps of a program that is gone.
pub(super) fn is_local(url: &str) -> bool {
    url.starts_with(SCHEME)
}

/// Returns a loopback address that is free at the moment.
async fn free_address() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    listener.local_addr()
}
