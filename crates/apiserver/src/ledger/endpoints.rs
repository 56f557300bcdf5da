//! The routes below `/kubewright/v1`, and the lists.

use http::{Method, Response};
use jiff::Timestamp;
use kubewright_ledger::{Entry, Request, Run};
use kubewright_machinery::{Status, status};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Recorder, conclusions, explain, objects, parameters::Asked, reports};
use crate::{
    body::Body,
    registry::{Registry, Resource},
    respond::{Media, encode::response},
    server::Incoming,
    verbs,
};

/// The path of all endpoints.
const PATH: &str = "/kubewright/v1";

/// Reports whether a path is that of an endpoint.
pub(crate) fn is_endpoint(path: &str) -> bool {
    path.strip_prefix(PATH)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Answers a request to an endpoint.
pub(crate) async fn answer(
    recorder: &Recorder,
    registry: &Registry,
    incoming: Incoming,
) -> Result<Response<Body>, Status> {
    let Incoming {
        request,
        info,
        query,
        ..
    } = incoming;
    if reports::is_report(&info) {
        return reports::take(recorder, request).await;
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return Err(verbs::not_allowed());
    }
    let asked = Asked {
        ledger: &recorder.ledger,
        registry,
        query: &query,
        now: recorder.clock.now(),
    };
    let path = info.path.strip_prefix(PATH).unwrap_or_default();
    let segments: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
    let value = match *segments.as_slice() {
        [] => index(&asked).await?,
        ["requests"] => requests(&asked)?,
        ["denials"] => denials(&asked)?,
        ["history"] => objects::history(&asked).await?,
        ["object"] => objects::object(&asked).await?,
        ["fields"] => objects::fields(&asked).await?,
        ["blame"] => objects::blame(&asked).await?,
        ["timeline"] => objects::timeline(&asked).await?,
        ["runs"] => runs(&asked)?,
        ["runs", manager, controller, number] => {
            explain::run(&asked, &format!("{manager}/{controller}/{number}")).await?
        }
        ["revisions", revision] => explain::revision(&asked, revision).await?,
        ["controllers"] => controllers(&asked),
        ["findings"] => conclusions::findings(&asked).await?,
        _ => return Err(status::resource_not_found()),
    };
    Ok(json_response(&value))
}

pub(super) fn json_response(value: &Value) -> Response<Body> {
    let mut text = value.to_string();
    text.push('\n');
    response(200, Media::Json.name(), text)
}

/// Returns the JSON of a value of this crate.
pub(super) fn to_json(value: impl Serialize) -> Result<Value, Status> {
    serde_json::to_value(value).map_err(status::internal)
}

async fn index(asked: &Asked<'_>) -> Result<Value, Status> {
    let [requests, denials, runs] = asked.ledger.bounds();
    let resources = asked.registry.groups().iter();
    let mut resources = resources
        .flat_map(|group| &group.versions)
        .flat_map(|(_, resources)| resources);
    let history = resources
        .find_map(|resource: &std::sync::Arc<Resource>| resource.handlers().history.as_ref());
    let (revision, oldest) = match history {
        Some(history) => history.revisions().await?,
        None => (0, 0),
    };
    Ok(json!({
        "version": "v1",
        "revision": revision,
        "oldestRevision": oldest,
        "requests": to_json(requests)?,
        "denials": to_json(denials)?,
        "runs": to_json(runs)?,
    }))
}

/// Returns the filter that the parameters describe.
fn filter<'a>(asked: &'a Asked<'_>) -> Result<impl Fn(&Entry) -> bool + 'a, Status> {
    let moment = asked.moment()?;
    let changed = asked.choice("changed")?;
    let code = asked.number("code")?;
    let is = |name: &str, value: &str| asked.query.first(name).is_none_or(|it| it == value);
    Ok(move |entry: &Entry| {
        let (kind, caller) = (entry.kind(), entry.caller());
        let (namespace, name) = entry.key.split_once('/').unwrap_or(("", &entry.key));
        moment.has_entry(entry)
            && changed.is_none_or(|changed| changed != entry.unchanged)
            && code.is_none_or(|code| code == u64::from(entry.code))
            && is("group", kind.group)
            && is("resource", kind.resource)
            && is("namespace", namespace)
            && is("name", name)
            && is("verb", kind.verb)
            && is("user", caller.user)
            && is("manager", caller.field_manager)
            && is("run", entry.run.as_deref().unwrap_or_default())
    })
}

fn requests(asked: &Asked<'_>) -> Result<Value, Status> {
    let mut page = asked.ledger.requests(&asked.page()?, filter(asked)?);
    let runs = asked.ledger.runs();
    for request in page.items.iter_mut().filter(|it| it.run.is_none()) {
        request.guessed_run = guess(request, runs.iter().map(|run| &**run));
    }
    to_json(page)
}

/// Returns the run that probably made a request: the only one of the controller with the name of the field manager then.
fn guess<'a>(request: &Request, runs: impl Iterator<Item = &'a Run>) -> Option<String> {
    let fits = |run: &&Run| {
        run.controller == request.field_manager && (run.start..=run.end).contains(&request.time)
    };
    let mut fitting = runs.filter(fits);
    let run = fitting.next()?;
    fitting.next().is_none().then(|| run.id.clone())
}

fn denials(asked: &Asked<'_>) -> Result<Value, Status> {
    to_json(asked.ledger.denials(&asked.page()?, filter(asked)?))
}

fn runs(asked: &Asked<'_>) -> Result<Value, Status> {
    let moment = asked.moment()?;
    let failed = asked.choice("failed")?;
    let is = |name: &str, value: &str| asked.query.first(name).is_none_or(|it| it == value);
    let page = asked.ledger.runs_page(&asked.page()?, |run| {
        moment.has_run(run)
            && failed.is_none_or(|failed| failed == run.failed)
            && is("manager", &run.manager)
            && is("controller", &run.controller)
            && is("key", &run.key)
    });
    Ok(json!({
        "first": page.first, "last": page.last, "next": page.next, "missed": page.missed,
        "items": page.items.iter().map(|run| to_json(&**run)).collect::<Result<Vec<_>, _>>()?,
    }))
}

fn controllers(asked: &Asked<'_>) -> Value {
    let managers = asked.ledger.managers(asked.now);
    let item = |(seen, report): &(Timestamp, std::sync::Arc<kubewright_ledger::ManagerReport>)| {
        json!({
            "manager": report.manager,
            "seen": seen.to_string(),
            "leading": report.leading,
            "namespaces": report.namespaces,
            "caches": report.caches,
            "controllers": report.controllers,
        })
    };
    json!({"items": managers.iter().map(item).collect::<Vec<_>>()})
}
