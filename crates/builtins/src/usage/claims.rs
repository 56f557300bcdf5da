//! The usage of persistent volume claims: one claim and its storage, in total and by storage class.

use std::collections::BTreeSet;

use kubewright_machinery::{json::Read, quantity::Quantity};
use serde_json::Value;

use super::{
    evaluator::number,
    resource_list::{self, ResourceList},
    scopes::Selector,
};

/// The former way to name the class of a claim.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

const COUNT: &str = "count/persistentvolumeclaims";
const CLAIMS: &str = "persistentvolumeclaims";
const STORAGE: &str = "requests.storage";
/// The separator between the name of a storage class and the name of a resource.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

/// The resources of claims that can be limited.
pub(super) fn measures(name: &str) -> bool {
    let plain = name
        .rsplit_once(OF_CLASS)
        .map_or(name, |(_, resource)| resource);
    name == COUNT || plain == CLAIMS || plain == STORAGE
}

/// Returns the class that a claim names by field or annotation, or an empty string.
///
/// ```
/// use kubewright_builtins::usage::class_of;
/// use serde_json::json;
///
/// assert_eq!(class_of(&json!({"spec": {"storageClassName": "fast"}})), "fast");
/// ```
pub fn class_of(claim: &Value) -> &str {
    let annotated = claim["metadata"]["annotations"][CLASS_ANNOTATION].as_str();
    annotated
        .or(claim["spec"]["storageClassName"].as_str())
        .unwrap_or_default()
}

/// Returns the usage of a claim.
pub(super) fn usage(claim: &Value) -> ResourceList {
    let mut out = ResourceList::from([(COUNT.to_owned(), number(1))]);
    let class = class_of(claim);
    for (name, amount) in [(CLAIMS, Some(number(1))), (STORAGE, storage(claim))] {
        let Some(amount) = amount else { continue };
        if !class.is_empty() {
            out.insert(format!("{class}{OF_CLASS}{name}"), amount.clone());
        }
        out.insert(name.to_owned(), amount);
    }
    out
}

/// Returns whether a claim matches a scope: the volume attributes class that it requests, has or changes to.
pub(super) fn in_scope(selector: &Selector, claim: &Value) -> bool {
    if selector.scope != "VolumeAttributesClass" {
        return false;
    }
    let names = attribute_classes(claim);
    if names.is_empty() {
        return selector.selects(None);
    }
    names.iter().any(|name| selector.selects(Some(name)))
}

/// Returns the volume attributes classes that a claim requests, has or changes to.
pub fn attribute_classes(claim: &Value) -> BTreeSet<&str> {
    let status = &claim["status"];
    let names = [
        &claim["spec"]["volumeAttributesClassName"],
        &status["currentVolumeAttributesClassName"],
        &status["modifyVolumeStatus"]["targetVolumeAttributesClassName"],
    ];
    let names = names.map(Value::text).into_iter();
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns the requested storage, or the allocated one if it is larger, in whole bytes.
fn storage(claim: &Value) -> Option<Quantity> {
    let requested = resource_list::quantity(&claim["spec"]["resources"]["requests"]["storage"])?;
    let allocated = resource_list::quantity(&claim["status"]["allocatedResources"]["storage"]);
    let larger = allocated.filter(|allocated| *allocated > requested.round_up(0));
    Some(larger.unwrap_or(requested).round_up(0))
}
