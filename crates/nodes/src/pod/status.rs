//! The status of a pod, as a kubelet writes it.

use std::hash::{BuildHasher, Hasher};

use jiff::Timestamp;
use kubewright_scheduler::PodRejection;
use serde_json::{Map, Value, json};

use super::{
    container::{Ended, Now},
    plan::{ContainerPlan, Kind, Plan},
    resize,
    state::{Phase, PodState},
};
use crate::image::{digest, full_name, hex};

/// The conditions that a kubelet writes, in order.
pub(crate) const CONDITIONS: [&str; 5] = [
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
];

/// The condition of pods that are about to be terminated by a disruption.
const DISRUPTION: &str = "DisruptionTarget";

/// The longest termination message of a container, in bytes.
const LONGEST_MESSAGE: usize = 4096;

/// The length that the termination messages of all containers share, in bytes.
const ALL_MESSAGES: usize = 12 << 10;

/// A condition without its timestamps.
struct Draft {
    is_true: bool,
    reason: &'static str,
    message: String,
}

impl Draft {
    fn yes() -> Self {
        Self::new(true, "", String::new())
    }

    fn new(is_true: bool, reason: &'static str, message: String) -> Self {
        Self {
            is_true,
            reason,
            message,
        }
    }
}

impl PodState {
    /// Returns the patch that writes the status; `None` if the server has that status.
    pub(crate) fn patch(
        &mut self,
        plan: &Plan,
        host_ip: &str,
        now: Timestamp,
    ) -> Option<(Vec<u8>, u64)> {
        if let Some(rejection) = &self.rejection {
            return self.rejected(plan, rejection);
        }
        let drafts = self.drafts(plan);
        let mut conditions = Vec::with_capacity(CONDITIONS.len() + 1);
        if let Some(message) = &self.disruption {
            conditions.push(json!({
                "type": DISRUPTION, "status": "True", "reason": "TerminationByKubelet", "message": message,
                "lastProbeTime": null, "lastTransitionTime": seconds(now), "observedGeneration": plan.generation,
            }));
        }
        conditions.extend(self.resize_conditions());
        let mut differs = false;
        for (slot, (name, draft)) in CONDITIONS.into_iter().zip(&drafts).enumerate() {
            let known = self.conditions[slot].filter(|(was, _)| *was == draft.is_true);
            let since = match (known, name) {
                (Some((_, since)), _) => since,
                // The API server sets it when the pod is bound.
                (None, "PodScheduled") => plan.transition(name).unwrap_or(now),
                (None, _) => now,
            };
            self.conditions[slot] = Some((draft.is_true, since));
            differs |= plan.shows_otherwise(name, draft.is_true);
            conditions.push(draft.render(name, since, plan.generation));
        }
        let is_shown = |name: &str| {
            self.shows_resize || plan.status.conditions.iter().any(|c| c.type_ == name)
        };
        let removed: Vec<Value> = resize::CONDITIONS
            .into_iter()
            .filter(|name| conditions.iter().all(|c| c["type"] != *name))
            .filter(|name| is_shown(name))
            .map(|name| json!({"$patch": "delete", "type": name}))
            .collect();
        differs |= !removed.is_empty();
        self.shows_resize = self.resize.is_some();
        let status = self.render(plan, host_ip, &conditions);
        let text = serde_json::to_vec(&status).ok()?;
        let hash = hash(&text);
        if self.written == Some(hash) && !differs {
            return None;
        }
        let ours = |name: &str| {
            CONDITIONS.contains(&name)
                || resize::CONDITIONS.contains(&name)
                || (name == DISRUPTION && self.disruption.is_some())
        };
        let foreign = plan.status.conditions.iter().map(|c| c.type_.as_str());
        let order: Vec<Value> = foreign
            .filter(|name| !ours(name))
            .chain(conditions.iter().filter_map(|c| c["type"].as_str()))
            .map(|name| json!({"type": name}))
            .collect();
        let Value::Object(mut status) = status else {
            return None;
        };
        if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
            conditions.extend(removed);
        }
        status.insert(
            "$setElementOrder/conditions".to_owned(),
            Value::Array(order),
        );
        let patch = json!({"metadata": {"uid": self.uid}, "status": status});
        Some((serde_json::to_vec(&patch).ok()?, hash))
    }

    /// Returns the patch of a pod that the node never ran: it has no conditions and no containers.
    fn rejected(&self, plan: &Plan, rejection: &PodRejection) -> Option<(Vec<u8>, u64)> {
        let shown = plan.status.conditions.iter().map(|c| c.type_.as_str());
        let removed: Vec<Value> = shown
            .filter(|name| CONDITIONS.contains(name))
            .map(|name| json!({"$patch": "delete", "type": name}))
            .collect();
        let mut status = json!({
            "observedGeneration": plan.generation,
            "phase": self.phase.as_str(),
            "reason": rejection.reason,
            "message": format!("Pod was rejected: {}", rejection.message),
            "startTime": seconds(self.start),
        });
        let hash = hash(&serde_json::to_vec(&status).ok()?);
        if self.written == Some(hash) && removed.is_empty() {
            return None;
        }
        if !removed.is_empty() {
            status["conditions"] = Value::Array(removed);
        }
        let patch = json!({"metadata": {"uid": self.uid}, "status": status});
        Some((serde_json::to_vec(&patch).ok()?, hash))
    }

    /// Records that the server has the status.
    pub(crate) fn note_written(&mut self, hash: u64, version: String) {
        self.written = Some(hash);
        self.version = version;
        for container in &mut self.containers {
            container.is_written = true;
        }
    }

    fn drafts(&self, plan: &Plan) -> [Draft; 5] {
        let containers_ready = self.containers_ready(plan);
        let ready = match containers_ready.is_true {
            true => plan.gates(),
            false => Draft::new(
                false,
                containers_ready.reason,
                containers_ready.message.clone(),
            ),
        };
        let sandbox = Draft::new(self.has_sandbox, "", String::new());
        [
            sandbox,
            self.initialized(plan),
            ready,
            containers_ready,
            Draft::yes(),
        ]
    }

    fn initialized(&self, plan: &Plan) -> Draft {
        if self.phase == Phase::Succeeded {
            return Draft::new(true, "PodCompleted", String::new());
        }
        let incomplete = |i: usize, container: &ContainerPlan| match container.kind {
            Kind::Init => !self.containers[i].has_succeeded(),
            Kind::Sidecar => !self.containers[i].is_started,
            Kind::Main | Kind::Ephemeral => false,
        };
        let names = self.names(plan, |i, container| incomplete(i, container));
        if names.is_empty() || self.was_initialized {
            return Draft::yes();
        }
        let text = format!("containers with incomplete status: [{}]", names.join(" "));
        Draft::new(false, "ContainersNotInitialized", text)
    }

    fn containers_ready(&self, plan: &Plan) -> Draft {
        match self.phase {
            Phase::Succeeded => return Draft::new(false, "PodCompleted", String::new()),
            Phase::Failed => return Draft::new(false, "PodFailed", String::new()),
            Phase::Pending | Phase::Running => {}
        }
        let names = self.names(plan, |i, container| {
            matches!(container.kind, Kind::Main | Kind::Sidecar) && !self.containers[i].is_ready
        });
        if names.is_empty() {
            return Draft::yes();
        }
        let text = format!("containers with unready status: [{}]", names.join(" "));
        Draft::new(false, "ContainersNotReady", text)
    }

    fn names<'a>(
        &self,
        plan: &'a Plan,
        wanted: impl Fn(usize, &ContainerPlan) -> bool,
    ) -> Vec<&'a str> {
        let containers = plan.containers.iter().enumerate();
        let wanted = containers.filter(|(i, container)| wanted(*i, container));
        wanted
            .map(|(_, container)| container.raw.name.as_str())
            .collect()
    }

    fn render(&self, plan: &Plan, host_ip: &str, conditions: &[Value]) -> Value {
        let mut status = Map::new();
        let mut put = |name: &str, value: Value| {
            status.insert(name.to_owned(), value);
        };
        put("observedGeneration", json!(plan.generation));
        put("phase", json!(self.phase.as_str()));
        put("conditions", json!(conditions));
        put("hostIP", json!(host_ip));
        put("hostIPs", json!([{"ip": host_ip}]));
        let ip = match plan.spec.host_network {
            true => Some(host_ip.to_owned()),
            false => self.ip.map(|ip| ip.to_string()),
        };
        if let Some(ip) = ip {
            put("podIPs", json!([{"ip": ip}]));
            put("podIP", json!(ip));
        }
        if let Some((allocated, actual)) = self.resources_of_pod(plan) {
            put("allocatedResources", allocated["requests"].clone());
            put("resources", actual.clone());
        }
        put("startTime", json!(seconds(self.start)));
        if let Some((reason, message)) = &self.failure {
            put("reason", json!(reason));
            put("message", json!(message));
        }
        for (name, kinds) in [
            ("initContainerStatuses", &[Kind::Init, Kind::Sidecar][..]),
            ("containerStatuses", &[Kind::Main]),
            ("ephemeralContainerStatuses", &[Kind::Ephemeral]),
        ] {
            let containers = 0..plan.containers.len().min(self.containers.len());
            let containers = containers.filter(|i| kinds.contains(&plan.containers[*i].kind));
            let mut containers: Vec<usize> = containers.collect();
            if name == "containerStatuses" {
                containers.sort_by_key(|i| plan.containers[*i].raw.name.as_str());
            }
            let statuses = containers.into_iter().map(|i| self.container(plan, i));
            let statuses: Vec<Value> = statuses.collect();
            if !statuses.is_empty() {
                put(name, Value::Array(statuses));
            }
        }
        Value::Object(status)
    }

    fn container(&self, plan: &Plan, i: usize) -> Value {
        let (container, state) = (&plan.containers[i], &self.containers[i]);
        let raw = &container.raw;
        let has_run = state.last.is_some() || !matches!(state.now, Now::Waiting { .. });
        let id = |restarts: u32| {
            let digits = hex(&[&self.uid, &raw.name, &restarts.to_string()]);
            format!("containerd://{digits}")
        };
        let ended = |ended: &Ended, restarts: u32| {
            let mut value = json!({
                "exitCode": ended.code, "reason": ended.reason, "finishedAt": seconds(ended.finished),
            });
            if let Some(started) = ended.started {
                value["startedAt"] = json!(seconds(started));
                value["containerID"] = json!(id(restarts));
            } else {
                value["startedAt"] = Value::Null;
                value["finishedAt"] = Value::Null;
            }
            if !ended.message.is_empty() {
                value["message"] = json!(cut(&ended.message, plan.containers.len()));
            }
            json!({"terminated": value})
        };
        let now = match &state.now {
            Now::Waiting {
                reason, message, ..
            } if message.is_empty() => json!({"waiting": {"reason": reason}}),
            Now::Waiting {
                reason, message, ..
            } => json!({"waiting": {"reason": reason, "message": message}}),
            Now::Running { since, .. } => json!({"running": {"startedAt": seconds(*since)}}),
            Now::Ended(end) => ended(end, state.restarts),
        };
        let last = match &state.last {
            // A container in backoff keeps the restart count of its last run.
            Some(last) if matches!(state.now, Now::Waiting { .. }) => ended(last, state.restarts),
            Some(last) => ended(last, state.restarts.saturating_sub(1)),
            None => json!({}),
        };
        let mut status = json!({
            "name": raw.name,
            "state": now,
            "lastState": last,
            "ready": match container.kind {
                Kind::Init => state.has_succeeded(),
                Kind::Ephemeral => false,
                Kind::Main | Kind::Sidecar => state.is_ready,
            },
            "restartCount": state.restarts,
            "image": match has_run {
                true => full_name(&raw.image),
                false => raw.image.clone(),
            },
            "imageID": match has_run {
                true => digest(&raw.image),
                false => String::new(),
            },
            "started": state.is_started,
        });
        if has_run && state.ended().is_none_or(|ended| ended.started.is_some()) {
            status["containerID"] = json!(id(state.restarts));
        }
        if state.is_running() {
            let (uid, gid) = plan.user(container);
            let groups = plan.groups(gid);
            status["user"] =
                json!({"linux": {"uid": uid, "gid": gid, "supplementalGroups": groups}});
            let (allocated, actual) = self.resources_of(plan, i);
            status["resources"] = match actual {
                Value::Null => json!({}),
                resources => resources.clone(),
            };
            if let Some(requests) = allocated.get("requests") {
                status["allocatedResources"] = requests.clone();
            }
        }
        if !raw.volume_mounts.is_empty() {
            let mounts = raw.volume_mounts.iter().map(mount);
            status["volumeMounts"] = Value::Array(mounts.collect());
        }
        status
    }
}

