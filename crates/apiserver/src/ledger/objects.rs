//! History, fields, blame and timeline of an object.

use std::collections::HashMap;

use jiff::Timestamp;
use kubewright_ledger::{BlamedLine, Bounds, Page, PageQuery, Path, Revision, owners, yaml_lines};
use kubewright_machinery::{Status, status};
use serde_json::{Value, json};

use super::{
    conclusions,
    endpoints::to_json,
    parameters::{Asked, Moment, Target},
};

/// The maximum number of owned fields in an answer.
const MAX_FIELDS: usize = 5000;

/// The maximum number of lines in an answer.
const MAX_LINES: usize = 10_000;

pub(super) async fn history(asked: &Asked<'_>) -> Result<Value, Status> {
    let (target, moment, page) = (asked.target()?, asked.moment()?, asked.page()?);
    let whole = asked.choice("objects")?.unwrap_or_default();
    let path = asked.text("path");
    let (revisions, complete) = target.revisions(asked.ledger, moment).await?;
    if revisions.is_empty() {
        // The object may be older than all that is kept.
        target.at(moment).await?;
    }
    let bounds = Bounds {
        first: revisions.first().map_or(0, |it| it.revision),
        last: revisions.last().map_or(0, |it| it.revision),
        ..Bounds::default()
    };
    let touched = |it: &&Revision| path.is_empty() || it.touches(path);
    let chosen = revisions.iter().filter(touched);
    let chosen = chosen.map(|it| (it.revision, it.clone()));
    let mut page = Page::of(bounds, &page, chosen, |_, it| it);
    // Numbers between two revisions belong to other objects, so none of them is missing.
    if complete {
        page.missed = 0;
    }
    if whole {
        for item in &mut page.items {
            item.object = object_of(&target, item).await?;
        }
    }
    let mut answer = to_json(page)?;
    answer["complete"] = complete.into();
    Ok(answer)
}

/// Returns the object as a revision left it.
async fn object_of(target: &Target, item: &Revision) -> Result<Option<Value>, Status> {
    let moment = Moment {
        revision: Some(item.revision),
        time: Timestamp::MIN,
    };
    match target.at(moment).await {
        Ok((_, object)) => Ok(Some(object)),
        // A deletion leaves none.
        Err(error) if error.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) async fn object(asked: &Asked<'_>) -> Result<Value, Status> {
    let (revision, object) = asked.target()?.at(asked.moment()?).await?;
    Ok(json!({"revision": revision, "object": object}))
}

/// The last change of each path.
struct LastChanges<'a>(HashMap<&'a str, &'a Revision>);

impl<'a> LastChanges<'a> {
    fn of(revisions: &'a [Revision]) -> Self {
        let mut last = HashMap::new();
        for revision in revisions {
            for change in &revision.diff {
                last.insert(change.path.as_str(), revision);
            }
        }
        Self(last)
    }

    /// Returns the last change of a field or of one that contains it.
    fn of_field(&self, path: &Path) -> Option<&'a Revision> {
        let prefixes = path.prefixes().map(|steps| Path::from(steps).to_string());
        let changes = prefixes.filter_map(|prefix| self.0.get(prefix.as_str()).copied());
        changes.max_by_key(|revision| revision.revision)
    }
}

pub(super) async fn fields(asked: &Asked<'_>) -> Result<Value, Status> {
    let (target, moment) = (asked.target()?, asked.moment()?);
    let (revision, object) = target.at(moment).await?;
    let (revisions, _) = target.revisions(asked.ledger, moment).await?;
    let last = LastChanges::of(&revisions);
    let wanted = asked.text("path");
    let mut items = Vec::new();
    let mut truncated = false;
    for field in owners(&object) {
        let path = field.path.to_string();
        let below = path.strip_prefix(wanted);
        let is_wanted = below.is_some_and(|rest| {
            wanted.is_empty() || rest.is_empty() || rest.starts_with(['.', '['])
        });
        if !is_wanted {
            continue;
        }
        if items.len() == MAX_FIELDS {
            truncated = true;
            break;
        }
        let mut item = to_json(&field.owner)?;
        item["path"] = path.into();
        if let Some(change) = last.of_field(&field.path) {
            item["revision"] = change.revision.into();
            item["user"] = change.user.as_str().into();
            if let Some(run) = &change.run {
                item["run"] = run.as_str().into();
            }
        }
        items.push(item);
    }
    Ok(json!({"revision": revision, "items": items, "truncated": truncated}))
}

