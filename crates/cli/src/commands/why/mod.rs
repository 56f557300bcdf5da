//! `kubewright why`: explains the state of an object: conditions, owners, recent reconciles with their triggers, the
//! next one, permissions that are missing, and Events; on a server with a ledger also findings and history.

mod field;
mod watch;

use std::{collections::BTreeMap, time::Duration};

use clap::Args;
use k8s_openapi::{api::events::v1::Event, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{Api, Client, ResourceExt, api::ListParams, core::DynamicObject};
use kubewright_ledger::{Finding, Moment, TimelineItem};
use kubewright_rbac::{Advice, Permission, PolicyRule};
use kubewright_scaffold::Error;
use serde_json::{Value, json};

use crate::{
    cluster::{
        kinds::{Kind, Kinds},
        ledger::{LedgerClient, LedgerQuery},
        object::{Located, ObjectArgs},
        refused,
    },
    operator::{
        duration,
        endpoint::{
            self, ControllerStatus, Controllers, KeyStatus, RunStatus, Trigger, operator_address,
        },
    },
    output::{Output, say},
};

/// The maximum number of owners that are followed.
const DEEPEST: usize = 16;

/// The number of recent runs that are shown.
const RUNS: usize = 5;

/// The number of changes, runs and refusals that are shown.
const MOMENTS: usize = 20;

/// The maximum number of Events that are searched.
const EVENTS: u32 = 500;

#[derive(Args)]
pub(crate) struct Why {
    #[command(flatten)]
    object: ObjectArgs,

    /// Address of the operator's debug endpoint [default: that of a running `kubewright dev`, or 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    operator: Option<String>,

    /// Show only what happened in this time before now, e.g. 10m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    since: Option<Duration>,

    /// Then print what happens, until Ctrl-C; needs a server with a ledger
    #[arg(short, long, conflicts_with = "field")]
    watch: bool,

    /// Explain this field only: who owns it, and who set it in which run, e.g. spec.replicas
    #[arg(long, value_name = "PATH")]
    field: Option<String>,

    #[command(flatten)]
    output: Output,
}

/// The object or one of its owners, with the key that controllers use for it.
struct Subject {
    kind: String,
    plural: String,
    key: String,
}

impl Why {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let (client, kinds) = self.object.connect().await?;
        let Located { kind, api, name } = self.object.locate(&client, &kinds)?;
        if let Some(field) = &self.field {
            let reference = self.object.reference(&client, kind)?;
            return field::explain(&client, &reference, field, &self.output).await;
        }
        let object = self.object.found(api.get_opt(name).await)?;
        let reference = self.object.reference(&client, kind)?;
        let since = self.since.map(|since| {
            let since = jiff::SignedDuration::try_from(since).unwrap_or(jiff::SignedDuration::MAX);
            let from = jiff::Timestamp::now().checked_sub(since);
            from.unwrap_or(jiff::Timestamp::MIN).to_string()
        });
        let query = LedgerQuery::of(&reference).with("limit", MOMENTS);
        let query = query.with_some("since", since);
        let ledger = LedgerClient::new(&client).find("timeline", query).await?;
        let subjects = subjects(&client, &kinds, kind, &object).await?;
        let events = events(&client, &object).await?;
        let address = operator_address(self.operator.as_deref());
        let controllers = endpoint::controllers(&address).await;
        if self.output.is_json() {
            let mut value = described(&object, &subjects, &events, &address, &controllers);
            value["ledger"] = ledger.unwrap_or_default();
            return self.output.value(&value);
        }
        let mut text = page(&object, &subjects, &events, &address, &controllers);
        let has_ledger = ledger.is_some();
        if let Some(ledger) = ledger {
            text += &history(ledger)?;
        }
        say(&text)?;
        match self.watch && has_ledger {
            true => watch::follow(&client, &reference).await,
            false => Ok(()),
        }
    }
}

/// Returns the sections that the ledger adds: findings, refused requests and what happened, newest first.
fn history(mut timeline: Value) -> anyhow::Result<String> {
    let findings: Vec<Finding> = serde_json::from_value(timeline["findings"].take())?;
    let items: Vec<TimelineItem> = serde_json::from_value(timeline["items"].take())?;
    let mut text = String::new();
    if !findings.is_empty() {
        text += "\nFINDINGS\n";
        text.extend(findings.iter().map(|it| format!("  {}\n", it.message)));
    }
    text += "\nHISTORY\n";
    for item in items.iter().rev() {
        text += &format!("  {item}\n");
        if let Moment::Denial { denial } = &item.what
            && let Some(rule) = &denial.rule
        {
            let lines = rule.declaration.lines();
            text.extend(lines.map(|line| format!("    add {line}\n")));
        }
    }
    if items.is_empty() {
        text += "  nothing is recorded\n";
    }
    Ok(text)
}

