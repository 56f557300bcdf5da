//! The kinds of a cluster, found by any of their names: `captain`, `captains`, `cap`, `captains.crew.example.com`.

use kube::{
    Api, Client,
    core::{ApiResource, DynamicObject, GroupVersion},
};
use kubewright_client::DiscoveryClient;
use kubewright_scaffold::Error;

use crate::{cluster::refused, project::project};

/// A kind of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    names: Vec<String>,
    verbs: Vec<String>,
}

/// All kinds, each in the version that the cluster prefers.
pub(crate) struct Kinds {
    all: Vec<Kind>,
    /// The API groups of the current project.
    own: Vec<String>,
}

impl Kinds {
    pub(crate) async fn of(client: &Client) -> Result<Self, Error> {
        let found = DiscoveryClient::new(client.clone())
            .discover()
            .await
            .map_err(|e| refused("discover the kinds of the cluster", &e.into()))?;
        let mut kinds = Vec::new();
        for list in found.preferred() {
            let Ok(version) = list.group_version.parse::<GroupVersion>() else {
                continue;
            };
            for resource in &list.resources {
                if resource.name.contains('/') {
                    continue;
                }
                let gvk = version.clone().with_kind(&resource.kind);
                let mut names = vec![
                    resource.name.clone(),
                    resource.singular_name.clone(),
                    resource.kind.to_lowercase(),
                ];
                names.extend(resource.short_names.clone().unwrap_or_default());
                kinds.push(Kind {
                    resource: ApiResource::from_gvk_with_plural(&gvk, &resource.name),
                    namespaced: resource.namespaced,
                    names,
                    verbs: resource.verbs.clone(),
                });
            }
        }
        let own = project().map(|it| it.own_groups()).unwrap_or_default();
        Ok(Self { all: kinds, own })
    }

    /// Finds a kind by name, optionally with its group: `captains.crew.example.com`. If there are several, the
    /// project's own kind wins.
    pub(crate) fn find(&self, word: &str) -> Result<&Kind, Error> {
        let word = word.to_lowercase();
        let (name, group) = word.split_once('.').unwrap_or((word.as_str(), ""));
        let of_group = |kind: &&Kind| group.is_empty() || kind.resource.group == group;
        let found: Vec<&Kind> = self
            .all
            .iter()
            .filter(|kind| kind.names.iter().any(|known| known == name))
            .filter(of_group)
            .collect();
        let own = found
            .iter()
            .find(|kind| self.own.contains(&kind.resource.group));
        own.or(found.first()).copied().ok_or_else(|| {
            Error::new(
                format_args!("the cluster does not serve a kind {word:?}"),
                "install its CRD with `kubewright install`, or check the name",
            )
        })
    }

    /// Returns the kinds whose objects can be listed and deleted, and so can be owned.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Kind> {
        let can = |kind: &Kind, verb: &str| kind.verbs.iter().any(|known| known == verb);
        self.all
            .iter()
            .filter(move |kind| can(kind, "list") && can(kind, "delete"))
    }
}

impl Kind {
    /// Returns the API of the kind's objects, in the namespace if the kind is namespaced.
    pub(crate) fn api(&self, client: &Client, namespace: Option<&str>) -> Api<DynamicObject> {
        match (self.namespaced, namespace) {
            (false, _) => Api::all_with(client.clone(), &self.resource),
            (true, Some(namespace)) => {
                Api::namespaced_with(client.clone(), namespace, &self.resource)
            }
            (true, None) => Api::default_namespaced_with(client.clone(), &self.resource),
        }
    }
}
