//! The default requests and limits of containers.

use kubewright_machinery::json::Read;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::admission::fields::object_mut;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Sets the defaults of a limit range on the containers of a pod, and records them in an annotation.
pub(super) fn apply(range: &Value, pod: &mut Value) {
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    for limit in range["spec"]["limits"]
        .items()
        .iter()
        .filter(|limit| limit["type"] == "Container")
    {
        collect(&mut requests, &limit["defaultRequest"]);
        collect(&mut limits, &limit["default"]);
    }
    let mut notes = Vec::new();
    for (field, title) in [
        ("containers", "container"),
        ("initContainers", "init container"),
    ] {
        let spec = pod.get_mut("spec");
        let containers = spec
            .and_then(|spec| spec.get_mut(field))
            .and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            // Limits are set first and reported last.
            let set_limits = fill(container, "limits", &limits);
            let set_requests = fill(container, "requests", &requests);
            let name = container["name"].text().to_owned();
            for (what, set) in [("request", set_requests), ("limit", set_limits)] {
                if !set.is_empty() {
                    notes.push(format!("{} {what} for {title} {name}", set.join(", ")));
                }
            }
        }
    }
    if notes.is_empty() {
        return;
    }
    if let Some(annotations) = object_mut(pod, &["metadata", "annotations"]) {
        let note = format!("LimitRanger plugin set: {}", notes.join("; "));
        annotations.insert(ANNOTATION.into(), json!(note));
    }
}

fn collect<'a>(into: &mut BTreeMap<&'a str, &'a Value>, list: &'a Value) {
    let fields = list.as_object().into_iter().flatten();
    into.extend(fields.map(|(name, quantity)| (name.as_str(), quantity)));
}

/// Sets missing quantities, and returns their names.
fn fill(container: &mut Value, which: &str, defaults: &BTreeMap<&str, &Value>) -> Vec<String> {
    let mut set = Vec::new();
    for (name, quantity) in defaults {
        let Some(list) = object_mut(container, &["resources", which]) else {
            break;
        };
        if !list.contains_key(*name) {
            list.insert((*name).to_owned(), (*quantity).clone());
            set.push((*name).to_owned());
        }
    }
    set
}
