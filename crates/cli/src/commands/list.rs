//! `kubewright list`: the kinds of a project and their controllers.

use clap::Args;
use kubewright_scaffold::Resource;
use serde_json::json;

use crate::{
    output::{Output, say, table},
    project::project,
};

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    output: Output,
}

impl List {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let project = project()?;
        let full = |group: &str, api: bool| match api {
            true => project.full_group(group),
            false => group.to_owned(),
        };
        if self.output.is_json() {
            let resources: Vec<_> = project
                .resources
                .iter()
                .map(|one| {
                    json!({
                        "group": full(&one.group, one.api),
                        "version": one.version,
                        "kind": one.kind,
                        "plural": one.plural,
                        "namespaced": one.namespaced,
                        "api": one.api,
                        "controllers": one.controllers,
                        "webhooks": webhooks(one),
                        "aggregated": one.aggregated.as_ref().map(|it| it.data.name()),
                        "subresources": subresources(one),
                    })
                })
                .collect();
            return self.output.value(&json!({
                "name": project.name,
                "domain": project.domain,
                "resources": resources,
            }));
        }
        let rows: Vec<Vec<String>> = project
            .resources
            .iter()
            .map(|one| {
                let scope = if one.namespaced {
                    "Namespaced"
                } else {
                    "Cluster"
                };
                let source = if one.aggregated.is_some() {
                    format!("{} (aggregated)", one.types_path())
                } else if one.api {
                    one.types_path()
                } else {
                    "built in".to_owned()
                };
                vec![
                    one.kind.clone(),
                    full(&one.group, one.api),
                    one.version.clone(),
                    scope.to_owned(),
                    one.controllers.join(","),
                    webhooks(one).join(","),
                    source,
                ]
            })
            .collect();
        match rows.is_empty() {
            true => say("nothing yet; start with `kubewright create api`\n"),
            false => say(&table(
                &[
                    "KIND",
                    "GROUP",
                    "VERSION",
                    "SCOPE",
                    "CONTROLLERS",
                    "WEBHOOKS",
                    "TYPES",
                ],
                &rows,
            )),
        }
    }
}

/// Returns the scaffolded subresources of a kind.
fn subresources(resource: &Resource) -> Vec<&str> {
    let of_kind = resource
        .aggregated
        .iter()
        .flat_map(|it| it.subresources.keys());
    of_kind.map(String::as_str).collect()
}

/// Returns the webhooks of a kind, in the words of kubebuilder's `PROJECT`.
fn webhooks(resource: &Resource) -> Vec<&'static str> {
    let webhooks = &resource.webhooks;
    let all = [
        ("defaulting", webhooks.defaulting),
        ("validation", webhooks.validation),
        ("conversion", !webhooks.spokes.is_empty()),
    ];
    let present = all.into_iter().filter(|(_, present)| *present);
    present.map(|(name, _)| name).collect()
}
