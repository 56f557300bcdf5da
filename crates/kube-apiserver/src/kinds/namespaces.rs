//! Namespaces: deletion in steps, and the namespaces of a new cluster.

use std::sync::Arc;

use kubewright_apiserver::{
    ApiServer, Object, Selectable,
    admission::{Attributes, NamespacePhase, Namespaces},
    boxed_async,
    registry::{Delete, Deleted, Generic},
    request::{DeleteOptions, RequestContext},
    rfc3339,
};
use kubewright_builtins::core::namespace;
use kubewright_machinery::{PropagationPolicy, Status, gvk::GroupResource, status};
use kubewright_store::{Key, Store};
use serde_json::{Value, json};

/// The namespaces that every cluster has.
const INITIAL: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Creates the initial namespaces that are missing.
pub(crate) async fn bootstrap(server: &ApiServer) -> Result<(), Status> {
    for name in INITIAL {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        crate::bootstrap::create(server, "/api/v1/namespaces", &namespace).await?;
    }
    Ok(())
}

/// The namespaces of a store, for admission.
pub(crate) struct Stored {
    store: Arc<dyn Store>,
    selectable: Selectable,
    phase: Option<usize>,
}

impl Stored {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let selectable = super::selectable_of("", "v1", "namespaces");
        Self {
            store,
            phase: selectable.position("status.phase"),
            selectable,
        }
    }
}

#[boxed_async]
impl Namespaces for Stored {
    async fn phase(&self, name: &str) -> Result<Option<NamespacePhase>, Status> {
        let key = Key::new("namespaces", name);
        let entry = self.store.get(&key).await.map_err(status::internal)?;
        let Some(entry) = entry else { return Ok(None) };
        // The phase is selectable, so the summary has it and nothing is decoded.
        let summary = Object::from_entry(&entry, &self.selectable).summary;
        let phase = self.phase.and_then(|at| summary.fields.get(at));
        Ok(Some(match phase.map(|phase| &**phase) {
            Some("Terminating") => NamespacePhase::Terminating,
            _ => NamespacePhase::Active,
        }))
    }
}

/// The `delete` of namespaces: a namespace terminates first, and is removed once it is empty.
pub(crate) struct TerminateFirst(pub(crate) Generic);

#[boxed_async]
impl Delete for TerminateFirst {
    async fn delete(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let current = self.0.read(cx, name).await?;
        check_preconditions(name, options, &current)?;
        if !current["metadata"]["deletionTimestamp"].is_null() {
            if !namespace::is_finalized(&current) {
                let object = self
                    .0
                    .rewrite(cx, name, options.dry_run.into(), &|_| Ok(()))
                    .await?;
                return Ok(Deleted {
                    object,
                    gone: false,
                });
            }
            return self.0.delete(cx, name, options).await;
        }
        let attributes = Attributes::delete(name, &current, options);
        cx.admission.mutate(cx, &attributes, None).await?;
        // From here on the namespace that was found is meant, and no later one of that name.
        let uid = current["metadata"]["uid"].as_str().map(str::to_owned);
        let found = DeleteOptions {
            uid: options.uid.clone().or(uid),
            ..options.clone()
        };
        let attributes = Attributes::delete(name, &current, &found);
        cx.admission.validate(cx, &attributes, None).await?;
        let now = rfc3339(self.0.clock().now());
        let object = self
            .0
            .rewrite(cx, name, options.dry_run.into(), &|object| {
                object["metadata"]["deletionTimestamp"] = json!(now);
                namespace::start_termination(object);
                set_finalizers(object, options);
                Ok(())
            })
            .await?;
        Ok(Deleted {
            object,
            gone: false,
        })
    }

    fn returns_deleted_object(&self) -> bool {
        true
    }
}

fn check_preconditions(name: &str, options: &DeleteOptions, current: &Value) -> Result<(), Status> {
    let resource = GroupResource::new("", "namespaces");
    let expectations = [
        ("UID", &options.uid, "uid"),
        (
            "ResourceVersion",
            &options.resource_version,
            "resourceVersion",
        ),
    ];
    for (title, expected, key) in expectations {
        let actual = current["metadata"][key].as_str().unwrap_or_default();
        if let Some(expected) = expected.as_deref().filter(|e| *e != actual) {
            return Err(status::conflict(
                &resource,
                name,
                format!(
                    "Precondition failed: {title} in precondition: {expected}, {title} in object meta: {actual}"
                ),
            ));
        }
    }
    Ok(())
}

/// Sets the finalizers that tell the garbage collector what to do with dependents.
fn set_finalizers(object: &mut Value, options: &DeleteOptions) {
    let wanted = match (options.orphan_dependents, options.propagation) {
        (Some(true), _) | (None, Some(PropagationPolicy::Orphan)) => Some("orphan"),
        (None, Some(PropagationPolicy::Foreground)) => Some("foregroundDeletion"),
        (None, None) => return,
        _ => None,
    };
    let current = object["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut next: Vec<Value> = current
        .into_iter()
        .filter(|f| f != "orphan" && f != "foregroundDeletion")
        .collect();
    next.extend(wanted.map(Value::from));
    object["metadata"]["finalizers"] = next.into();
}
