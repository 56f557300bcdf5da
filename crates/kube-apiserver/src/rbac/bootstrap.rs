//! Writes the policy of a new cluster, and adds its missing parts to an existing one.

use std::sync::Arc;

use http::Method;
use kubewright_apiserver::{ApiServer, Clock, Selectable, Summary, random_uid, rfc3339};
use kubewright_machinery::{Status, status};
use kubewright_rbac::{
    GROUP, PolicyKind, PolicyObject, Reconciled, policy, reconcile_binding, reconcile_role,
};
use kubewright_store::{Entry, Key, Payload, Store, WriteError};
use serde_json::{Value, json};

use super::index::KINDS;
use crate::{
    bootstrap::send,
    kinds::{collection, selectable_of},
};

/// Makes sure that the roles and bindings exist that a cluster has from the start. New ones are written as they are stored,
/// without a request for each.
pub(crate) async fn bootstrap(
    server: &ApiServer,
    store: &Arc<dyn Store>,
    clock: &dyn Clock,
) -> Result<(), Status> {
    let time = rfc3339(clock.now());
    let kinds = KINDS.map(|kind| Collection {
        kind,
        name: collection(GROUP, kind.resource()),
        selectable: selectable_of(GROUP, "v1", kind.resource()),
    });
    for object in policy() {
        let Some(kind) = kinds.iter().find(|known| known.kind == object.kind) else {
            continue;
        };
        let key = Key::new(kind.name.clone(), object.path());
        let entry = store.get(&key).await.map_err(status::internal)?;
        match entry {
            None => create(store, key, kind.payload(&object, &time)).await?,
            Some(entry) if is_unchanged(&entry, &object) => {}
            Some(entry) => reconcile(server, &object, &entry).await?,
        }
    }
    Ok(())
}

/// The collection of a kind.
struct Collection {
    kind: PolicyKind,
    name: Arc<str>,
    selectable: Selectable,
}

impl Collection {
    fn payload(&self, object: &PolicyObject, time: &str) -> Payload {
        let (text, at) = object.to_stored(&random_uid(), time);
        let selected = json!({"metadata": {
            "name": object.name, "namespace": object.namespace, "labels": object.labels(),
        }});
        Payload {
            revision_at: u32::try_from(at).ok(),
            decoded: Some(Arc::new(Summary::of(&selected, &self.selectable))),
            ..Payload::plain(text)
        }
    }
}

async fn create(store: &Arc<dyn Store>, key: Key, payload: Payload) -> Result<(), Status> {
    match store.create(key, payload).await {
        // Another server on the same store was first.
        Ok(_) | Err(WriteError::Exists(_)) => Ok(()),
        Err(error) => Err(status::internal(error)),
    }
}

/// Returns whether an object is unchanged since it was written. If in doubt it is reconciled.
fn is_unchanged(entry: &Entry, object: &PolicyObject) -> bool {
    std::str::from_utf8(&entry.bytes).is_ok_and(|text| object.is_part_of(text))
}

async fn reconcile(server: &ApiServer, object: &PolicyObject, entry: &Entry) -> Result<(), Status> {
    let existing: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
    let mut expected = object.to_value();
    let reconciled = match object.kind {
        PolicyKind::ClusterRole | PolicyKind::Role => {
            // The rules of an aggregated role are up to the aggregation controller.
            if !expected["aggregationRule"].is_null() {
                expected["rules"] = Value::Null;
            }
            reconcile_role(&existing, &expected)
        }
        PolicyKind::ClusterRoleBinding | PolicyKind::RoleBinding => {
            reconcile_binding(&existing, &expected)
        }
    };
    let all = match object.namespace {
        "" => format!("/apis/{GROUP}/v1/{}", object.kind.resource()),
        namespace => format!(
            "/apis/{GROUP}/v1/namespaces/{namespace}/{}",
            object.kind.resource()
        ),
    };
    let one = format!("{all}/{}", object.name);
    let json = "application/json";
    match reconciled {
        Reconciled::Unchanged => {}
        Reconciled::Updated(object) => {
            send(server, Method::PUT, &one, json, &object).await?;
        }
        Reconciled::Recreated => {
            send(server, Method::DELETE, &one, json, &json!({})).await?;
            send(server, Method::POST, &all, json, &expected).await?;
        }
    }
    Ok(())
}
