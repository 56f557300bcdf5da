//! Deletions that do not complete, and objects whose owner does not exist.

use std::collections::HashSet;

use jiff::SignedDuration;

use super::{Evidence, Finding, FindingKind};

/// The normal duration of a deletion.
const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

pub(super) fn stuck_deletions(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for facts in evidence.objects {
        let Some(deleted) = facts.deleted else {
            continue;
        };
        let age = evidence.now.duration_since(deleted);
        if age <= PATIENCE {
            continue;
        }
        let object = &facts.object;
        let waits = match facts.finalizers.as_slice() {
            [] => "it has no finalizers, so the kubelet must terminate it".to_owned(),
            finalizers => format!("it waits for {}", finalizers.join(", ")),
        };
        let runs = evidence.runs.iter().rev();
        let last = runs
            .filter(|run| run.object().as_ref() == Some(object))
            .max_by_key(|run| run.end);
        let handled = match last {
            Some(run) => format!("{} reconciled it last: {}", run.controller, run.result),
            None => "no controller has reconciled it".to_owned(),
        };
        let seconds = age.as_secs();
        let message = format!("{object} has been in deletion for {seconds} s; {waits}; {handled}");
        let mut finding = Finding::new(FindingKind::StuckDeletion, message);
        finding.object = Some(object.clone());
        finding.since = Some(deleted);
        finding.last = Some(evidence.now);
        finding.count = 1;
        if let Some(run) = last {
            finding.manager.clone_from(&run.manager);
            finding.controller.clone_from(&run.controller);
            finding.key.clone_from(&run.key);
            finding.runs.push(run.id.clone());
        }
        found.push(finding);
    }
    found
}

pub(super) fn orphans(evidence: &Evidence<'_>) -> Vec<Finding> {
    if !evidence.has_all_objects {
        return Vec::new();
    }
    let there: HashSet<&str> = evidence.objects.iter().map(|it| it.uid.as_str()).collect();
    let mut found = Vec::new();
    for facts in evidence.objects {
        // The garbage collector will remove it shortly.
        if facts.deleted.is_some() {
            continue;
        }
        for (kind, name, uid) in &facts.owners {
            if there.contains(uid.as_str()) {
                continue;
            }
            let object = &facts.object;
            let message =
                format!("the owner of {object} does not exist: {kind} {name} with uid {uid}");
            let mut finding = Finding::new(FindingKind::Orphan, message);
            finding.object = Some(object.clone());
            finding.since = facts.created;
            finding.last = Some(evidence.now);
            finding.count = 1;
            found.push(finding);
        }
    }
    found
}
