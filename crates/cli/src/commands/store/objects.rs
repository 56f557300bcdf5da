//! `store get`, `list`, `log` and `history`.

use std::ops::ControlFlow;

use anyhow::anyhow;
use clap::Args;
use kubewright_scaffold::Error;
use kubewright_store::{Revision, engine::Stored};
use kubewright_store_durable::tools::ChangeRecord;
use serde_json::{Value, json};

use super::{Place, revision, shown};
use crate::output::{say, say_line, table};

#[derive(Args)]
pub(crate) struct Get {
    #[command(flatten)]
    place: Place,

    /// Collection of the object, e.g. `pods` or `apps/deployments`
    collection: String,

    /// Path in the collection: NAMESPACE/NAME, or NAME
    path: String,

    /// Revision to read the object at [default: the newest]
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    revision: Option<Revision>,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    place: Place,

    /// Collection to list [default: all]
    collection: Option<String>,

    /// Prefix of the paths, e.g. `default/`
    #[arg(default_value = "")]
    prefix: String,

    /// Revision to list the objects at [default: the newest]
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    revision: Option<Revision>,
}

#[derive(Args)]
pub(crate) struct Log {
    #[command(flatten)]
    place: Place,

    /// First revision to print [default: the oldest that is kept]
    #[arg(long, value_name = "REVISION", value_parser = revision, default_value = "0")]
    from: Revision,

    /// Collection and path of the object whose changes are printed: COLLECTION/PATH
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

#[derive(Args)]
pub(crate) struct History {
    #[command(flatten)]
    place: Place,

    /// Collection of the object, e.g. `pods` or `apps/deployments`
    collection: String,

    /// Path in the collection: NAMESPACE/NAME, or NAME
    path: String,
}

impl Get {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let store = self.place.files()?.at(self.revision)?;
        let mut found = None;
        store.contents().for_each(|collection, stored| {
            match **collection == *self.collection && *stored.path == *self.path {
                true => {
                    found = Some(stored);
                    ControlFlow::Break(())
                }
                false => ControlFlow::Continue(()),
            }
        });
        let Some(found) = found else {
            let what = format!("there is no object {} in {}", self.path, self.collection);
            let hint = "list what is there with `kubewright store list`";
            return Err(Error::new(what, hint).into());
        };
        self.place.output.value(&object(&found.bytes))
    }
}

impl List {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let store = self.place.files()?.at(self.revision)?;
        let mut listed: Vec<(String, Stored)> = Vec::new();
        store.contents().for_each(|collection, stored| {
            let is_wanted = self
                .collection
                .as_deref()
                .is_none_or(|c| c == &**collection);
            if is_wanted && stored.path.starts_with(&self.prefix) {
                listed.push((collection.to_string(), stored));
            }
            ControlFlow::Continue(())
        });
        if self.place.output.is_json() {
            let listed: Vec<Value> = listed
                .iter()
                .map(|(collection, stored)| {
                    json!({"collection": collection, "path": &*stored.path,
                        "revision": stored.revision.0, "bytes": stored.bytes.len()})
                })
                .collect();
            return self.place.output.value(&json!(listed));
        }
        let rows: Vec<Vec<String>> = listed
            .iter()
            .map(|(collection, stored)| {
                let (revision, bytes) = (stored.revision.0, stored.bytes.len());
                vec![
                    collection.clone(),
                    stored.path.to_string(),
                    revision.to_string(),
                    bytes.to_string(),
                ]
            })
            .collect();
        say(&table(&["COLLECTION", "PATH", "REVISION", "BYTES"], &rows))
    }
}

impl Log {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut failed = None;
        self.place.files()?.changes(self.from, |change| {
            let key = format!("{}/{}", change.key.collection, change.key.path);
            if self.key.as_ref().is_some_and(|wanted| *wanted != key) {
                return ControlFlow::Continue(());
            }
            match say_line(&line(&change).to_string()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failed.map_or(Ok(()), Err)
    }
}

impl History {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut changes: Vec<ChangeRecord> = Vec::new();
        self.place.files()?.changes(Revision(0), |change| {
            if *change.key.collection == *self.collection && *change.key.path == *self.path {
                changes.push(change);
            }
            ControlFlow::Continue(())
        })?;
        if changes.is_empty() {
            let what = format!(
                "the log has no change of {} in {}",
                self.path, self.collection
            );
            let hint = "changes before the oldest checkpoint are kept with `up --history`";
            return Err(Error::new(what, hint).into());
        }
        let mut before = Value::Null;
        let mut shown_changes = Vec::new();
        for change in &changes {
            let after = change
                .bytes
                .as_ref()
                .map_or(Value::Null, |bytes| object(bytes));
            let mut fields = Vec::new();
            differences("", &before, &after, &mut fields);
            shown_changes.push((change, fields));
            before = after;
        }
        if self.place.output.is_json() {
            let all: Vec<Value> = shown_changes
                .iter()
                .map(|(change, fields)| {
                    let fields: Vec<Value> = fields
                        .iter()
                        .map(|(path, old, new)| json!({"field": path, "from": old, "to": new}))
                        .collect();
                    json!({"revision": change.revision.0, "time": shown(change.time),
                        "change": change.kind.as_str(), "fields": fields})
                })
                .collect();
            return self.place.output.value(&json!(all));
        }
        let mut text = String::new();
        for (change, fields) in &shown_changes {
            let (revision, time) = (change.revision.0, shown(change.time));
            text += &format!("{revision}  {time}  {}\n", change.kind.as_str());
            for (path, old, new) in fields {
                text += &format!("    {path}: {old} -> {new}\n");
            }
        }
        say(&text)
    }
}

fn line(change: &ChangeRecord) -> Value {
    json!({
        "revision": change.revision.0,
        "time": shown(change.time),
        "change": change.kind.as_str(),
        "collection": &*change.key.collection,
        "path": &*change.key.path,
        "object": change.bytes.as_ref().map(|bytes| object(bytes)),
    })
}

/// Returns stored bytes as JSON, or as text if they are not JSON.
pub(super) fn object(bytes: &[u8]) -> Value {
    let parsed = serde_json::from_slice(bytes);
    parsed.unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

/// Collects the fields in which two values differ.
fn differences(path: &str, old: &Value, new: &Value, found: &mut Vec<(String, Value, Value)>) {
    if old == new || path == ".metadata.managedFields" {
        return;
    }
    match (old, new) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let below = format!("{path}.{key}");
                let null = Value::Null;
                let (old, new) = (a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null));
                differences(&below, old, new, found);
            }
        }
        _ => {
            let path = if path.is_empty() { "." } else { path };
            found.push((path.to_owned(), old.clone(), new.clone()));
        }
    }
}

/// Returns an error about a line of an exported file.
pub(super) fn invalid_line(number: usize, problem: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("line {number} is not an exported object: {problem}; nothing was written")
}