/// Returns the object and its owners, nearest first.
async fn subjects(
    client: &Client,
    kinds: &Kinds,
    kind: &Kind,
    object: &DynamicObject,
) -> Result<Vec<Subject>, Error> {
    let mut subjects = vec![subject(kind, object)];
    let mut next = owner(object).cloned();
    let namespace = object.namespace();
    while let Some(of) = next.take().filter(|_| subjects.len() < DEEPEST) {
        let group = of
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        // The kind of an owner may be gone.
        let Ok(kind) = kinds.find(&format!("{}.{group}", of.kind)) else {
            break;
        };
        let api = kind.api(client, namespace.as_deref());
        let doing = format!("get {}/{}", of.kind, of.name);
        let Some(object) = api
            .get_opt(&of.name)
            .await
            .map_err(|e| refused(doing, &e))?
        else {
            break;
        };
        subjects.push(subject(kind, &object));
        next = owner(&object).cloned();
    }
    Ok(subjects)
}

fn subject(kind: &Kind, object: &DynamicObject) -> Subject {
    let name = object.name_any();
    Subject {
        kind: kind.resource.kind.clone(),
        plural: kind.resource.plural.clone(),
        key: match object.namespace() {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name,
        },
    }
}

/// Returns the controlling owner, or else the first one.
fn owner(object: &DynamicObject) -> Option<&OwnerReference> {
    let owners = object.owner_references();
    let manages = owners.iter().find(|owner| owner.controller == Some(true));
    manages.or(owners.first())
}

async fn events(client: &Client, object: &DynamicObject) -> Result<Vec<Event>, Error> {
    let namespace = object.namespace();
    let api: Api<Event> = match &namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let list = api.list(&ListParams::default().limit(EVENTS)).await;
    let list = list.map_err(|e| refused("list events", &e))?;
    let uid = object.uid();
    let about = |event: &Event| {
        let regarding = event.regarding.as_ref();
        uid.is_some() && regarding.and_then(|it| it.uid.clone()) == uid
    };
    Ok(list.items.into_iter().filter(about).collect())
}

/// Finds what controllers know about the object and its owners.
fn known<'a>(
    controllers: &'a Controllers,
    subjects: &'a [Subject],
) -> Vec<(&'a ControllerStatus, &'a Subject, &'a KeyStatus)> {
    let mut known = Vec::new();
    for subject in subjects {
        for controller in &controllers.controllers {
            let watches = |source: &endpoint::SourceStatus| {
                source.name.split('.').next() == Some(&subject.plural)
            };
            if !controller.sources.iter().any(watches) {
                continue;
            }
            let key = controller.keys.iter().find(|key| key.key == subject.key);
            known.extend(key.map(|key| (controller, subject, key)));
        }
    }
    known
}

/// Finds what the operator lacks, in the errors of its sources and of the runs for the object and its owners.
fn missing_permissions(
    controllers: &std::io::Result<Controllers>,
    subjects: &[Subject],
) -> Vec<Advice> {
    let Ok(controllers) = controllers else {
        return Vec::new();
    };
    let mut users = BTreeMap::<String, Vec<Permission>>::new();
    let mut note = |text: &str| {
        if let Some((user, missing)) = Permission::of_denial(text) {
            users.entry(user).or_default().push(missing);
        }
    };
    let all = controllers.controllers.iter();
    let errors = all
        .flat_map(|it| &it.sources)
        .filter_map(|it| it.error.as_deref());
    errors.for_each(&mut note);
    for (_, _, key) in known(controllers, subjects) {
        // Earlier runs may have failed for what was granted meanwhile.
        note(key.last_result.as_deref().unwrap_or_default());
    }
    let advice = |(user, missing)| Advice::new(user, missing);
    users.into_iter().map(advice).collect()
}

