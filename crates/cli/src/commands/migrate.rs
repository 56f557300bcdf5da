//! `kubewright migrate`: rewrites stored objects in the storage version of their kind.

use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, ResourceExt, api::ListParams};
use serde_json::json;

use crate::{
    cluster::{Cluster, migrate::migrate, refused},
    output::{Output, say},
    project::{project, session::or_session},
};

#[derive(Args)]
pub(crate) struct Migrate {
    /// Names of CRDs, e.g. captains.crew.example.com [default: those of the project's groups]
    #[arg(value_name = "CRD")]
    names: Vec<String>,

    #[command(flatten)]
    cluster: Cluster,

    #[command(flatten)]
    output: Output,
}

impl Migrate {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let client = or_session(&self.cluster).client().await?;
        let names = match self.names.is_empty() {
            true => of_project(&client).await?,
            false => self.names,
        };
        let mut all = Vec::new();
        for name in names {
            let migrated = migrate(&client, &name).await?;
            if !self.output.is_json() {
                let line = match migrated.released.is_empty() {
                    true => format!("{name}: nothing to do, stored as {}\n", migrated.storage),
                    false => format!(
                        "{name}: {} objects stored as {}; {} can be removed\n",
                        migrated.objects,
                        migrated.storage,
                        migrated.released.join(", ")
                    ),
                };
                say(&line)?;
            }
            all.push(migrated);
        }
        match self.output.is_json() {
            true => self.output.value(&json!(all)),
            false if all.is_empty() => {
                say("nothing to do: the cluster has no CRDs of this project\n")
            }
            false => Ok(()),
        }
    }
}

/// Returns the CRDs of the project that the cluster has.
async fn of_project(client: &Client) -> anyhow::Result<Vec<String>> {
    let groups = project()?.own_groups();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let list = definitions.list(&ListParams::default()).await;
    let list = list.map_err(|e| refused("list the CRDs", &e))?;
    let own = list
        .items
        .iter()
        .filter(|it| groups.contains(&it.spec.group));
    Ok(own.map(|definition| definition.name_any()).collect())
}
