//! The writes of the ledger, with the state of the object after each.

use std::{collections::BTreeMap, fmt, pin::pin};

use futures_util::StreamExt;
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, WatchEvent, WatchParams},
    core::GroupVersionKind,
};
use kubewright_ledger::{Change, Ledger, Request};
use serde_json::{Value, json};

/// The kinds whose writes are recorded.
const KINDS: [(&str, &str); 7] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ControllerRevision"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
];

/// A write.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The object: `pod web-1`, where pods are numbered in the order of their creation.
    pub(super) object: String,
    /// The writer and what it did: `kubelet patch status`.
    pub(super) act: String,
    /// The state of the object afterwards; `null` if it is gone.
    pub(super) state: Value,
}

/// The writes of a story, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace(pub(super) Vec<Entry>);

impl Trace {
    /// Reads the writes from the ledger. The objects come from watches that start at the beginning.
    pub(super) async fn read(client: &Client, ledger: &Ledger, from: u64) -> Self {
        let mut states = BTreeMap::new();
        for (version, kind) in KINDS {
            states.extend(changes(client, version, kind, from).await);
        }
        let mut names = Names::default();
        let mut entries = Vec::new();
        for (number, entry) in ledger.entries() {
            let request = entry.to_request(number);
            for commit in &request.commits {
                let Some(state) = states.get(&commit.revision) else {
                    continue;
                };
                let object = names.of(&commit.object.resource, &commit.object.name);
                let is_gone = commit.change == Change::Deleted;
                entries.push(Entry {
                    object,
                    act: act(&request),
                    state: match is_gone {
                        true => Value::Null,
                        false => summary(state),
                    },
                });
            }
        }
        Self(entries)
    }

    /// Returns the position of the first write of an object that has this text and after which the object has this state.
    #[track_caller]
    pub(super) fn first(&self, object: &str, act: &str, has: impl Fn(&Value) -> bool) -> usize {
        let matching =
            |entry: &Entry| entry.object == object && entry.act.contains(act) && has(&entry.state);
        let found = self.0.iter().position(matching);
        found.unwrap_or_else(|| panic!("no {act:?} of {object} in\n{self}"))
    }

    /// Returns each object with the acts of its history, in which repetitions count once, and with its last state. Pods of the
    /// same owner are not told apart, since chance decides which of them is lost.
    pub(super) fn histories(&self) -> String {
        let mut objects: Vec<(&str, Vec<&str>, &Value)> = Vec::new();
        for entry in &self.0 {
            let at = objects
                .iter()
                .position(|(object, ..)| *object == entry.object);
            let at = at.unwrap_or_else(|| {
                objects.push((&entry.object, Vec::new(), &entry.state));
                objects.len() - 1
            });
            let (_, acts, state) = &mut objects[at];
            if !acts.contains(&&*entry.act) {
                acts.push(&entry.act);
            }
            *state = &entry.state;
        }
        let texts = objects.into_iter().map(|(object, acts, state)| {
            let name = object.split(" #").next().unwrap_or_default();
            format!("{name}\n  {}\n  = {state}\n", acts.join("\n  "))
        });
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        texts.concat()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.0 {
            writeln!(f, "{}: {} = {}", entry.object, entry.act, entry.state)?;
        }
        Ok(())
    }
}

/// Returns the objects of a kind after each of their changes, by revision.
async fn changes(
    client: &Client,
    version: &str,
    kind: &str,
    from: u64,
) -> BTreeMap<u64, DynamicObject> {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    let params = WatchParams::default().timeout(1);
    let stream = api.watch(&params, &from.to_string()).await.unwrap();
    let mut stream = pin!(stream);
    let mut changes = BTreeMap::new();
    while let Some(event) = stream.next().await {
        if let WatchEvent::Added(object)
        | WatchEvent::Modified(object)
        | WatchEvent::Deleted(object) = event.unwrap()
        {
            let revision = object.resource_version().unwrap_or_default();
            changes.insert(revision.parse().unwrap(), object);
        }
    }
    changes
}

/// Returns the writer of a request and what it did: `kube-scheduler create binding`.
fn act(request: &Request) -> String {
    let agent = request.user_agent.split('/').next().unwrap_or_default();
    // Deletions have no field manager, and one program of ours deletes as kubelet and as controller manager.
    if request.verb == "delete" {
        return "delete".to_owned();
    }
    // The client of the stories has neither.
    let named = [request.field_manager.as_str(), agent];
    let writer = named.into_iter().find(|name| !name.is_empty());
    let writer = writer.unwrap_or("story");
    let sub = match request.subresource.as_str() {
        "" => String::new(),
        sub => format!(" {sub}"),
    };
    format!("{writer} {}{sub}", request.verb)
}

/// The names of objects without their random parts.
#[derive(Default)]
struct Names(BTreeMap<String, Vec<String>>);

impl Names {
    fn of(&mut self, resource: &str, name: &str) -> String {
        let kind = resource.trim_end_matches('s');
        let base = name.split('-').next().unwrap_or_default();
        // Names of StatefulSets' pods and of the objects that the story creates are not random.
        let is_random = match resource {
            "pods" => name.rsplit('-').next().is_none_or(|end| end.len() != 1),
            "replicasets" | "controllerrevisions" => true,
            _ => false,
        };
        if !is_random {
            return format!("{kind} {name}");
        }
        let known = self.0.entry(format!("{kind} {base}")).or_default();
        let at = known.iter().position(|one| one == name).unwrap_or_else(|| {
            known.push(name.to_owned());
            known.len() - 1
        });
        format!("{kind} {base} #{}", at + 1)
    }
}

/// Returns what matters of an object: sizes, phases and conditions.
fn summary(object: &DynamicObject) -> Value {
    let (spec, status) = (&object.data["spec"], &object.data["status"]);
    let mut short = serde_json::Map::new();
    let mut keep = |name: &str, value: Value| {
        let is_empty = match &value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if !is_empty {
            short.insert(name.to_owned(), value);
        }
    };
    let kind = object.types.as_ref().map_or("", |types| &*types.kind);
    if kind == "Pod" {
        keep("isBound", json!(spec["nodeName"].is_string()));
        keep("phase", status["phase"].clone());
    } else {
        keep("replicas", spec["replicas"].clone());
        let fields = status.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(_, value)| value.is_number() || value.is_boolean()) {
            keep(&format!("status.{name}"), value.clone());
        }
    }
    let annotations = object.annotations();
    keep(
        "revision",
        json!(annotations.get("deployment.kubernetes.io/revision")),
    );
    keep("finalizers", json!(object.finalizers()));
    let is_deleted = object.metadata.deletion_timestamp.is_some();
    keep("isDeleted", json!(is_deleted.then_some(true)));
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let texts = conditions.map(|one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let reason = match text("reason") {
            reason if reason.is_empty() => reason,
            reason => format!(" {reason}"),
        };
        format!("{}={}{reason}", text("type"), text("status"))
    });
    keep("conditions", texts.collect::<Vec<_>>().into());
    Value::Object(short)
}
