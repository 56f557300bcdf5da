//! `kubewright tree`: an object and everything it owns, recursively.

mod references;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use clap::Args;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use kube::{Client, ResourceExt, api::ListParams, core::PartialObjectMeta};
use serde_json::{Value, json};

use self::references::{Reference, references};
use crate::{
    cluster::{
        kinds::{Kind, Kinds},
        object::{Located, ObjectArgs},
    },
    output::{Output, say},
};

/// The number of concurrent list requests.
const AT_ONCE: usize = 8;

/// The maximum depth of the tree.
const DEEPEST: usize = 32;

/// The maximum number of objects whose states are read.
const MOST_STATES: usize = 200;

/// The conditions that tell the state of an object, in order of preference.
const MAIN_CONDITIONS: [&str; 5] = ["Ready", "Available", "Complete", "Established", "Synced"];

#[derive(Args)]
pub(crate) struct Tree {
    #[command(flatten)]
    object: ObjectArgs,

    /// Also show the objects that each object refers to by name, and whether they exist
    #[arg(long)]
    refs: bool,

    #[command(flatten)]
    output: Output,
}

/// An object of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    kind: String,
    name: String,
    namespace: Option<String>,
    uid: String,
    deleting: bool,
    created: Option<Timestamp>,
    /// The main condition, such as `Ready=True`, or the phase.
    state: Option<String>,
    refs: BTreeSet<Reference>,
}

/// The owned objects by the uid of their owner.
type Owned = BTreeMap<String, Vec<Node>>;

/// The references of all shown objects, with the namespace in which they are looked up, that lead to no object.
type Missing = HashSet<(Reference, Option<String>)>;

impl Tree {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let (client, kinds) = self.object.connect().await?;
        let Located { kind, api, name } = self.object.locate(&client, &kinds)?;
        let root = self.object.found(api.get_metadata_opt(name).await)?;
        let mut root = node(&kind.resource.kind, &root);
        let (mut owned, unseen) = owned(&client, &kinds, root.namespace.as_deref()).await;
        add_states(&client, &kinds, &mut root, &mut owned).await;
        let missing = match self.refs {
            true => missing(&client, &kinds, &root, &owned).await,
            false => {
                let nodes = owned.values_mut().flatten().chain([&mut root]);
                nodes.for_each(|node| node.refs.clear());
                Missing::new()
            }
        };
        if self.output.is_json() {
            let mut answer = value(&root, &owned, &missing, &mut HashSet::new());
            answer["unseen"] = json!(unseen);
            return self.output.value(&answer);
        }
        let now = Timestamp::now();
        let mut text = format!("{}\n", root.words(now));
        let mut drawing = Drawing {
            owned: &owned,
            missing: &missing,
            now,
            shown: HashSet::new(),
        };
        drawing.draw(&root, "", &mut text);
        if !unseen.is_empty() {
            text += &format!("not shown for lack of permission: {}\n", unseen.join(", "));
        }
        say(&text)
    }
}

/// Finds all owned objects in a namespace, or anywhere for a cluster-scoped owner. Also returns the kinds that cannot
/// be listed.
async fn owned(client: &Client, kinds: &Kinds, namespace: Option<&str>) -> (Owned, Vec<String>) {
    let asked = kinds
        .kept()
        .filter(|kind| namespace.is_none() || kind.namespaced);
    let lists = stream::iter(asked).map(async |kind: &Kind| {
        let api = match namespace {
            Some(_) => kind.api(client, namespace),
            None => kube::Api::all_with(client.clone(), &kind.resource),
        };
        (kind, api.list_metadata(&ListParams::default()).await)
    });
    let lists: Vec<_> = lists.buffered(AT_ONCE).collect().await;
    let (mut owned, mut unseen) = (Owned::new(), Vec::new());
    for (kind, list) in lists {
        let Ok(list) = list else {
            unseen.push(kind.resource.plural.clone());
            continue;
        };
        for object in list.items {
            let node = node(&kind.resource.kind, &object);
            for owner in object.owner_references() {
                owned
                    .entry(owner.uid.clone())
                    .or_default()
                    .push(node.clone());
            }
        }
    }
    for nodes in owned.values_mut() {
        nodes.sort();
        // Some objects are served in two groups.
        nodes.dedup_by(|a, b| a.uid == b.uid);
    }
    (owned, unseen)
}

