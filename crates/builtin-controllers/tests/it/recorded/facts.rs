//! [`Facts`]: the part of the watched states that is compared.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Event;
use serde_json::{Map, Value, json};

/// Names for values that differ by nature.
pub(super) struct Facts<'a> {
    namespace: &'a str,
    uids: &'a BTreeMap<String, String>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(namespace: &'a str, uids: &'a BTreeMap<String, String>) -> Self {
        Self { namespace, uids }
    }

    /// The states of the story's namespace, from its deletion on.
    pub(super) fn namespace(&self, seen: &[(String, Value)]) -> Value {
        let mine = |(_, object): &&(String, Value)| {
            object["metadata"]["name"] == self.namespace
                && object["metadata"]["deletionTimestamp"].is_string()
        };
        let mut states: Vec<Value> = Vec::new();
        for (type_, object) in seen.iter().filter(mine) {
            let conditions = object["status"]["conditions"].as_array();
            let conditions: Vec<Value> = conditions
                .into_iter()
                .flatten()
                .map(|c| json!([c["type"], c["status"], c["reason"], c["message"]]))
                .collect();
            let state = json!({
                "event": type_,
                "phase": object["status"]["phase"],
                "finalizers": object["spec"]["finalizers"],
                "conditions": conditions,
                "writers": writers(object),
            });
            if states.last() != Some(&state) {
                states.push(state);
            }
        }
        self.named(states.into())
    }

    /// The states of every ConfigMap of the story.
    pub(super) fn maps(&self, seen: &[(String, Value)]) -> Value {
        let mut states: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (type_, object) in seen {
            let metadata = &object["metadata"];
            let name = metadata["name"].as_str().unwrap_or_default();
            if metadata["namespace"] != self.namespace || name == "kube-root-ca.crt" {
                continue;
            }
            states.entry(name.to_owned()).or_default().push(json!({
                "event": type_,
                "deleting": metadata["deletionTimestamp"].is_string(),
                "grace": metadata["deletionGracePeriodSeconds"],
                "finalizers": metadata["finalizers"],
                "owners": metadata["ownerReferences"],
                "writers": writers(object),
            }));
        }
        let states: Map<String, Value> = states
            .into_iter()
            .map(|(name, states)| (name, states.into()))
            .collect();
        self.named(states.into())
    }

    /// The messages of Events.
    pub(super) fn events(&self, events: &[Event]) -> Value {
        let said = |event: &Event| {
            let object = &event.involved_object;
            json!({
                "type": event.type_,
                "reason": event.reason,
                "message": event.message,
                "count": event.count,
                "source": event.source.as_ref().and_then(|source| source.component.clone()),
                "reportingComponent": event.reporting_component,
                "about": [object.api_version, object.kind, object.namespace, object.name, object.uid],
            })
        };
        self.named(events.iter().map(said).collect())
    }

    /// Replaces uids and the namespace by names.
    fn named(&self, value: Value) -> Value {
        let mut text = value.to_string();
        for (uid, name) in self.uids {
            text = text.replace(uid, name);
        }
        let text = text.replace(self.namespace, "$namespace");
        serde_json::from_str(&text).unwrap()
    }
}

/// Formats the field managers with operation and subresource.
fn writers(object: &Value) -> Value {
    let entries = object["metadata"]["managedFields"].as_array();
    let mut writers: Vec<Value> = entries
        .into_iter()
        .flatten()
        .map(|entry| json!([entry["manager"], entry["operation"], entry["subresource"]]))
        .collect();
    // They are ordered by time, in seconds.
    writers.sort_by_key(Value::to_string);
    writers.into()
}