impl Draft {
    fn render(&self, name: &str, since: Timestamp, generation: i64) -> Value {
        let status = match self.is_true {
            true => "True",
            false => "False",
        };
        let mut condition = json!({
            "type": name, "status": status, "lastProbeTime": null,
            "lastTransitionTime": seconds(since), "observedGeneration": generation,
        });
        // A previous reason is removed.
        condition["reason"] = match self.reason {
            "" => Value::Null,
            reason => json!(reason),
        };
        condition["message"] = match self.message.as_str() {
            "" => Value::Null,
            message => json!(message),
        };
        condition
    }
}

impl Plan {
    /// Returns the transition time of a condition on the server.
    fn transition(&self, name: &str) -> Option<Timestamp> {
        let condition = self.status.conditions.iter().find(|c| c.type_ == name);
        condition?.last_transition_time.as_deref()?.parse().ok()
    }

    /// Reports whether the server has the opposite status of a condition.
    fn shows_otherwise(&self, name: &str, is_true: bool) -> bool {
        let condition = self.status.conditions.iter().find(|c| c.type_ == name);
        condition.is_some_and(|c| (c.status == "True") != is_true)
    }

    /// Checks the readiness gates, which other controllers set.
    fn gates(&self) -> Draft {
        for gate in &self.spec.readiness_gates {
            let name = &gate.condition_type;
            let condition = self.status.conditions.iter().find(|c| c.type_ == *name);
            let text = match condition {
                None => format!(
                    "corresponding condition of pod readiness gate \"{name}\" does not exist."
                ),
                Some(condition) if condition.status != "True" => format!(
                    "the status of pod readiness gate \"{name}\" is not \"True\", but {}",
                    condition.status
                ),
                Some(_) => continue,
            };
            return Draft::new(false, "ReadinessGatesNotReady", text);
        }
        Draft::yes()
    }
}

fn mount(mount: &Value) -> Value {
    let mut status = json!({"name": mount["name"], "mountPath": mount["mountPath"]});
    if mount["readOnly"] == true {
        status["readOnly"] = json!(true);
        status["recursiveReadOnly"] = json!("Disabled");
    }
    status
}

/// Returns the part of a termination message that a status shows: its end, and of that the share of the container.
fn cut(message: &str, containers: usize) -> &str {
    let mut start = message.len().saturating_sub(LONGEST_MESSAGE);
    while !message.is_char_boundary(start) {
        start += 1;
    }
    let message = &message[start..];
    let mut end = message.len().min(ALL_MESSAGES / containers.max(1));
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}

/// Formats a time for a status field.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    hasher.write(text);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_share_the_length_of_termination_messages() {
        let message = format!("{}{}", "a".repeat(5000), "é".repeat(1000));
        for (containers, longest) in [(1, 4096), (3, 4096), (4, 3072), (12, 1024)] {
            let shown = cut(&message, containers);
            assert!(
                (longest - 1..=longest).contains(&shown.len()),
                "{containers}"
            );
        }
        assert!(cut(&message, 1).ends_with('é'));
        assert_eq!(cut("short", 3), "short");
    }
}
