//! The APIServices of the group versions that this server serves itself.

use std::{collections::BTreeSet, sync::Arc};

use kubewright_apiserver::{
    random_uid,
    registry::{DryRun, Resource, payload},
    rfc3339,
};
use kubewright_machinery::{Status, json::Read, status};
use kubewright_store::{Key, WriteError};
use serde_json::{Map, Value, json};

use super::{Aggregation, GROUP, MANAGER, PLURAL, probe::Condition};
use crate::kinds::collection;

/// The label of APIServices that the server keeps.
pub(super) const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
/// The value of the label for built-in kinds, which are registered at the start only.
const ON_START: &str = "onstart";
/// The value of the label for custom resources.
const ALWAYS: &str = "true";

/// The priorities of the groups of custom resources.
const CUSTOM: (i64, i64) = (1000, 100);

/// The priorities of built-in groups.
const GROUPS: [(&str, i64); 22] = [
    ("", 18000),
    ("apps", 17800),
    ("events.k8s.io", 17750),
    ("authentication.k8s.io", 17700),
    ("authorization.k8s.io", 17600),
    ("autoscaling", 17500),
    ("batch", 17400),
    ("certificates.k8s.io", 17300),
    ("networking.k8s.io", 17200),
    ("policy", 17100),
    ("rbac.authorization.k8s.io", 17000),
    ("storage.k8s.io", 16800),
    ("apiextensions.k8s.io", 16700),
    ("admissionregistration.k8s.io", 16700),
    ("scheduling.k8s.io", 16600),
    ("coordination.k8s.io", 16500),
    ("node.k8s.io", 16300),
    ("discovery.k8s.io", 16200),
    ("resource.k8s.io", 16200),
    ("flowcontrol.apiserver.k8s.io", 16100),
    ("internal.apiserver.k8s.io", 16000),
    ("storagemigration.k8s.io", 15800),
];

/// Returns the priority of a version of a built-in group.
fn version_priority(group: &str, version: &str) -> i64 {
    match (group, version) {
        ("", _) => 1,
        ("autoscaling", "v2") => 30,
        ("flowcontrol.apiserver.k8s.io" | "resource.k8s.io", "v1") => 21,
        ("resource.k8s.io", "v1beta2") => 15,
        (_, "v1") => 15,
        (_, version) if version.contains("beta") => 9,
        _ => 1,
    }
}

/// Registers the group versions of built-in kinds. The spec of an APIService that the server has made before is repaired;
/// others are left alone.
pub(super) async fn built_in(
    aggregation: &Aggregation,
    resources: &[Arc<Resource>],
) -> Result<(), Status> {
    for (group, version) in group_versions(resources) {
        if group == GROUP {
            continue;
        }
        let priority = GROUPS.iter().find(|(name, _)| *name == group);
        let priority = priority.map_or(CUSTOM.0, |(_, priority)| *priority);
        let priorities = (priority, version_priority(&group, &version));
        let spec = spec(&group, &version, priorities);
        ensure(aggregation, &group, &version, &spec, ON_START).await?;
    }
    Ok(())
}

/// Registers the group versions of custom resources, and deletes the APIServices of those that are gone.
pub(super) async fn custom(
    aggregation: &Aggregation,
    resources: &[Arc<Resource>],
) -> Result<(), Status> {
    restore(aggregation, resources).await?;
    let served = group_versions(resources);
    let gone: Vec<String> = {
        let index = aggregation.environment.api_services.index().await;
        let index = index.map_err(status::internal)?;
        let names: BTreeSet<String> = served.iter().map(|(g, v)| name(g, v)).collect();
        let managed = index.all().filter(|service| service.automanaged == ALWAYS);
        let gone = managed.filter(|service| !names.contains(&service.name));
        gone.map(|service| service.name.clone()).collect()
    };
    for name in gone {
        delete(aggregation, &name).await?;
    }
    Ok(())
}

