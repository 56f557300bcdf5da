//! [`Endpoint`]: conversion of custom objects by an operator on this machine.
//!
//! The operator serves `/convert` on a loopback address, with a generated certificate; the CRDs hold the URL and the
//! CA. A cluster elsewhere cannot call this machine, so there only the apiVersion is changed.

use std::{
    ffi::OsString,
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::SystemTime,
};

use k8s_openapi::{
    ByteString, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use kubewright_cluster::SelfSigned;
use kubewright_operator::Model;
use kubewright_scaffold::Error;
use serde_json::json;
use tokio::net::TcpListener;

/// The conversion endpoint of an operator.
pub(crate) struct Endpoint {
    address: SocketAddr,
    /// The directory with the certificate.
    directory: PathBuf,
    ca_pem: String,
}

impl Endpoint {
    /// Chooses an address, and writes a certificate for it to a directory.
    pub(crate) async fn prepare(directory: &Path) -> anyhow::Result<Self> {
        let wrong = |e: io::Error| Error::io("make", directory, &e);
        fs::create_dir_all(directory).map_err(wrong)?;
        let address = free_address().await.map_err(|e| {
            Error::new(
                format_args!("no free port: {e}"),
                "stop a process that listens, and retry",
            )
        })?;
        let made = SelfSigned::generate(["127.0.0.1", "localhost"], SystemTime::now())?;
        let written = made.write_to(directory);
        written.map_err(|e| Error::io("write", directory, &e))?;
        Ok(Self {
            address,
            directory: directory.to_owned(),
            ca_pem: made.ca_pem,
        })
    }

    /// Returns the flags that make the operator serve the endpoint.
    pub(crate) fn flags(&self) -> Vec<OsString> {
        vec![
            "--webhook-bind-address".into(),
            self.address.to_string().into(),
            "--webhook-cert-path".into(),
            self.directory.clone().into(),
        ]
    }

    /// Sets the endpoint in the CRDs of the operator's kinds.
    pub(crate) fn configure(&self, model: &mut Model) {
        let conversion = json!({
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {
                    "url": format!("https://{}/convert", self.address),
                    "caBundle": ByteString(self.ca_pem.clone().into_bytes()),
                },
            },
        });
        for definition in &mut model.crds {
            let name = definition["metadata"]["name"].as_str();
            if name.is_some_and(|name| model.conversions.iter().any(|it| it == name)) {
                definition["spec"]["conversion"] = conversion.clone();
            }
        }
    }
}

/// Resets the conversion strategy to None if a CRD points to this machine. That program may be gone, and then objects
/// that need conversion can be neither read nor deleted.
pub(crate) async fn reset_conversion(client: &Client, definition: &str) -> kube::Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = api.get_opt(definition).await?;
    let conversion = found.and_then(|it| it.spec.conversion);
    let config = conversion.and_then(|it| it.webhook?.client_config);
    let url = config.and_then(|it| it.url).unwrap_or_default();
    if url.starts_with("https://127.0.0.1:") && url.ends_with("/convert") {
        let none = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
        api.patch(definition, &PatchParams::default(), &Patch::Merge(none))
            .await?;
    }
    Ok(())
}

/// Returns a note about kinds that are not converted while the operator does not run on this machine.
pub(crate) fn note(model: &Model) -> Option<String> {
    let names = model.conversions.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "note: a cluster has objects of {names} converted between versions while `kubewright dev` or `kubewright run` \
             runs the operator beside it; otherwise fields that the versions do not share are dropped"
        )
    })
}

/// Returns a loopback address that is free at the moment.
async fn free_address() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    listener.local_addr()
}
