//! Objects that were never reconciled by the controller of their kind, with the reason.

use std::collections::HashSet;

use jiff::SignedDuration;
use serde_json::Value;

use super::{Evidence, Finding, FindingKind, ObjectFacts};
use crate::run::ManagerReport;

/// The age up to which an object may still be pending.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_secs(2);

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (_, manager) in evidence.managers {
        for controller in &manager.controllers {
            let text = |field: &str| controller[field].as_str().unwrap_or_default();
            let (name, group, resource) = (text("name"), text("group"), text("resource"));
            let complete = (evidence.has_all_runs)(&manager.manager, name);
            if resource.is_empty() || !complete {
                continue;
            }
            let runs = evidence.runs.iter();
            let of_it = runs.filter(|run| run.manager == manager.manager && run.controller == name);
            let seen: HashSet<&str> = of_it.map(|run| run.key.as_str()).collect();
            let of_kind = evidence
                .objects
                .iter()
                .filter(|it| it.object.group == group && it.object.resource == resource);
            for facts in of_kind {
                let key = facts.object.key();
                let is_new = facts
                    .created
                    .is_none_or(|at| evidence.now.duration_since(at) <= ON_ITS_WAY);
                if seen.contains(key.as_str()) || is_new {
                    continue;
                }
                let Some((reason, words)) = reason(manager, controller, facts, &key) else {
                    continue;
                };
                let object = &facts.object;
                let message = format!("{name} has never reconciled {object}: {words}");
                let mut finding = Finding::new(FindingKind::NeverReconciled, message);
                finding.object = Some(object.clone());
                finding.manager.clone_from(&manager.manager);
                finding.controller = name.to_owned();
                finding.key = key;
                finding.reason = reason.to_owned();
                finding.since = facts.created;
                finding.last = Some(evidence.now);
                finding.count = 1;
                found.push(finding);
            }
        }
    }
    found
}

/// Returns the reason by its name and as text; `None` if the key is running, or has run before the report.
fn reason(
    manager: &ManagerReport,
    controller: &Value,
    facts: &ObjectFacts,
    key: &str,
) -> Option<(&'static str, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if !manager.leading {
        let words = "its manager is not the leader".to_owned();
        return Some(("notLeader", words));
    }
    let sources = controller["sources"].as_array().into_iter().flatten();
    let (group, resource) = (&facts.object.group, &facts.object.resource);
    let cache = match group.as_str() {
        "" => resource.clone(),
        group => format!("{resource}.{group}"),
    };
    for source in sources.filter(|source| source["name"] == cache.as_str()) {
        let error = text(&source["error"]);
        if error.contains("is forbidden") || error.contains("cannot list") {
            return Some(("forbidden", error));
        }
        if source["state"] != "synced" {
            let state = text(&source["state"]);
            let words = format!("the cache of {cache} is not synced ({state}) {error}");
            return Some(("cacheNotSynced", words.trim_end().to_owned()));
        }
    }
    let namespaces = &manager.namespaces;
    let namespace = &facts.object.namespace;
    if !namespaces.is_empty() && !namespace.is_empty() && !namespaces.contains(namespace) {
        let watched = namespaces.join(", ");
        let words = format!("its manager watches only the namespaces {watched}");
        return Some(("namespace", words));
    }
    if controller["paused"] == true {
        return Some(("paused", "the controller is paused".to_owned()));
    }
    let keys = controller["keys"].as_array().into_iter().flatten();
    let mut of_key = keys.filter(|it| it["key"] == key);
    match of_key.next() {
        Some(known) if known["running"] == true || known.get("lastResult").is_some() => None,
        Some(_) => Some(("pending", "it waits in the queue".to_owned())),
        None => {
            let words = "a predicate rejected its events, or its handler enqueued another key";
            Some(("predicate", words.to_owned()))
        }
    }
}