/// Registers the group versions of custom resources that have no APIService, and repairs those of the server.
pub(super) async fn restore(
    aggregation: &Aggregation,
    resources: &[Arc<Resource>],
) -> Result<(), Status> {
    let missing: Vec<(String, String)> = {
        let index = aggregation.environment.api_services.index().await;
        let index = index.map_err(status::internal)?;
        let is_kept = |(group, version): &&(String, String)| {
            index.get(group, version).is_some_and(|service| {
                let priorities = (service.group_priority, service.version_priority);
                let same = service.endpoint.is_none() && priorities == CUSTOM;
                same || service.automanaged.is_empty()
            })
        };
        let served = group_versions(resources).into_iter();
        served.filter(|gv| !is_kept(&gv)).collect()
    };
    for (group, version) in missing {
        let spec = spec(&group, &version, CUSTOM);
        ensure(aggregation, &group, &version, &spec, ALWAYS).await?;
    }
    Ok(())
}

fn group_versions(resources: &[Arc<Resource>]) -> BTreeSet<(String, String)> {
    let all = resources.iter().map(|resource| {
        let group_version = &resource.spec().group_version;
        (group_version.group.clone(), group_version.version.clone())
    });
    all.collect()
}

fn name(group: &str, version: &str) -> String {
    format!("{version}.{group}")
}

fn key(name: &str) -> Key {
    Key::new(collection(GROUP, PLURAL), name)
}

fn spec(group: &str, version: &str, (group_priority, version_priority): (i64, i64)) -> Value {
    let mut spec = json!({
        "groupPriorityMinimum": group_priority,
        "version": version,
        "versionPriority": version_priority,
    });
    if !group.is_empty() {
        spec["group"] = json!(group);
    }
    spec
}

/// Creates an APIService, or repairs the spec of one that has the label.
async fn ensure(
    aggregation: &Aggregation,
    group: &str,
    version: &str,
    spec: &Value,
    label: &str,
) -> Result<(), Status> {
    let environment = &aggregation.environment;
    let name = name(group, version);
    let now = rfc3339(environment.clock.now());
    let local = Condition::local();
    let object = json!({
        "kind": "APIService",
        "apiVersion": format!("{GROUP}/v1"),
        "metadata": {
            "name": name,
            "uid": random_uid(),
            "creationTimestamp": now,
            "labels": {AUTOMANAGED: label},
            "managedFields": [managed_fields(spec, &now)],
        },
        "spec": spec,
        "status": {"conditions": [{
            "type": "Available",
            "status": local.status,
            "lastTransitionTime": now,
            "reason": local.reason,
            "message": local.message,
        }]},
    });
    let existing = match environment.store.create(key(&name), payload(&object)).await {
        Ok(_) => {
            environment.api_services.note();
            return Ok(());
        }
        Err(WriteError::Exists(existing)) => existing,
        Err(e) => return Err(status::internal(e)),
    };
    let existing: Value = serde_json::from_slice(&existing.bytes).map_err(status::internal)?;
    let managed = !existing["metadata"]["labels"][AUTOMANAGED]
        .text()
        .is_empty();
    if !managed || existing["spec"] == *spec {
        return Ok(());
    }
    let repair = |object: &mut Value| {
        object["spec"] = spec.clone();
        Ok(())
    };
    let repaired = aggregation
        .stored
        .rewrite_in("", &name, DryRun::No, &repair);
    match repaired.await {
        Err(e) if e.code != 404 => Err(e),
        _ => Ok(()),
    }
}

/// Returns the managed fields of an APIService that the server has created.
fn managed_fields(spec: &Value, now: &str) -> Value {
    let fields = spec.as_object().into_iter().flatten();
    let spec: Map<String, Value> = fields
        .map(|(name, _)| (format!("f:{name}"), json!({})))
        .collect();
    let label = format!("f:{AUTOMANAGED}");
    json!({
        "manager": MANAGER,
        "operation": "Update",
        "apiVersion": format!("{GROUP}/v1"),
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {".": {}, label: {}}}, "f:spec": spec},
    })
}

async fn delete(aggregation: &Aggregation, name: &str) -> Result<(), Status> {
    let environment = &aggregation.environment;
    let found = environment.store.get(&key(name)).await;
    let Some(entry) = found.map_err(status::internal)? else {
        return Ok(());
    };
    let deleted = environment.store.delete(key(name), entry.revision).await;
    environment.api_services.note();
    match deleted {
        // Somebody else has changed it, and may have made it their own.
        Ok(_) | Err(WriteError::Conflict(_)) => Ok(()),
        Err(e) => Err(status::internal(e)),
    }
}
