//! `kubewright history`: the revisions of an object, with their differences.

use clap::{Args, ValueEnum};
use kubewright_ledger::{FieldChange, Op, Page, Revision};
use serde_json::{Value, json};

use crate::{
    cluster::{
        ledger::{LedgerClient, LedgerQuery},
        object::{Located, ObjectArgs},
    },
    output::say,
};

#[derive(Args)]
pub(crate) struct History {
    #[command(flatten)]
    object: ObjectArgs,

    /// Show the object as it was at this revision
    #[arg(long, value_name = "REVISION")]
    at: Option<u64>,

    /// Show only revisions that changed this field, e.g. spec.replicas
    #[arg(long, value_name = "PATH")]
    field: Option<String>,

    /// Maximum number of revisions
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: usize,

    /// Output format
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The answer of the server
    Json,
    /// A JSON merge patch for each revision
    Patch,
}

impl History {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let (client, kinds) = self.object.connect().await?;
        let Located { kind, .. } = self.object.locate(&client, &kinds)?;
        let object = self.object.reference(&client, kind)?;
        let ledger = LedgerClient::new(&client);
        let query = LedgerQuery::of(&object).with_some("at", self.at);
        if self.at.is_some() && self.field.is_none() && self.output != Some(Format::Patch) {
            let answer = ledger.read("object", query).await?;
            return say(&format!("{:#}\n", answer["object"]));
        }
        let patch = self.output == Some(Format::Patch);
        let query = query
            .with("limit", self.limit)
            .with_some("path", self.field)
            .with_some("objects", patch.then_some(true));
        let answer = ledger.read("history", query).await?;
        match self.output {
            Some(Format::Json) => say(&format!("{answer:#}\n")),
            Some(Format::Patch) => {
                let page: Page<Revision> = serde_json::from_value(answer)?;
                say(&patches(&page.items))
            }
            None => {
                let complete = answer["complete"] == true;
                let page: Page<Revision> = serde_json::from_value(answer)?;
                say(&text(&page.items, complete))
            }
        }
    }
}

fn text(items: &[Revision], complete: bool) -> String {
    let mut text = String::new();
    if !complete {
        text += "older revisions are forgotten\n";
    }
    for item in items {
        let time = item
            .time
            .map_or_else(|| "-".to_owned(), |time| format!("{time:.3}"));
        text += &format!("{time}  {item}\n");
        if item.change == Some(kubewright_ledger::Change::Updated) {
            text.extend(item.diff.iter().map(line));
        }
        if item.diff_truncated {
            text += "    the difference is longer\n";
        }
    }
    text
}

fn line(change: &FieldChange) -> String {
    let path = &change.path;
    let value = |value: &Option<Value>| value.clone().unwrap_or_default();
    match change.op {
        Op::Add => format!("    + {path}: {}\n", value(&change.after)),
        Op::Remove => format!("    - {path}: {}\n", value(&change.before)),
        Op::Replace => {
            let (before, after) = (value(&change.before), value(&change.after));
            format!("    ~ {path}: {before} -> {after}\n")
        }
    }
}

/// Returns the merge patch from each revision to the next.
fn patches(items: &[Revision]) -> String {
    let mut text = String::new();
    for pair in items.windows(2) {
        let (Some(before), Some(after)) = (&pair[0].object, &pair[1].object) else {
            continue;
        };
        let patch = merge_patch(before, after).unwrap_or_else(|| json!({}));
        text += &format!(
            "# {} -> {}\n{patch:#}\n",
            pair[0].revision, pair[1].revision
        );
    }
    text
}

/// Returns the merge patch that turns a value into another; `None` if they are equal.
fn merge_patch(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return Some(after.clone());
    };
    let mut patch = serde_json::Map::new();
    for (key, value) in new {
        if matches!(key.as_str(), "managedFields" | "resourceVersion") {
            continue;
        }
        match old.get(key) {
            Some(before) => {
                if let Some(changed) = merge_patch(before, value) {
                    patch.insert(key.clone(), changed);
                }
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Some(patch.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_what_differs_and_nothing_volatile() {
        let before =
            json!({"metadata": {"resourceVersion": "1"}, "spec": {"a": 1, "b": 2, "c": [1]}});
        let after =
            json!({"metadata": {"resourceVersion": "2"}, "spec": {"a": 1, "c": [2], "d": {}}});
        let patch = merge_patch(&before, &after).unwrap();
        assert_eq!(patch["spec"], json!({"b": null, "c": [2], "d": {}}));
        assert_eq!(patch["metadata"], json!({}));
        assert_eq!(merge_patch(&before, &before), None);
    }

    #[test]
    fn each_revision_has_its_difference() {
        let item = |revision: u64, diff: Value| {
            json!({
                "revision": revision, "change": "updated", "fieldManager": "kubectl", "summary": "spec.a 1 -> 2",
                "time": "2026-01-01T00:00:00.5Z", "diff": diff,
            })
        };
        let diff = json!([
            {"path": "spec.a", "op": "replace", "before": 1, "after": 2},
            {"path": "spec.b", "op": "remove", "before": "x"},
        ]);
        let items: Vec<Revision> = serde_json::from_value(json!([item(7, diff)])).unwrap();
        assert_eq!(
            text(&items, true),
            "2026-01-01T00:00:00.500Z  revision 7 by kubectl: spec.a 1 -> 2\n    ~ spec.a: 1 -> 2\n    - spec.b: \"x\"\n"
        );
    }
}
