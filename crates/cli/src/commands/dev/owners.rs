//! [`Owners`]: the objects of the operator that others belong to.

use std::{collections::HashMap, sync::Mutex, sync::PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Api, Client, ResourceExt,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};

/// The longest chain of owners that is followed: CronJob, Job, Pod.
const DEPTH: usize = 4;

/// The number of owners that are remembered.
const REMEMBERED: usize = 10_000;

/// Finds the objects of the operator's groups that others belong to, directly or through Deployments, Jobs and the like.
pub(super) struct Owners {
    client: Client,
    groups: Vec<String>,
    /// The object of the operator above each owner, by the UID of the owner.
    known: Mutex<HashMap<String, Option<String>>>,
}

impl Owners {
    pub(super) fn new(client: Client, groups: Vec<String>) -> Self {
        Self {
            client,
            groups,
            known: Mutex::default(),
        }
    }

    /// Returns whether a group is one of the operator's.
    pub(super) fn is_own(&self, api_version: &str) -> bool {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.groups.iter().any(|ours| ours == group)
    }

    /// Returns the object of the operator that an object with these references belongs to: `webapp/shop`.
    pub(super) async fn of(
        &self,
        namespace: &str,
        references: Option<&[OwnerReference]>,
    ) -> Option<String> {
        let mut owner = controller(references)?;
        let mut passed = Vec::new();
        let mut found = None;
        for _ in 0..DEPTH {
            if self.is_own(&owner.api_version) {
                found = Some(format!("{}/{}", owner.kind.to_lowercase(), owner.name));
                break;
            }
            if let Some(known) = self.remembered(&owner.uid) {
                found = known;
                break;
            }
            // An owner that cannot be read is looked up again for the next object.
            let above = self.read(namespace, &owner).await?;
            passed.push(owner.uid);
            match controller(above.metadata.owner_references.as_deref()) {
                Some(next) => owner = next,
                None => break,
            }
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > REMEMBERED {
            known.clear();
        }
        known.extend(passed.into_iter().map(|uid| (uid, found.clone())));
        found
    }

    /// Returns the object of the operator that an object belongs to, which is read.
    pub(super) async fn of_named(
        &self,
        namespace: &str,
        api_version: &str,
        kind: &str,
        name: &str,
    ) -> Option<String> {
        let reference = OwnerReference {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            ..OwnerReference::default()
        };
        let object = self.object(namespace, &reference).await?;
        let references = object.metadata.owner_references.as_deref();
        self.of(namespace, references).await
    }

    fn remembered(&self, uid: &str) -> Option<Option<String>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(uid).cloned()
    }

    async fn read(&self, namespace: &str, owner: &OwnerReference) -> Option<DynamicObject> {
        let object = self.object(namespace, owner).await;
        object.filter(|object| object.uid().as_deref() == Some(owner.uid.as_str()))
    }

    async fn object(&self, namespace: &str, owner: &OwnerReference) -> Option<DynamicObject> {
        let (group, version) = owner
            .api_version
            .split_once('/')
            .unwrap_or(("", &owner.api_version));
        // Only kinds whose resource has the regular name are between an operator's object and its pods.
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &owner.kind));
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, &resource);
        api.get_opt(&owner.name).await.ok().flatten()
    }
}

fn controller(references: Option<&[OwnerReference]>) -> Option<OwnerReference> {
    let references = references.unwrap_or_default().iter();
    let mut controllers = references.filter(|owner| owner.controller == Some(true));
    controllers.next().cloned()
}
