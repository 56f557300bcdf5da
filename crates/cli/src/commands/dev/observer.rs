//! Observes a running operator: the status of its controllers, the requests it was denied, and Events about its objects.

use std::{
    collections::{BTreeSet, HashMap},
    pin::pin,
    time::Duration,
};

use futures_util::StreamExt;
use k8s_openapi::api::events::v1::Event;
use kube::{
    Api, Client,
    api::{ListParams, WatchEvent, WatchParams},
};
use kubewright_cluster::{Access, AccessLog, Advice};
use kubewright_rbac::PolicyRule;
use tokio::sync::watch;

use super::{event::DevEvent, owners::Owners, screen::Screen};
use crate::operator::endpoint::{self, Controllers, RunStatus};

/// The polling interval.
const EVERY: Duration = Duration::from_millis(200);

/// The reasons of warnings that the state of a pod also tells.
const TOLD_BY_PODS: [&str; 3] = ["BackOff", "Failed", "FailedScheduling"];

/// The delay before a watch is restarted.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows the reconciles while it is polled. The address changes with the operator.
pub(super) async fn reconciles(address: watch::Receiver<Option<String>>, screen: Screen) {
    let mut known: HashMap<String, u64> = HashMap::new();
    let mut of = None;
    loop {
        tokio::time::sleep(EVERY).await;
        let now = address.borrow().clone();
        if now != of {
            known.clear();
            of.clone_from(&now);
        }
        let Some(now) = now else {
            continue;
        };
        // There is no answer while the operator restarts.
        if let Ok(controllers) = endpoint::controllers(&now).await {
            for event in news(&controllers, &mut known) {
                screen.show(event);
            }
            screen.controllers(controllers);
        }
    }
}

/// Returns the runs that ended since the last poll, and the number of runs left out.
fn news(controllers: &Controllers, known: &mut HashMap<String, u64>) -> Vec<DevEvent> {
    let mut all: Vec<(&str, DevEvent)> = Vec::new();
    for controller in &controllers.controllers {
        let seen = known.insert(controller.name.clone(), controller.runs);
        let seen = seen.unwrap_or_default();
        let new = controller.recent.iter().filter(|run| run.number > seen);
        let new: Vec<_> = new.collect();
        let missed = controller
            .runs
            .saturating_sub(seen)
            .saturating_sub(new.len() as u64);
        if missed > 0 {
            let event = DevEvent::Missed {
                controller: controller.name.clone(),
                count: missed,
            };
            all.push((new.first().map_or("", |run| &run.end), event));
        }
        all.extend(
            new.into_iter()
                .map(|run| (&*run.end, reconcile(&controller.name, run))),
        );
    }
    all.sort_by_key(|(end, _)| *end);
    all.into_iter().map(|(_, event)| event).collect()
}

fn reconcile(controller: &str, run: &RunStatus) -> DevEvent {
    let trigger = run.trigger.as_ref();
    DevEvent::Reconcile {
        controller: controller.to_owned(),
        key: run.key.clone(),
        trigger: trigger.map(|trigger| trigger.words()).unwrap_or_default(),
        result: run.result.clone(),
        seconds: run.duration_seconds,
        failed: run.failed,
    }
}

/// Shows the permissions that service accounts lack, once each, while it is polled.
pub(super) async fn denials(log: AccessLog, screen: Screen) {
    let mut denials = log.denials();
    let mut shown = BTreeSet::new();
    loop {
        let all = log.all().into_iter();
        let denied = all
            .filter(|access| !access.allowed && access.user.starts_with("system:serviceaccount:"));
        for access in denied {
            // One rule is for all objects of a resource, so it is shown for one of them.
            let rules = Advice::new(&access.user, [access.permission.clone()]).rules();
            if shown.insert((
                access.user.clone(),
                access.permission.namespace.clone(),
                rules,
            )) {
                screen.show(denied_event(&access));
            }
        }
        if denials.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

fn denied_event(access: &Access) -> DevEvent {
    let advice = Advice::new(&access.user, [access.permission.clone()]);
    let rules = advice.rules();
    let declarations: Vec<String> = rules.iter().map(PolicyRule::to_declaration).collect();
    let yaml: Vec<String> = rules.iter().flat_map(PolicyRule::to_yaml_lines).collect();
    DevEvent::Denied {
        user: access.user.clone(),
        permission: access.permission.to_string(),
        declaration: declarations.join(" "),
        yaml: yaml.join("\n"),
    }
}

/// Shows Events about objects of the operator, and warnings about what belongs to them, while it is polled.
pub(super) async fn events(client: Client, owners: &Owners, screen: Screen) {
    let api: Api<Event> = Api::all(client);
    loop {
        // Events from before the start are not shown. Errors are retried.
        if let Ok(list) = api.list(&ListParams::default().limit(1)).await {
            let from = list.metadata.resource_version.unwrap_or_default();
            if let Ok(stream) = api.watch(&WatchParams::default(), &from).await {
                let mut stream = pin!(stream);
                while let Some(Ok(event)) = stream.next().await {
                    if let WatchEvent::Added(event) | WatchEvent::Modified(event) = event
                        && let Some(event) = shown(&event, owners).await
                    {
                        screen.show(event);
                    }
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn shown(event: &Event, owners: &Owners) -> Option<DevEvent> {
    let about = event.regarding.as_ref()?;
    let version = about.api_version.as_deref().unwrap_or_default();
    let kind = about.kind.as_deref().unwrap_or_default();
    let name = about.name.as_deref().unwrap_or_default();
    let reason = event.reason.as_deref().unwrap_or_default();
    let warning = event.type_.as_deref() == Some("Warning");
    if !owners.is_own(version) {
        let is_told = kind == "Pod" && TOLD_BY_PODS.contains(&reason);
        if !warning || is_told {
            return None;
        }
        let namespace = about.namespace.as_deref().unwrap_or_default();
        owners.of_named(namespace, version, kind, name).await?;
    }
    Some(DevEvent::Event {
        warning,
        object: format!("{}/{name}", kind.to_lowercase()),
        reason: reason.to_owned(),
        note: event.note.clone().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::endpoint::ControllerStatus;

    fn after(runs: u64, recent: std::ops::RangeInclusive<u64>) -> Controllers {
        let run = |number| RunStatus {
            number,
            key: "default/a".into(),
            end: format!("{number:04}"),
            ..RunStatus::default()
        };
        Controllers {
            controllers: vec![ControllerStatus {
                name: "captain".into(),
                runs,
                recent: recent.map(run).collect(),
                ..ControllerStatus::default()
            }],
            ..Controllers::default()
        }
    }

    #[test]
    fn each_run_is_news_once() {
        let mut known = HashMap::new();
        assert_eq!(news(&after(2, 1..=2), &mut known).len(), 2);
        assert_eq!(news(&after(2, 1..=2), &mut known).len(), 0);
        assert_eq!(news(&after(3, 1..=3), &mut known).len(), 1);
    }

    #[test]
    fn missed_runs_are_counted() {
        let mut known = HashMap::new();
        news(&after(2, 1..=2), &mut known);
        let events = news(&after(200, 101..=200), &mut known);
        assert_eq!(events.len(), 101);
        assert!(matches!(events[0], DevEvent::Missed { count: 98, .. }));
    }
}