fn conditions(object: &DynamicObject) -> &[Value] {
    let conditions = object.data.pointer("/status/conditions");
    conditions
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn page(
    object: &DynamicObject,
    subjects: &[Subject],
    events: &[Event],
    address: &str,
    controllers: &std::io::Result<Controllers>,
) -> String {
    let mut text = String::new();
    for (at, subject) in subjects.iter().enumerate() {
        let owned = if at == 0 { "" } else { "owned by " };
        text += &format!(
            "{}{owned}{} {}\n",
            "  ".repeat(at),
            subject.kind,
            subject.key
        );
    }
    if object.metadata.deletion_timestamp.is_some() {
        let finalizers = object.finalizers().join(", ");
        text += &format!("being deleted; waiting for finalizers: {finalizers}\n");
    }
    text += "\nCONDITIONS\n";
    for condition in conditions(object) {
        let word = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
        text += &format!(
            "  {}={} {}: {} (since {})\n",
            word("type"),
            word("status"),
            word("reason"),
            word("message"),
            word("lastTransitionTime")
        );
    }
    if conditions(object).is_empty() {
        text += "  none\n";
    }
    text += "\nCONTROLLERS\n";
    match controllers {
        Ok(controllers) => {
            let known = known(controllers, subjects);
            for (controller, subject, key) in &known {
                let name = &controller.name;
                text += &format!("  {name}, for {} {}\n", subject.kind, subject.key);
                text += &key_lines(key);
                text += &run_lines(controller, key);
            }
            if known.is_empty() {
                text += &format!("  not reconciled by the operator at {address}\n");
            }
        }
        Err(error) => {
            text += &format!("  no operator at {address} ({error}); set --operator\n");
        }
    }
    for advice in missing_permissions(controllers, subjects) {
        text += "\nPERMISSIONS\n";
        let lines = advice.to_string();
        text.extend(lines.lines().map(|line| format!("  {line}\n")));
    }
    text += "\nEVENTS\n";
    for event in events {
        let word = |text: &Option<String>| text.clone().unwrap_or_default();
        text += &format!(
            "  {} {}: {}\n",
            word(&event.type_),
            word(&event.reason),
            word(&event.note)
        );
    }
    if events.is_empty() {
        text += "  none\n";
    }
    text
}

fn key_lines(key: &KeyStatus) -> String {
    let mut text = String::new();
    if let Some(trigger) = &key.last_trigger {
        let at = moment(&trigger.at);
        text += &format!("    trigger     {} at {at}\n", trigger.words());
    }
    if let (Some(result), Some(end)) = (&key.last_result, &key.last_end) {
        let took = key.duration_seconds.unwrap_or_default() * 1e3;
        let end = moment(end);
        text += &format!("    last result {result}, took {took:.1} ms, at {end}\n");
    }
    let next = match (key.running, &key.pending_trigger, key.due_in_seconds) {
        (true, ..) => "running".to_owned(),
        (_, Some(trigger), None) => format!("now: {}", trigger.words()),
        (_, _, Some(seconds)) => format!("in {seconds:.1} s"),
        (_, None, None) => "on the next change".to_owned(),
    };
    text + &format!("    next        {next}\n")
}

/// Formats a time with milliseconds, at a fixed width.
fn moment(at: &str) -> String {
    let at = at.trim_end_matches('Z');
    let (seconds, fraction) = at.split_once('.').unwrap_or((at, ""));
    format!("{seconds}.{fraction:0<3.3}Z")
}

/// Returns the most recent runs of a key, latest first.
fn runs<'a>(
    controller: &'a ControllerStatus,
    key: &'a KeyStatus,
) -> impl Iterator<Item = &'a RunStatus> {
    let recent = controller.recent.iter().rev();
    recent.filter(|run| run.key == key.key).take(RUNS)
}

fn run_lines(controller: &ControllerStatus, key: &KeyStatus) -> String {
    let line = |(at, run): (usize, &RunStatus)| {
        let head = if at == 0 { "runs" } else { "" };
        let trigger = run.trigger.as_ref();
        let why = trigger.map(Trigger::words).unwrap_or_default();
        let took = run.duration_seconds * 1e3;
        let (end, result) = (moment(&run.end), &run.result);
        format!("    {head:<11} {end}  {why:<18} -> {result}, took {took:.1} ms\n")
    };
    runs(controller, key).enumerate().map(line).collect()
}

