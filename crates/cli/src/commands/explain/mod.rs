//! `kubewright explain`: documents a kind and its fields from a cluster's OpenAPI document, in the format of kubectl.
//!
//! The cluster is the one that the flags select, that of a running `dev`, or that of the kubeconfig. With `--offline`
//! it is a local one that has the built-in kinds and those of the project.

mod schema;
mod text;

use clap::Args;
use kube::Client;
use kubewright_client::DiscoveryClient;
use kubewright_cluster::Controllers;
use kubewright_machinery::gvk::GroupVersion;
use kubewright_scaffold::Error;
use serde_json::Value;

use schema::Schema;

use crate::{
    cluster::{
        Cluster,
        apply::{Applier, Report},
        kinds::Kinds,
        local::LocalCluster,
        one_line,
    },
    operator::{OperatorFlags, definitions},
    output::{Output, say},
    project::{project, session::or_session},
};

/// The time limit for a CRD to be established in the local cluster.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Explain {
    /// Kind or field to describe, e.g. captain.spec.ship
    what: String,

    /// Print the fields of fields too
    #[arg(long)]
    recursive: bool,

    /// Use a local cluster with the built-in kinds and those of the project
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    offline: bool,

    #[command(flatten)]
    operator: OperatorFlags,

    #[command(flatten)]
    cluster: Cluster,

    #[command(flatten)]
    output: Output,
}

impl Explain {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let local = match self.offline {
            true => {
                let builder =
                    kubewright_cluster::Cluster::builder().controllers(Controllers::none());
                Some(LocalCluster::start(builder).await?)
            }
            false => None,
        };
        let client = match &local {
            Some(local) => {
                self.install(local.client()).await?;
                local.client()
            }
            None => or_session(&self.cluster).client().await?,
        };
        let mut fields = self.what.split('.').map(str::to_owned);
        let word = fields.next().unwrap_or_default();
        let fields: Vec<String> = fields.collect();
        let (document, kind) = document(&client, &word).await?;
        let unknown = || {
            Error::new(
                format_args!("the cluster has no schema for {word:?}"),
                "try another version of the kind",
            )
        };
        let root = Schema::of_kind(&document, &kind).ok_or_else(unknown)?;
        let found = root.find(&fields).map_err(|field| {
            Error::new(
                format_args!("field {field:?} does not exist in {word}"),
                format_args!("run `kubewright explain {word}` to list its fields"),
            )
        })?;
        match self.output.is_json() {
            true => self.output.value(&text::value(&kind, &fields, &found)),
            false => say(&text::page(&kind, &fields, &found, self.recursive)),
        }
    }

    /// Installs the CRDs of the project into the local cluster.
    async fn install(&self, client: Client) -> anyhow::Result<()> {
        if project().is_err() {
            return Ok(());
        }
        let described = self.operator.described(self.output.is_json())?;
        let report = Report::silent();
        Applier::new(client, &described.name, TIMEOUT, &report)
            .apply(definitions(&described)?)
            .await?;
        Ok(())
    }
}

/// A kind with group and version.
pub(super) struct Named {
    group: String,
    version: String,
    kind: String,
}

async fn document(client: &Client, word: &str) -> Result<(Value, Named), Error> {
    let kinds = Kinds::of(client).await?;
    let resource = &kinds.find(word)?.resource;
    let version = GroupVersion::new(&resource.group, &resource.version);
    let document = DiscoveryClient::new(client.clone())
        .openapi_v3(&version)
        .await
        .map_err(|e| {
            Error::new(
                format_args!("the cluster has no schema for {word:?}: {}", one_line(&e)),
                "retry, or use another cluster",
            )
        })?;
    let named = Named {
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
    };
    Ok((document, named))
}