fn node<K>(kind: &str, object: &PartialObjectMeta<K>) -> Node {
    let metadata = &object.metadata;
    Node {
        kind: kind.to_owned(),
        name: metadata.name.clone().unwrap_or_default(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone().unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
        created: metadata.creation_timestamp.as_ref().map(|time| time.0),
        state: None,
        refs: BTreeSet::new(),
    }
}

/// Adds the states and references of the root and of the objects below it, up to a number of them.
async fn add_states(client: &Client, kinds: &Kinds, root: &mut Node, owned: &mut Owned) {
    let mut shown = vec![root.clone()];
    let mut at = 0;
    while let Some(node) = shown.get(at).filter(|_| shown.len() < MOST_STATES) {
        let below = owned.get(&node.uid).cloned().unwrap_or_default();
        shown.extend(below);
        at += 1;
    }
    shown.truncate(MOST_STATES);
    let states = stream::iter(&shown).map(async |node: &Node| {
        let kind = kinds.find(&node.kind).ok()?;
        let api = kind.api(client, node.namespace.as_deref());
        let object = api.get_opt(&node.name).await.ok()??;
        let found = (state(&object.data), references(&object.data));
        Some((node.uid.clone(), found))
    });
    let mut states: BTreeMap<String, (Option<String>, BTreeSet<Reference>)> = states
        .buffered(AT_ONCE)
        .filter_map(std::future::ready)
        .collect()
        .await;
    let nodes = owned.values_mut().flatten().chain([root]);
    for node in nodes {
        if let Some((state, refs)) = states.remove(&node.uid) {
            (node.state, node.refs) = (state, refs);
        }
    }
}

/// Returns the references that lead to no object. Those of unknown kinds are left out.
async fn missing(client: &Client, kinds: &Kinds, root: &Node, owned: &Owned) -> Missing {
    let nodes = owned.values().flatten().chain([root]);
    let of_node = |node: &Node| {
        let refs = node.refs.iter();
        let located = refs.map(|it| (it.clone(), it.namespace.clone().or(node.namespace.clone())));
        located.collect::<Vec<_>>()
    };
    let all: BTreeSet<_> = nodes.flat_map(of_node).collect();
    let looked_up = all.into_iter().take(MOST_STATES);
    let looked_up = stream::iter(looked_up).map(async |(reference, namespace)| {
        let kind = kinds.find(&reference.kind).ok()?;
        let api = kind.api(client, namespace.as_deref());
        let found = api.get_metadata_opt(&reference.name).await.ok()?;
        found.is_none().then_some((reference, namespace))
    });
    looked_up
        .buffered(AT_ONCE)
        .filter_map(std::future::ready)
        .collect()
        .await
}

/// Returns the main condition of an object, or its phase.
fn state(object: &Value) -> Option<String> {
    let conditions = object["status"]["conditions"].as_array();
    let conditions = conditions.map_or(&[][..], Vec::as_slice);
    let condition = MAIN_CONDITIONS.iter().find_map(|main| {
        let found = conditions.iter().find(|it| it["type"] == *main)?;
        Some(format!("{main}={}", found["status"].as_str()?))
    });
    condition.or_else(|| object["status"]["phase"].as_str().map(str::to_owned))
}

impl Node {
    fn words(&self, now: Timestamp) -> String {
        let mut words = format!("{}/{}", self.kind.to_lowercase(), self.name);
        if self.deleting {
            words += " (being deleted)";
        }
        if let Some(state) = &self.state {
            words += &format!("  {state}");
        }
        if let Some(created) = self.created {
            words += &format!("  {}", age(now.duration_since(created).as_secs()));
        }
        words
    }

    /// Returns whether the object of a reference does not exist.
    fn misses(&self, reference: &Reference, missing: &Missing) -> bool {
        let namespace = reference.namespace.clone().or(self.namespace.clone());
        missing.contains(&(reference.clone(), namespace))
    }
}

/// Formats an age in seconds in one unit.
fn age(seconds: i64) -> String {
    match seconds.max(0) {
        s if s < 120 => format!("{s}s"),
        s if s < 2 * 3600 => format!("{}m", s / 60),
        s if s < 2 * 86400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86400),
    }
}

/// A tree as text.
struct Drawing<'a> {
    owned: &'a Owned,
    missing: &'a Missing,
    now: Timestamp,
    /// The uids of the objects that were drawn.
    shown: HashSet<String>,
}