fn described(
    object: &DynamicObject,
    subjects: &[Subject],
    events: &[Event],
    address: &str,
    controllers: &std::io::Result<Controllers>,
) -> Value {
    let owners: Vec<Value> = subjects[1..]
        .iter()
        .map(|owner| json!({"kind": owner.kind, "key": owner.key}))
        .collect();
    let trigger = |trigger: &Option<Trigger>| {
        trigger
            .as_ref()
            .map(|it| json!({"source": it.source, "cause": it.cause, "at": it.at}))
    };
    let known = match controllers {
        Ok(controllers) => known(controllers, subjects),
        Err(_) => Vec::new(),
    };
    let known: Vec<Value> = known
        .into_iter()
        .map(|(controller, subject, key)| {
            let run = |run: &RunStatus| {
                json!({
                    "trigger": trigger(&run.trigger),
                    "result": run.result,
                    "end": run.end,
                    "durationSeconds": run.duration_seconds,
                })
            };
            json!({
                "controller": controller.name,
                "kind": subject.kind,
                "key": key.key,
                "lastTrigger": trigger(&key.last_trigger),
                "lastResult": key.last_result,
                "lastEnd": key.last_end,
                "durationSeconds": key.duration_seconds,
                "running": key.running,
                "pendingTrigger": trigger(&key.pending_trigger),
                "dueInSeconds": key.due_in_seconds,
                "runs": runs(controller, key).map(run).collect::<Vec<_>>(),
            })
        })
        .collect();
    let events: Vec<Value> = events
        .iter()
        .map(|event| json!({"type": event.type_, "reason": event.reason, "note": event.note}))
        .collect();
    let missing: Vec<Value> = missing_permissions(controllers, subjects)
        .iter()
        .flat_map(|advice| {
            let rules = advice.rules();
            let rule =
                |rule: &PolicyRule| json!({"declaration": rule.to_declaration(), "rule": rule});
            rules.iter().map(rule).collect::<Vec<_>>()
        })
        .collect();
    json!({
        "missingPermissions": missing,
        "kind": subjects[0].kind,
        "key": subjects[0].key,
        "owners": owners,
        "conditions": conditions(object),
        "operator": {"address": address, "error": controllers.as_ref().err().map(ToString::to_string)},
        "controllers": known,
        "events": events,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_request_is_shown_with_the_rule_to_add() {
        let refusal = r#"error: ApiError: nodes is forbidden: User "system:serviceaccount:crew-system:crew-controller-manager" cannot list resource "nodes" in API group "" at the cluster scope"#;
        let controllers = Controllers {
            controllers: vec![ControllerStatus {
                name: "captain".into(),
                sources: vec![endpoint::SourceStatus {
                    name: "captains.crew.example.com".into(),
                    ..Default::default()
                }],
                keys: vec![KeyStatus {
                    key: "default/ahab".into(),
                    last_result: Some(refusal.into()),
                    ..KeyStatus::default()
                }],
                ..ControllerStatus::default()
            }],
            ..Controllers::default()
        };
        let subjects = [Subject {
            kind: "Captain".into(),
            plural: "captains".into(),
            key: "default/ahab".into(),
        }];
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "crew.example.com/v1", "kind": "Captain",
            "metadata": {"name": "ahab", "namespace": "default"},
        }))
        .unwrap();
        let controllers = Ok(controllers);
        let text = page(&object, &subjects, &[], "127.0.0.1:1", &controllers);
        let expected = "
PERMISSIONS
  system:serviceaccount:crew-system:crew-controller-manager may not list nodes
  add to the function that registers the operator:
      operator.rule(\"\", &[\"nodes\"], &[\"get\", \"list\", \"watch\"]);
  or to the rules of its role:
      - apiGroups: [\"\"]
        resources: [\"nodes\"]
        verbs: [\"get\", \"list\", \"watch\"]
";
        assert!(text.contains(expected), "{text}");
        let value = described(&object, &subjects, &[], "127.0.0.1:1", &controllers);
        let rule = &value["missingPermissions"][0]["rule"];
        assert_eq!(rule["resources"], json!(["nodes"]));
    }

    #[test]
    fn the_ledger_adds_findings_and_history() {
        let timeline = json!({
            "findings": [{"kind": "hotLoop", "severity": "error", "message": "captain runs default/ahab 9 times a second"}],
            "items": [
                {"time": "2026-01-01T00:00:00Z", "type": "change", "change": {
                    "revision": 7, "change": "updated", "fieldManager": "captain", "run": "crew/captain/3",
                    "summary": "spec.replicas 1 -> 3",
                }},
            ],
        });
        assert_eq!(
            history(timeline).unwrap(),
            "\nFINDINGS\n  captain runs default/ahab 9 times a second\n\nHISTORY\n  \
             00:00:00.000  revision 7 by captain in run crew/captain/3: spec.replicas 1 -> 3\n"
        );
    }

    #[test]
    fn times_are_shown_to_the_millisecond() {
        let second = "2026-01-01T00:00:00";
        assert_eq!(moment(&format!("{second}Z")), format!("{second}.000Z"));
        assert_eq!(moment(&format!("{second}.1Z")), format!("{second}.100Z"));
        let nanos = format!("{second}.123456789Z");
        assert_eq!(moment(&nanos), format!("{second}.123Z"));
    }
}
