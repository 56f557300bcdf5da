//! [`State`]: the contents of a cluster without values that naturally differ, and differences between two states.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use kube::{
    Api, ResourceExt,
    api::ListParams,
    core::DynamicObject,
    discovery::{Discovery, verbs},
};
use serde_json::Value;

use crate::cluster::TestCluster;

/// The maximum number of reported differences.
const TOLD: usize = 10;

/// The contents of a cluster without events and leases, by resource and name.
///
/// Values that naturally differ are removed or replaced: `uid`, `resourceVersion`, `generation`, `creationTimestamp`,
/// `managedFields`, cluster IPs and node ports are removed; times become `<time>`, uids name their object, and a
/// generated name becomes its `generateName` with a star.
///
/// ```
/// use kubewright_testing::{State, perturb};
///
/// # fn program(manager: kubewright_controller::ManagerBuilder) -> Result<kubewright_controller::Manager, kubewright_controller::ManagerError> { manager.build() }
/// # async fn story(_: kubewright_testing::World) {}
/// perturb(program, story)
///     .invariant("no secrets are left", |state: &State| match state.of("secrets").count() {
///         0 => Ok(()),
///         count => Err(format!("{count} secrets")),
///     })
///     .without_leader_election()
///     .at_most(3)
///     .run();
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State(BTreeMap<String, Vec<Value>>);

/// The fields that are removed from every object.
const BY_NATURE: [&str; 8] = [
    "/metadata/uid",
    "/metadata/resourceVersion",
    "/metadata/generation",
    "/metadata/creationTimestamp",
    "/metadata/managedFields",
    "/metadata/selfLink",
    "/spec/clusterIP",
    "/spec/clusterIPs",
];

impl State {
    /// Returns the objects of a resource (`secrets`, `deployments.apps`).
    pub fn of<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a Value> {
        let of_resource = move |(key, _): &(&String, &Vec<Value>)| {
            key.strip_prefix(resource)
                .is_some_and(|rest| rest.starts_with(' '))
        };
        let found = self.0.iter().filter(of_resource);
        found.flat_map(|(_, objects)| objects)
    }

    /// Returns the object of a resource with a key: `namespace/name`, or `name`.
    pub fn get(&self, resource: &str, key: &str) -> Option<&Value> {
        self.0.get(&format!("{resource} {key}"))?.first()
    }

    pub(super) async fn read(
        cluster: &TestCluster,
        ignored: &[String],
    ) -> Result<Self, kube::Error> {
        let (client, changes) = (cluster.client(), cluster.changes());
        let discovery = Discovery::new(client.clone()).run_aggregated().await?;
        let mut found: Vec<(String, DynamicObject)> = Vec::new();
        for group in discovery.groups() {
            for (resource, capabilities) in group.recommended_resources() {
                let left_out = matches!(&*resource.plural, "events" | "leases")
                    || changes.of(&resource.plural) == 0;
                if left_out || !capabilities.supports_operation(verbs::LIST) {
                    continue;
                }
                let name = if resource.group.is_empty() {
                    resource.plural.clone()
                } else {
                    format!("{}.{}", resource.plural, resource.group)
                };
                let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
                let list = api.list(&ListParams::default()).await?;
                found.extend(list.items.into_iter().map(|object| (name.clone(), object)));
            }
        }
        let mut known = HashMap::new();
        for (resource, object) in &found {
            let name = stable_name(object);
            if let Some(uid) = object.uid() {
                known.insert(uid, format!("<uid of {resource} {name}>"));
            }
            if object.metadata.generate_name.is_some() {
                known.insert(object.name_any(), name);
            }
        }
        let mut state = Self::default();
        for (resource, object) in found {
            let name = stable_name(&object);
            let key = match object.namespace() {
                Some(namespace) => format!("{resource} {namespace}/{name}"),
                None => format!("{resource} {name}"),
            };
            let mut value = serde_json::to_value(&object).unwrap_or_default();
            for pointer in BY_NATURE.into_iter().chain(ignored.iter().map(|p| &**p)) {
                remove(&mut value, pointer);
            }
            normalise(&mut value, &known);
            state.0.entry(key).or_default().push(value);
        }
        for objects in state.0.values_mut() {
            objects.sort_by_cached_key(Value::to_string);
        }
        Ok(state)
    }

