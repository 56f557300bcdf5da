//! `why --field`: who owns a field, and who set it in which run.

use kube::Client;
use kubewright_ledger::{Cause, ObjectRef, Page, Revision};
use serde_json::{Value, json};

use crate::{
    cluster::ledger::{LedgerClient, LedgerQuery},
    output::{Output, say},
};

/// The number of changes that are explained.
const CHANGES: usize = 10;

/// Explains a field of an object.
pub(super) async fn explain(
    client: &Client,
    object: &ObjectRef,
    field: &str,
    output: &Output,
) -> anyhow::Result<()> {
    let ledger = LedgerClient::new(client);
    let query = || LedgerQuery::of(object).with("path", field);
    let owners = ledger.read("fields", query()).await?;
    let history = ledger
        .read("history", query().with("limit", CHANGES))
        .await?;
    let page: Page<Revision> = serde_json::from_value(history)?;
    let mut changes = Vec::new();
    for change in page.items.into_iter().rev() {
        let endpoint = format!("revisions/{}", change.revision);
        let why = ledger.find(&endpoint, LedgerQuery::default()).await?;
        let causes = why.map(|mut why| why["causes"].take()).unwrap_or_default();
        let causes: Vec<Cause> = match causes {
            Value::Null => Vec::new(),
            causes => serde_json::from_value(causes)?,
        };
        changes.push((change, causes));
    }
    if output.is_json() {
        let changes: Vec<Value> = changes
            .iter()
            .map(|(change, causes)| json!({"change": change, "causes": causes}))
            .collect();
        return output.value(&json!({
            "object": object, "field": field, "owners": owners["items"], "changes": changes,
        }));
    }
    say(&text(field, &owners["items"], &changes))
}

fn text(field: &str, owners: &Value, changes: &[(Revision, Vec<Cause>)]) -> String {
    let mut text = format!("{field}\n\nOWNERS\n");
    let owners = owners.as_array().map_or(&[][..], Vec::as_slice);
    for owner in owners {
        let word = |name: &str| owner[name].as_str().unwrap_or_default();
        let (path, manager, operation) = (word("path"), word("manager"), word("operation"));
        text += &format!("  {path}  {manager} ({operation}), {}\n", word("time"));
    }
    if owners.is_empty() {
        text += "  none\n";
    }
    text += "\nCHANGES\n";
    for (change, causes) in changes {
        let time = change
            .time
            .map_or_else(|| "-".to_owned(), |time| format!("{time:.3}"));
        text += &format!("  {time}  {change}\n");
        for cause in causes {
            text += &format!("    because {}", cause.trigger);
            if !cause.summary.is_empty() {
                text += &format!(": {} by {}", cause.summary, cause.field_manager);
            }
            text += "\n";
        }
    }
    if changes.is_empty() {
        text += "  none is recorded\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_the_write_that_caused_it() {
        let owners = json!([{"path": "spec.replicas", "manager": "captain", "operation": "Apply", "time": "T"}]);
        let change: Revision = serde_json::from_value(json!({
            "revision": 9, "change": "updated", "summary": "spec.replicas 1 -> 3", "fieldManager": "captain", "run": "c/captain/2",
        }))
        .unwrap();
        let cause: Cause = serde_json::from_value(json!({
            "trigger": {"source": "captains", "cause": "updated", "at": "2026-01-01T00:00:00Z", "resourceVersion": "8",
                "object": {"group": "", "resource": "captains", "namespace": "a", "name": "b"}},
            "revision": 8, "summary": "spec.size 1 -> 3", "fieldManager": "kubectl",
        }))
        .unwrap();
        let text = text("spec.replicas", &owners, &[(change, vec![cause])]);
        let expected = "  -  revision 9 by captain in run c/captain/2: spec.replicas 1 -> 3
    because captains a/b updated at 8: spec.size 1 -> 3 by kubectl
";
        assert!(text.ends_with(expected), "{text}");
    }
}
