//! The pods of the operator's workloads: a line for each change of their state.

use std::{collections::HashMap, pin::pin, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, WatchEvent, WatchParams},
};

use super::{event::DevEvent, owners::Owners, screen::Screen};

/// The delay before a watch is restarted.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of pods of a running cluster that are shown at the start. Others are shown when they change.
const AT_FIRST: u32 = 500;

/// The reasons of containers that wait for nothing unusual.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// The state of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PodState {
    /// The state in one word or a few: `Running, 1/1 ready`, `CrashLoopBackOff`.
    pub(super) text: String,
    /// The cause of a failure.
    pub(super) why: String,
    pub(super) failed: bool,
}

/// Shows the pods that belong to objects of the operator while it is polled.
pub(super) async fn pods(client: Client, owners: &Owners, screen: Screen) {
    let api: Api<Pod> = Api::all(client);
    let mut shown: HashMap<String, PodState> = HashMap::new();
    loop {
        // Errors are retried.
        if let Ok(list) = api.list(&ListParams::default().limit(AT_FIRST)).await {
            let from = list.metadata.resource_version.unwrap_or_default();
            for pod in &list.items {
                show(pod, owners, &mut shown, &screen).await;
            }
            if let Ok(stream) = api.watch(&WatchParams::default(), &from).await {
                let mut stream = pin!(stream);
                while let Some(Ok(event)) = stream.next().await {
                    match event {
                        WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                            show(&pod, owners, &mut shown, &screen).await;
                        }
                        WatchEvent::Deleted(pod) => gone(&pod, owners, &mut shown, &screen).await,
                        WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
                    }
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn show(pod: &Pod, owners: &Owners, shown: &mut HashMap<String, PodState>, screen: &Screen) {
    let (uid, state) = (pod.uid().unwrap_or_default(), PodState::of(pod));
    if shown.get(&uid) == Some(&state) {
        return;
    }
    if let Some(owner) = owner(pod, owners).await {
        screen.show(event(pod, owner, &state));
        shown.insert(uid, state);
    }
}

async fn gone(pod: &Pod, owners: &Owners, shown: &mut HashMap<String, PodState>, screen: &Screen) {
    if shown.remove(&pod.uid().unwrap_or_default()).is_some()
        && let Some(owner) = owner(pod, owners).await
    {
        screen.show(event(pod, owner, &PodState::well("Deleted")));
    }
}

async fn owner(pod: &Pod, owners: &Owners) -> Option<String> {
    let namespace = pod.namespace().unwrap_or_default();
    let references = pod.metadata.owner_references.as_deref();
    owners.of(&namespace, references).await
}

fn event(pod: &Pod, owner: String, state: &PodState) -> DevEvent {
    DevEvent::Pod {
        pod: format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any()),
        owner,
        state: state.text.clone(),
        why: state.why.clone(),
        failed: state.failed,
    }
}

impl PodState {
    fn well(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            why: String::new(),
            failed: false,
        }
    }

    fn failed(text: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            why: why.into(),
            failed: true,
        }
    }

    fn of(pod: &Pod) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let phase = status.phase.as_deref().unwrap_or("Pending");
        if pod.metadata.deletion_timestamp.is_some() {
            return Self::well("Terminating");
        }
        if phase == "Failed" && status.reason.is_some() {
            let reason = status.reason.unwrap_or_default();
            return Self::failed(reason, status.message.unwrap_or_default());
        }
        let unscheduled = status
            .conditions
            .iter()
            .flatten()
            .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False");
        if let Some(condition) = unscheduled {
            let reason = condition.reason.as_deref().unwrap_or("Unschedulable");
            return Self::failed(reason, condition.message.as_deref().unwrap_or_default());
        }
        let init = status.init_container_statuses.iter().flatten();
        let main = status.container_statuses.as_deref().unwrap_or_default();
        if let Some(failed) = init.chain(main).find_map(failure) {
            return failed;
        }
        match phase {
            "Succeeded" => Self::well("Completed"),
            "Failed" => Self::failed("Failed", status.message.unwrap_or_default()),
            "Running" => {
                let ready = main.iter().filter(|container| container.ready).count();
                let restarts: i32 = main.iter().map(|container| container.restart_count).sum();
                let restarts = match restarts {
                    0 => String::new(),
                    1 => ", restarted once".to_owned(),
                    times => format!(", restarted {times} times"),
                };
                Self::well(format!("Running, {ready}/{} ready{restarts}", main.len()))
            }
            phase => Self::well(phase),
        }
    }
}

/// Returns the state of a pod whose container failed.
fn failure(container: &ContainerStatus) -> Option<PodState> {
    let state = container.state.as_ref()?;
    let name = &container.name;
    if let Some(waiting) = &state.waiting {
        let reason = waiting.reason.as_deref().unwrap_or_default();
        let is_usual = reason.is_empty() || STARTING.contains(&reason);
        return (!is_usual).then(|| {
            let why = waiting.message.as_deref().unwrap_or_default();
            let last = container.last_state.as_ref();
            let last = last.and_then(|last| last.terminated.as_ref());
            let exit = last.map_or(String::new(), |last| {
                format!("; the last exit code was {}", last.exit_code)
            });
            PodState::failed(reason, format!("container {name}: {why}{exit}"))
        });
    }
    let ended = state.terminated.as_ref()?;
    (ended.exit_code != 0).then(|| {
        let reason = ended.reason.as_deref().unwrap_or("Error");
        let said = ended.message.as_deref().unwrap_or_default();
        let said = said
            .lines()
            .last()
            .map_or(String::new(), |said| format!(": {said}"));
        let why = format!(
            "container {name} exited with code {}{said}",
            ended.exit_code
        );
        PodState::failed(reason, why)
    })
}

#[cfg(test)]
mod tests;
