//! `kubewright tree`: an object and everything it owns, recursively.

use std::collections::{BTreeMap, HashSet};

use clap::Args;
use futures_util::{StreamExt, stream};
use kube::{Client, ResourceExt, api::ListParams, core::PartialObjectMeta};
use serde_json::{Value, json};

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

#[derive(Args)]
pub(crate) struct Tree {
    #[command(flatten)]
    object: ObjectArgs,

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
}

/// The owned objects by the uid of their owner.
type Owned = BTreeMap<String, Vec<Node>>;

impl Tree {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let (client, kinds) = self.object.connect().await?;
        let Located { kind, api, name } = self.object.locate(&client, &kinds)?;
        let root = self.object.found(api.get_metadata_opt(name).await)?;
        let root = node(&kind.resource.kind, &root);
        let (owned, unseen) = owned(&client, &kinds, root.namespace.as_deref()).await;
        if self.output.is_json() {
            let mut answer = value(&root, &owned, &mut HashSet::new());
            answer["unseen"] = json!(unseen);
            return self.output.value(&answer);
        }
        let mut text = format!("{}\n", root.words());
        draw(&root, &owned, "", &mut HashSet::new(), &mut text);
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
    }
}

impl Node {
    fn words(&self) -> String {
        let deleting = if self.deleting {
            " (being deleted)"
        } else {
            ""
        };
        format!("{}/{}{deleting}", self.kind.to_lowercase(), self.name)
    }
}

/// Draws the objects that an object owns. Cycles are cut.
fn draw(node: &Node, owned: &Owned, indent: &str, shown: &mut HashSet<String>, text: &mut String) {
    if !shown.insert(node.uid.clone()) || shown.len() > 10_000 || indent.len() > DEEPEST * 12 {
        return;
    }
    let children = owned.get(&node.uid).map_or(&[][..], Vec::as_slice);
    for (at, child) in children.iter().enumerate() {
        let last = at + 1 == children.len();
        let (branch, below) = if last {
            ("└── ", "    ")
        } else {
            ("├── ", "│   ")
        };
        *text += &format!("{indent}{branch}{}\n", child.words());
        draw(child, owned, &format!("{indent}{below}"), shown, text);
    }
}

fn value(node: &Node, owned: &Owned, shown: &mut HashSet<String>) -> Value {
    let children = match shown.insert(node.uid.clone()) && shown.len() <= 10_000 {
        true => owned.get(&node.uid).map_or(&[][..], Vec::as_slice),
        false => &[],
    };
    let owns: Vec<Value> = children
        .iter()
        .map(|child| value(child, owned, shown))
        .collect();
    json!({
        "kind": node.kind,
        "name": node.name,
        "namespace": node.namespace,
        "uid": node.uid,
        "deleting": node.deleting,
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
        }
    }

    #[test]
    fn a_tree_is_drawn_and_a_ring_ends() {
        let mut owned = Owned::new();
        owned.insert("a".into(), vec![node("b"), node("c")]);
        owned.insert("b".into(), vec![node("d")]);
        owned.insert("d".into(), vec![node("a")]);
        let mut text = String::new();
        draw(&node("a"), &owned, "", &mut HashSet::new(), &mut text);
        assert_eq!(
            text,
            "├── pod/b\n│   └── pod/d\n│       └── pod/a\n└── pod/c\n"
        );
        let value = value(&node("a"), &owned, &mut HashSet::new());
        assert_eq!(value["owns"][0]["owns"][0]["owns"][0]["owns"], json!([]));
    }
}