pub(super) async fn blame(asked: &Asked<'_>) -> Result<Value, Status> {
    let (target, moment) = (asked.target()?, asked.moment()?);
    let (revision, object) = target.at(moment).await?;
    let (revisions, _) = target.revisions(asked.ledger, moment).await?;
    let last = LastChanges::of(&revisions);
    let lines = yaml_lines(&object, &owners(&object)).map_err(status::internal)?;
    let truncated = lines.len() > MAX_LINES;
    let blamed = lines.into_iter().take(MAX_LINES).map(|(line, path)| {
        let change = last.of_field(&path);
        BlamedLine {
            revision: change.map(|change| change.revision),
            user: change.map_or_else(String::new, |change| change.user.clone()),
            run: change.and_then(|change| change.run.clone()),
            ..line
        }
    });
    let lines: Vec<BlamedLine> = blamed.collect();
    Ok(json!({"revision": revision, "lines": to_json(lines)?, "truncated": truncated}))
}

pub(super) async fn timeline(asked: &Asked<'_>) -> Result<Value, Status> {
    let (target, moment, page) = (asked.target()?, asked.moment()?, asked.page()?);
    let since = match asked.text("since") {
        "" => Timestamp::MIN,
        text => text
            .parse()
            .map_err(|_| status::bad_request(format!("since: {text:?} is not a time")))?,
    };
    let ledger = asked.ledger;
    let (revisions, complete) = target.revisions(ledger, moment).await?;
    let mut items: Vec<(Timestamp, Value)> = Vec::new();
    let mut before = Timestamp::MIN;
    for change in &revisions {
        // The server's own writes have no request; they stand after the write before them.
        before = change.time.unwrap_or(before);
        let time = change.time.map(|time| time.to_string());
        items.push((
            before,
            json!({"time": time, "type": "change", "change": to_json(change)?}),
        ));
    }
    let about = |run: &kubewright_ledger::Run| run.object().as_ref() == Some(&target.object);
    for run in ledger
        .runs()
        .iter()
        .filter(|run| about(run) && moment.has_run(run))
    {
        let item = json!({"time": run.start.to_string(), "type": "run", "run": to_json(&**run)?});
        items.push((run.start, item));
    }
    let all = PageQuery {
        after: None,
        limit: Some(usize::MAX),
    };
    let denials = ledger.denials(&all, |entry| {
        entry.is_about(&target.object) && moment.has_entry(entry)
    });
    for denial in denials.items {
        let time = denial.request.time;
        let item = json!({"time": time.to_string(), "type": "denial", "denial": to_json(denial)?});
        items.push((time, item));
    }
    let unchanged = ledger.requests(&all, |entry| {
        entry.unchanged && entry.is_about(&target.object) && moment.has_entry(entry)
    });
    for request in unchanged.items {
        let time = request.time;
        let item =
            json!({"time": time.to_string(), "type": "unchanged", "request": to_json(request)?});
        items.push((time, item));
    }
    if items.is_empty() {
        target.at(moment).await?;
    }
    items.retain(|(time, _)| *time >= since);
    items.sort_by_key(|(time, _)| *time);
    let newest = items.len().saturating_sub(page.limit());
    let items: Vec<Value> = items.drain(newest..).map(|(_, item)| item).collect();
    let about = Some(&target.object);
    let findings = conclusions::of_object(asked, moment, about).await?;
    Ok(json!({
        "items": items,
        "complete": complete,
        "pending": pending(asked, &target),
        "findings": findings,
    }))
}

/// Returns what controllers are about to do for an object.
fn pending(asked: &Asked<'_>, target: &Target) -> Vec<Value> {
    let key = target.object.key();
    let mut pending = Vec::new();
    for (_, manager) in asked.ledger.managers(asked.now) {
        for controller in &manager.controllers {
            let is = |field: &str, value: &str| controller[field] == value;
            if !is("group", &target.object.group) || !is("resource", &target.object.resource) {
                continue;
            }
            let keys = controller["keys"].as_array().into_iter().flatten();
            for status in keys.filter(|it| it["key"] == key.as_str()) {
                let is_due = status.get("dueInSeconds").is_some();
                let is_queued = status.get("pendingTrigger").is_some();
                if !is_due && !is_queued && status["running"] != true {
                    continue;
                }
                let mut item = status.clone();
                item["manager"] = manager.manager.as_str().into();
                item["controller"] = controller["name"].clone();
                pending.push(item);
            }
        }
    }
    pending
}
