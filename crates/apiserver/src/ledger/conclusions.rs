//! The evidence for findings, and the findings.

use std::{collections::HashSet, sync::Arc};

use kubewright_ledger::{Evidence, Finding, ObjectFacts, ObjectRef, Run};
use kubewright_machinery::Status;
use serde_json::{Value, json};

use super::{
    endpoints::to_json,
    parameters::{Asked, Moment},
};

/// The maximum number of objects that are examined.
const MAX_OBJECTS: usize = 20_000;

/// The maximum number of findings in an answer.
const MAX_FINDINGS: usize = 200;

/// The maximum number of objects whose changes are compared.
const MAX_CONTESTED: usize = 200;

pub(super) async fn findings(asked: &Asked<'_>) -> Result<Value, Status> {
    let mut found = draw(asked, asked.moment()?).await?;
    let kind = asked.text("kind");
    let object = asked.object();
    found.retain(|it| {
        (kind.is_empty() || it.kind.as_str() == kind) && (object.is_none() || it.object == object)
    });
    let truncated = found.len() > MAX_FINDINGS;
    found.truncate(MAX_FINDINGS);
    Ok(json!({"items": to_json(found)?, "truncated": truncated}))
}

/// Returns the findings about an object.
pub(super) async fn of_object(
    asked: &Asked<'_>,
    moment: Moment,
    object: Option<&ObjectRef>,
) -> Result<Value, Status> {
    let mut found = draw(asked, moment).await?;
    found.retain(|it| it.object.as_ref() == object);
    found.truncate(MAX_FINDINGS);
    to_json(found)
}

async fn draw(asked: &Asked<'_>, moment: Moment) -> Result<Vec<Finding>, Status> {
    let ledger = asked.ledger;
    let mut runs: Vec<Arc<Run>> = ledger.runs();
    runs.retain(|run| moment.has_run(run));
    let mut requests = ledger.entries();
    requests.retain(|(_, entry)| moment.has_entry(entry));
    let (objects, has_all_objects) = objects(asked, moment).await?;
    let mut changes = Vec::new();
    let contested = Evidence::contested(moment.time, &requests);
    for object in contested.into_iter().take(MAX_CONTESTED) {
        if let Some(target) = asked.target_of(&object) {
            let (of_object, _) = target.revisions(ledger, moment).await?;
            changes.push((object, of_object));
        }
    }
    // Reports describe the present only.
    let managers = match moment.revision {
        None => ledger.managers(asked.now),
        Some(_) => Vec::new(),
    };
    Ok(kubewright_ledger::findings(&Evidence {
        now: moment.time,
        runs: &runs,
        requests: &requests,
        managers: &managers,
        objects: &objects,
        has_all_objects,
        changes: &changes,
        has_all_runs: &|manager, controller| ledger.has_all_runs_of(manager, controller),
    }))
}

/// Returns facts about the objects of all resources, and whether these are all.
async fn objects(asked: &Asked<'_>, moment: Moment) -> Result<(Vec<ObjectFacts>, bool), Status> {
    let mut all = Vec::new();
    let mut complete = true;
    let mut seen = HashSet::new();
    let resources = asked.registry.groups().iter();
    let resources = resources
        .flat_map(|group| &group.versions)
        .flat_map(|(_, resources)| resources);
    for resource in resources {
        let spec = resource.spec();
        let Some(history) = &resource.handlers().history else {
            continue;
        };
        // Events own nothing and are many. Other versions, and kinds in two groups, are the same objects.
        let collection = match resource.collection() {
            Some(collection) => collection.to_string(),
            None => format!("{}/{}", spec.group_version.group, spec.plural),
        };
        if spec.plural == "events" || !seen.insert(collection) {
            continue;
        }
        let most = MAX_OBJECTS.saturating_sub(all.len()).max(1);
        let (facts, is_all) = history.facts(moment.revision, most).await?;
        all.extend(facts);
        complete &= is_all;
    }
    Ok((all, complete))
}
