//! Migration of stored objects: rewrites all objects of a kind in its storage version.
//!
//! A server keeps the versions in which objects of a kind may be stored in `status.storedVersions` of its CRD, and does not let
//! any of them be removed. After all objects have been written once more, only the storage version is left.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kubewright_client::ErrorExt;
use kubewright_scaffold::Error;
use serde::Serialize;

use super::refused;

/// The number of objects that are listed at a time.
const PAGE: u32 = 500;

/// The result for one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Migrated {
    /// The name of the CRD.
    pub(crate) name: String,
    /// The storage version.
    pub(crate) storage: String,
    /// The versions in which no object is stored any more.
    pub(crate) released: Vec<String>,
    /// The number of objects that were rewritten.
    pub(crate) objects: usize,
}

/// Rewrites all objects of a kind in its storage version, and releases the other versions.
pub(crate) async fn migrate(client: &Client, name: &str) -> Result<Migrated, Error> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let doing = format!("get {name}");
    let definition = definitions
        .get(name)
        .await
        .map_err(|e| refused(doing, &e))?;
    let versions = &definition.spec.versions;
    let storage = versions.iter().find(|version| version.storage);
    let storage = storage
        .map(|version| version.name.clone())
        .unwrap_or_default();
    let status = definition.status.as_ref();
    let stored = status.and_then(|status| status.stored_versions.clone());
    let released: Vec<String> = stored
        .into_iter()
        .flatten()
        .filter(|version| *version != storage)
        .collect();
    let mut migrated = Migrated {
        name: name.to_owned(),
        storage: storage.clone(),
        released,
        objects: 0,
    };
    if migrated.released.is_empty() {
        return Ok(migrated);
    }
    let spec = &definition.spec;
    let gvk = GroupVersionKind::gvk(&spec.group, &storage, &spec.names.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &spec.names.plural);
    migrated.objects = rewrite(client, &resource, spec.scope == "Namespaced").await?;
    let mut definition = definition;
    if let Some(status) = &mut definition.status {
        status.stored_versions = Some(vec![storage]);
    }
    // The resourceVersion is that from before the objects were rewritten, so a storage version that moved is a conflict.
    definitions
        .replace_status(name, &PostParams::default(), &definition)
        .await
        .map_err(|e| refused(format_args!("release the versions of {name}"), &e))?;
    Ok(migrated)
}

/// Writes all objects as they are. Returns their number.
async fn rewrite(
    client: &Client,
    resource: &ApiResource,
    namespaced: bool,
) -> Result<usize, Error> {
    let all: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let mut page = ListParams::default().limit(PAGE);
    let mut count = 0;
    loop {
        let doing = format!("list {}", resource.plural);
        let list = all.list(&page).await.map_err(|e| refused(doing, &e))?;
        for object in &list.items {
            let name = object.name_any();
            let api = match object.namespace().filter(|_| namespaced) {
                Some(namespace) => Api::namespaced_with(client.clone(), &namespace, resource),
                None => all.clone(),
            };
            match api.replace(&name, &PostParams::default(), object).await {
                Ok(_) => count += 1,
                // Another writer was faster, which comes to the same; or the object is gone.
                Err(error) if error.is_conflict() || error.is_not_found() => {}
                Err(error) => {
                    let doing = format!("rewrite {} {name}", resource.kind.to_lowercase());
                    return Err(refused(doing, &error));
                }
            }
        }
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page.continue_token = Some(token),
            None => return Ok(count),
        }
    }
}
