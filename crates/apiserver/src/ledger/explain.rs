//! Runs and revisions with their causes.

use std::collections::HashMap;

use kubewright_ledger::{
    Cause, ObjectRef, PageQuery, Revision, Run, Trigger, caused_by, causes_of,
};
use kubewright_machinery::{Status, status};
use serde_json::{Value, json};

use super::{
    endpoints::to_json,
    parameters::{Asked, Moment},
};

/// The changes of objects, read once.
#[derive(Default)]
struct Changes(HashMap<ObjectRef, Vec<Revision>>);

impl Changes {
    /// Reads the changes of an object. Those of a resource that is not served are unknown.
    async fn read(&mut self, asked: &Asked<'_>, object: &ObjectRef) -> Result<(), Status> {
        if self.0.contains_key(object) {
            return Ok(());
        }
        let Some(target) = asked.target_of(object) else {
            return Ok(());
        };
        let now = Moment {
            revision: None,
            time: asked.now,
        };
        let (changes, _) = target.revisions(asked.ledger, now).await?;
        self.0.insert(object.clone(), changes);
        Ok(())
    }

    fn get(&self, object: &ObjectRef, revision: u64) -> Option<Revision> {
        let changes = self.0.get(object)?;
        let found = changes.iter().find(|it| it.revision == revision)?;
        Some(Revision {
            of: Some(object.clone()),
            ..found.clone()
        })
    }

    /// Returns the causes of a run.
    async fn causes(&mut self, asked: &Asked<'_>, run: &Run) -> Result<Vec<Cause>, Status> {
        for object in run.triggers.iter().filter_map(|it| it.object.as_ref()) {
            self.read(asked, object).await?;
        }
        let written = |trigger: &Trigger, revision| self.get(trigger.object.as_ref()?, revision);
        Ok(causes_of(run, written))
    }
}

pub(super) async fn run(asked: &Asked<'_>, id: &str) -> Result<Value, Status> {
    let runs = asked.ledger.runs();
    let run = runs.iter().find(|run| run.id == id);
    let run = run.ok_or_else(status::resource_not_found)?;
    let mut changes = Changes::default();
    let mut wrote = Vec::new();
    for request in run.writes() {
        let Some(revision) = request.revision else {
            continue;
        };
        changes.read(asked, &request.object).await?;
        let change = changes.get(&request.object, revision);
        // An unchanged object has the revision of an earlier write.
        wrote.extend(change.filter(|it| it.run.as_deref().is_none_or(|writer| writer == id)));
    }
    wrote.dedup_by_key(|it| it.revision);
    let all = PageQuery {
        after: None,
        limit: Some(usize::MAX),
    };
    let unchanged = asked.ledger.requests(&all, |entry| {
        entry.unchanged && entry.run.as_deref() == Some(id)
    });
    Ok(json!({
        "run": to_json(&**run)?,
        "wrote": to_json(wrote)?,
        "unchanged": to_json(unchanged.items)?,
        "causes": to_json(changes.causes(asked, run).await?)?,
        "caused": caused_by(run, runs.iter().map(|run| &**run)),
    }))
}

pub(super) async fn revision(asked: &Asked<'_>, text: &str) -> Result<Value, Status> {
    let wrong = |_| status::bad_request(format!("{text:?} is not a revision"));
    let revision: u64 = text.parse().map_err(wrong)?;
    let (number, entry) = asked
        .ledger
        .writer(revision)
        .ok_or_else(status::resource_not_found)?;
    let mut commits = entry.commits();
    let commit = commits.find(|commit| commit.revision == revision);
    let object = commit.map(|commit| commit.object()).unwrap_or_default();
    let mut changes = Changes::default();
    changes.read(asked, &object).await?;
    let runs = asked.ledger.runs();
    let run = runs
        .iter()
        .find(|run| Some(run.id.as_str()) == entry.run.as_deref());
    let causes = match run {
        Some(run) => changes.causes(asked, run).await?,
        None => Vec::new(),
    };
    Ok(json!({
        "change": to_json(changes.get(&object, revision))?,
        "request": to_json(entry.to_request(number))?,
        "run": to_json(run.map(|run| &**run))?,
        "causes": to_json(causes)?,
    }))
}