    /// Returns the first differences of another state from this one, the expected state.
    pub(super) fn differences(&self, other: &Self) -> Vec<String> {
        let keys: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let none = Vec::new();
        let mut differences = Vec::new();
        for key in keys {
            let wanted = self.0.get(key).unwrap_or(&none);
            let found = other.0.get(key).unwrap_or(&none);
            if wanted == found {
                continue;
            }
            match (wanted.len(), found.len()) {
                (_, 0) => differences.push(format!("{key} is missing")),
                (0, _) => differences.push(format!("{key} is unexpected")),
                (n, m) if n != m => differences.push(format!("{key}: {m} of them instead of {n}")),
                _ => {
                    for (wanted, found) in wanted.iter().zip(found) {
                        compare(key, String::new(), wanted, found, &mut differences);
                    }
                }
            }
        }
        differences.truncate(TOLD);
        differences
    }
}

fn stable_name(object: &DynamicObject) -> String {
    match &object.metadata.generate_name {
        Some(prefix) if object.name_any().starts_with(&**prefix) => format!("{prefix}*"),
        _ => object.name_any(),
    }
}

fn remove(value: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(parent)) = value.pointer_mut(parent) {
        parent.remove(last);
    }
}

/// Replaces values that naturally differ in every string. The depth is bounded by the server's limits.
fn normalise(value: &mut Value, known: &HashMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(stable) = known.get(text) {
                text.clone_from(stable);
            } else if is_uid(text) {
                "<uid of something gone>".clone_into(text);
            } else if is_time(text) {
                "<time>".clone_into(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalise(item, known)),
        Value::Object(fields) => {
            fields.remove("nodePort");
            fields
                .values_mut()
                .for_each(|field| normalise(field, known));
        }
        _ => {}
    }
}

fn is_uid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_time(text: &str) -> bool {
    text.len() >= 20 && text.as_bytes()[0].is_ascii_digit() && text.parse::<Timestamp>().is_ok()
}

fn compare(key: &str, at: String, wanted: &Value, found: &Value, out: &mut Vec<String>) {
    if let (Value::Object(wanted), Value::Object(found)) = (wanted, found) {
        let names: BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
        for name in names {
            let (wanted, found) = (
                wanted.get(name).unwrap_or(&Value::Null),
                found.get(name).unwrap_or(&Value::Null),
            );
            if wanted != found {
                compare(key, format!("{at}/{name}"), wanted, found, out);
            }
        }
        return;
    }
    out.push(format!("{key}: {at} is {found} instead of {wanted}"));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(objects: &[(&str, Value)]) -> State {
        let mut state = State::default();
        for (key, object) in objects {
            let of_key = state.0.entry((*key).to_owned()).or_default();
            of_key.push(object.clone());
        }
        state
    }

    #[test]
    fn differences_name_the_field_and_both_values() {
        let wanted = state(&[
            ("secrets d/a", json!({"data": {"x": "1", "y": "1"}})),
            ("secrets d/b", json!({})),
            ("secrets d/s-*", json!({})),
        ]);
        let found = state(&[
            ("secrets d/a", json!({"data": {"x": "2", "y": "1"}})),
            ("secrets d/c", json!({})),
            ("secrets d/s-*", json!({})),
            ("secrets d/s-*", json!({})),
        ]);
        assert_eq!(
            wanted.differences(&found),
            [
                "secrets d/a: /data/x is \"2\" instead of \"1\"",
                "secrets d/b is missing",
                "secrets d/c is unexpected",
                "secrets d/s-*: 2 of them instead of 1",
            ]
        );
        assert!(wanted.differences(&wanted.clone()).is_empty());
    }

    #[test]
    fn naturally_different_values_are_removed_from_strings() {
        let known = HashMap::from([("s-x1".to_owned(), "s-*".to_owned())]);
        let mut value = json!([
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.123456Z",
            "0f0e0d0c-0b0a-0908-0706-050403020100",
            "s-x1",
            "2026",
            "plain",
        ]);
        normalise(&mut value, &known);
        let gone = "<uid of something gone>";
        assert_eq!(
            value,
            json!(["<time>", "<time>", gone, "s-*", "2026", "plain"])
        );
    }
}
