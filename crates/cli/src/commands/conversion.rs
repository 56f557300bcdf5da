//! [`Endpoint`]: how a cluster on this machine has objects converted by an operator that runs here.
//!
//! The operator serves `/convert` on an address of this machine; a certificate is made for it, and the definitions tell the
//! cluster of both. A cluster elsewhere cannot call this machine: there, versions differ in name alone.

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
use kubewright_apiserver::serve::certs::SelfSigned;
use kubewright_operator::Model;
use kubewright_scaffold::Refusal;
use serde_json::json;
use tokio::net::TcpListener;

use super::up::write_private;

/// Where an operator converts.
pub(crate) struct Endpoint {
    address: SocketAddr,
    /// With the certificate.
    directory: PathBuf,
    ca_pem: String,
}

impl Endpoint {
    /// An address, and a certificate for it in a directory.
    pub(crate) async fn prepare(directory: &Path) -> anyhow::Result<Self> {
        let wrong = |e: io::Error| Refusal::io("make", directory, &e);
        fs::create_dir_all(directory).map_err(wrong)?;
        let address = free_address().await.map_err(|e| {
            Refusal::new(
                format_args!("no port is free on this machine: {e}"),
                "end something that listens, and try again",
            )
        })?;
        let made = SelfSigned::generate(["127.0.0.1", "localhost"], SystemTime::now())?;
        write_private(&directory.join("tls.crt"), &made.certificate_pem)?;
        write_private(&directory.join("tls.key"), &made.key_pem)?;
        Ok(Self {
            address,
            directory: directory.to_owned(),
            ca_pem: made.ca_pem,
        })
    }

    /// The flags that have the operator convert there.
    pub(crate) fn flags(&self) -> Vec<OsString> {
        vec![
            "--webhook-bind-address".into(),
            self.address.to_string().into(),
            "--webhook-cert-path".into(),
            self.directory.clone().into(),
        ]
    }

    /// Has the definitions of the operator's kinds tell the cluster where to ask.
    pub(crate) fn tell(&self, model: &mut Model) {
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

/// Has a cluster convert by name alone again, if a definition has it call a program of this machine: that may be gone, and
/// objects that need to be converted can then be neither read nor deleted.
pub(crate) async fn forget(client: &Client, definition: &str) -> kube::Result<()> {
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

/// What a cluster does with versions while nobody has told it where to ask.
pub(crate) fn note(model: &Model) -> Option<String> {
    let names = model.conversions.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "note: a cluster has objects of {names} converted between versions while `kubewright dev` or `kubewright run` \
             runs the operator beside it; otherwise fields that the versions do not share are dropped"
        )
    })
}

/// An address that nobody listens on at this moment.
async fn free_address() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    listener.local_addr()
}