impl Drawing<'_> {
    /// Draws what an object refers to, and the objects that it owns. Cycles are cut.
    fn draw(&mut self, node: &Node, indent: &str, text: &mut String) {
        let is_new = self.shown.insert(node.uid.clone());
        if !is_new || self.shown.len() > 10_000 || indent.len() > DEEPEST * 12 {
            return;
        }
        for reference in &node.refs {
            let (kind, name) = (reference.kind.to_lowercase(), &reference.name);
            let note = match node.misses(reference, self.missing) {
                true => "  (does not exist)",
                false => "",
            };
            *text += &format!("{indent}┄┄> {kind}/{name}{note}\n");
        }
        let children = self.owned.get(&node.uid).map_or(&[][..], Vec::as_slice);
        for (at, child) in children.iter().enumerate() {
            let last = at + 1 == children.len();
            let (branch, below) = if last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            *text += &format!("{indent}{branch}{}\n", child.words(self.now));
            self.draw(child, &format!("{indent}{below}"), text);
        }
    }
}

fn value(node: &Node, owned: &Owned, missing: &Missing, shown: &mut HashSet<String>) -> Value {
    let children = match shown.insert(node.uid.clone()) && shown.len() <= 10_000 {
        true => owned.get(&node.uid).map_or(&[][..], Vec::as_slice),
        false => &[],
    };
    let owns: Vec<Value> = children
        .iter()
        .map(|child| value(child, owned, missing, shown))
        .collect();
    let refs = node.refs.iter().map(|reference| {
        json!({
            "kind": reference.kind,
            "name": reference.name,
            "namespace": reference.namespace,
            "missing": node.misses(reference, missing),
        })
    });
    json!({
        "kind": node.kind,
        "name": node.name,
        "namespace": node.namespace,
        "uid": node.uid,
        "deleting": node.deleting,
        "created": node.created.map(|time| time.to_string()),
        "state": node.state,
        "refs": refs.collect::<Vec<_>>(),
        "owns": owns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> Node {
        Node {
            kind: "Pod".into(),
            name: name.into(),
            namespace: None,
            uid: name.into(),
            deleting: false,
            created: None,
            state: None,
            refs: BTreeSet::new(),
        }
    }

    fn drawn(root: &Node, owned: &Owned, missing: &Missing) -> String {
        let mut text = String::new();
        let mut drawing = Drawing {
            owned,
            missing,
            now: Timestamp::UNIX_EPOCH,
            shown: HashSet::new(),
        };
        drawing.draw(root, "", &mut text);
        text
    }

    #[test]
    fn references_come_before_owned_objects() {
        let mut root = node("a");
        root.namespace = Some("shop".into());
        let reference = |name: &str| Reference {
            kind: "ConfigMap".into(),
            name: name.into(),
            namespace: None,
        };
        root.refs = [reference("there"), reference("gone")].into();
        let owned = Owned::from([("a".to_owned(), vec![node("b")])]);
        let missing = Missing::from([(reference("gone"), root.namespace.clone())]);
        assert_eq!(
            drawn(&root, &owned, &missing),
            "┄┄> configmap/gone  (does not exist)\n┄┄> configmap/there\n└── pod/b\n"
        );
        let value = value(&root, &owned, &missing, &mut HashSet::new());
        assert_eq!(value["refs"][0]["missing"], true);
        assert_eq!(value["refs"][1]["missing"], false);
    }

    #[test]
    fn a_tree_is_drawn_and_a_ring_ends() {
        let mut owned = Owned::new();
        owned.insert("a".into(), vec![node("b"), node("c")]);
        owned.insert("b".into(), vec![node("d")]);
        owned.insert("d".into(), vec![node("a")]);
        let missing = Missing::new();
        assert_eq!(
            drawn(&node("a"), &owned, &missing),
            "├── pod/b\n│   └── pod/d\n│       └── pod/a\n└── pod/c\n"
        );
        let value = value(&node("a"), &owned, &missing, &mut HashSet::new());
        assert_eq!(value["owns"][0]["owns"][0]["owns"][0]["owns"], json!([]));
    }

    #[test]
    fn a_line_has_the_state_and_the_age() {
        let now: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
        let mut web = node("web");
        web.state = state(&json!({"status": {"conditions": [
            {"type": "Progressing", "status": "True"}, {"type": "Available", "status": "False"},
        ]}}));
        web.created = Some("2026-01-01T00:55:00Z".parse().unwrap());
        assert_eq!(web.words(now), "pod/web  Available=False  5m");
        let running = state(&json!({"status": {"phase": "Running"}}));
        assert_eq!(running.as_deref(), Some("Running"));
        assert_eq!(state(&json!({"data": {}})), None);
    }
}
