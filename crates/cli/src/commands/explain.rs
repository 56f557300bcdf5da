//! `kubewright explain`: what a kind and its fields are for, from the OpenAPI document of a cluster, in kubectl's form.
//!
//! The cluster is the one that the flags name, that of a running `dev`, or that of the kubeconfig. With `--offline` it is one in this
//! process, which knows the built-in kinds, and those of the project if there is one.

mod schema;
mod text;

use clap::Args;
use kube::Client;
use kubewright_builtin_controllers::Controllers;
use kubewright_client::DiscoveryClient;
use kubewright_machinery::gvk::GroupVersion;
use kubewright_scaffold::Refusal;
use serde_json::Value;

use super::{
    apply::{Applier, Report},
    cluster::{Cluster, one_line},
    kinds::Kinds,
    operator::{OperatorFlags, definitions},
    plane::Plane,
    planned::{Output, project, say},
    session::or_session,
};
use schema::Schema;

/// How long a definition may take to be usable, in this process.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Explain {
    /// The kind, and a field of it: captain.spec.ship
    what: String,

    /// Names the fields of fields too.
    #[arg(long)]
    recursive: bool,

    /// Asks a cluster in this process: it knows the built-in kinds, and those of the project.
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
        let plane = match self.offline {
            true => Some(Plane::start(Controllers::none()).await?),
            false => None,
        };
        let client = match &plane {
            Some(plane) => {
                self.install(plane.client()).await?;
                plane.client()
            }
            None => or_session(&self.cluster).client().await?,
        };
        let mut fields = self.what.split('.').map(str::to_owned);
        let word = fields.next().unwrap_or_default();
        let fields: Vec<String> = fields.collect();
        let (document, kind) = document(&client, &word).await?;
        let unknown = || {
            Refusal::new(
                format_args!("the cluster does not describe {word:?}"),
                "ask for another version of it, or for the definition itself",
            )
        };
        let root = Schema::of_kind(&document, &kind).ok_or_else(unknown)?;
        let found = root.find(&fields).map_err(|field| {
            Refusal::new(
                format_args!("field {field:?} does not exist in {word}"),
                format_args!("see what it has with `kubewright explain {word}`"),
            )
        })?;
        match self.output.is_json() {
            true => self.output.value(&text::value(&kind, &fields, &found)),
            false => say(&text::page(&kind, &fields, &found, self.recursive)),
        }
    }

    /// Brings the kinds of the project to the cluster in this process.
    async fn install(&self, client: Client) -> anyhow::Result<()> {
        if project().is_err() {
            return Ok(());
        }
        let described = self.operator.described(self.output.is_json())?;
        let report = Report::silent();
        Applier::new(client, &described.name, PATIENCE, &report)
            .apply(definitions(&described)?)
            .await?;
        Ok(())
    }
}

/// Which kind it is: group, version, kind.
pub(super) struct Named {
    group: String,
    version: String,
    kind: String,
}

async fn document(client: &Client, word: &str) -> Result<(Value, Named), Refusal> {
    let kinds = Kinds::of(client).await?;
    let resource = &kinds.find(word)?.resource;
    let version = GroupVersion::new(&resource.group, &resource.version);
    let document = DiscoveryClient::new(client.clone())
        .openapi_v3(&version)
        .await
        .map_err(|e| {
            Refusal::new(
                format_args!("the cluster does not describe {word:?}: {}", one_line(&e)),
                "try again, or ask another cluster",
            )
        })?;
    let named = Named {
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
    };
    Ok((document, named))
}
