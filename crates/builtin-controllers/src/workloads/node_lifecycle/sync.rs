//! One pass over a node.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{ResourceExt, api::Patch};
use kubewright_controller::{Action, Context, Request, Result, events::EventType};
use kubewright_informer::Key;
use serde_json::{Value, json};

use super::{
    Known, LEASES, Lifecycle,
    health::Health,
    pods,
    taints::Wanted,
    zones::{Effect, Standing, Turn},
};
use crate::workloads::objects::{Condition, Current, Draft, Lease, Node, whole_seconds};

/// The conditions that a silent node has, all of them unknown.
const CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// Labels with their former names, which have the same values.
const LABELS: [(&str, &str); 2] = [
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
];

type NodeContext = Context<(), Lifecycle>;

pub(super) async fn sync(context: &NodeContext, request: &Request) -> Result<Action> {
    let name = request.name();
    if context.get::<Node>(request).await?.is_none() {
        return gone(context, name).await;
    }
    let cache = context.client().informer::<Node>();
    let Some(stored) = cache.indexer().get(request.key().as_str()) else {
        return gone(context, name).await;
    };
    let Current {
        mut object,
        mut body,
    } = Current::<Node>::of(&stored)?;
    let key = Key::new(Some(LEASES), name);
    let lease = context.client().get_key::<Lease>(&key).await?;
    let now = context.now();
    let end = observe(context, &object, lease.as_deref(), now);
    let is_over = end.is_some_and(|end| now > end);
    let fell_silent = is_over && set_unknown(&mut object, &mut body, now);
    if fell_silent {
        let draft = Draft::<Node>::new(object.metadata.clone(), body.clone());
        context.client().update_status(&draft).await?;
        let message = format!("Node {name} status is now: NodeNotReady");
        tell(context, name, object.uid(), "NodeNotReady", message);
    }
    let ready = object.readiness();
    if ready.is_some_and(|ready| ready.status == "Unknown" && ready.reason == "NodeStatusUnknown") {
        pods::mark_all(context, name).await?;
    }
    let standing = Standing::of(&object, ready.is_some_and(Condition::is_true));
    let effect = context
        .state()
        .memory
        .lock()
        .zones
        .place(name, Some(standing));
    follow(context, effect, now).await;
    if fell_silent {
        // The pass that follows from this write taints the node.
        return Ok(Action::done());
    }
    let turn = correct(context, &object, &body, now).await?;
    // A node whose state is unknown has nothing to lose.
    let is_known = ready.is_none_or(|ready| ready.status != "Unknown");
    let left = |end: Timestamp| Duration::try_from(end.duration_since(now)).unwrap_or_default();
    // Only what is over counts.
    let check = end
        .filter(|_| is_known)
        .map(|end| left(end) + Duration::from_millis(1));
    Ok(match [turn, check].into_iter().flatten().min() {
        Some(next) => Action::requeue_after(next),
        None => Action::done(),
    })
}

/// Takes down the signs of life of a node. Returns the time from which it counts as silent.
fn observe(
    context: &NodeContext,
    node: &Node,
    lease: Option<&Lease>,
    now: Timestamp,
) -> Option<Timestamp> {
    let (name, uid) = (node.name_any(), node.uid().unwrap_or_default());
    let mut memory = context.state().memory.lock();
    let known = memory.nodes.get(&name).filter(|known| known.uid == uid);
    let health = Health::observe(known.map(|known| &known.health), node, lease, now);
    let end = health.end(context.state().grace);
    match memory.nodes.get_mut(&name).filter(|known| known.uid == uid) {
        Some(known) => known.health = health,
        None => {
            let new = Known {
                uid,
                health,
                is_pardoned: false,
            };
            memory.nodes.insert(name.clone(), new);
            drop(memory);
            let message = format!("Node {name} event: Registered Node {name} in Controller");
            tell(context, &name, node.uid(), "RegisteredNode", message);
        }
    }
    end
}

/// Sets the conditions of a silent node to unknown. Returns whether its condition `Ready` changed.
fn set_unknown(node: &mut Node, body: &mut Value, now: Timestamp) -> bool {
    if node
        .readiness()
        .is_some_and(|ready| ready.status == "Unknown")
    {
        return false;
    }
    let now = json!(whole_seconds(now));
    if !body["status"]["conditions"].is_array() {
        body["status"]["conditions"] = json!([]);
    }
    let created = body["metadata"]["creationTimestamp"].clone();
    let Some(conditions) = body["status"]["conditions"].as_array_mut() else {
        return false;
    };
    for name in CONDITIONS {
        match conditions.iter_mut().find(|known| known["type"] == name) {
            None => conditions.push(json!({
                "type": name, "status": "Unknown", "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": created, "lastTransitionTime": now,
            })),
            Some(known) if known["status"] != "Unknown" => {
                known["status"] = json!("Unknown");
                known["reason"] = json!("NodeStatusUnknown");
                known["message"] = json!("Kubelet stopped posting node status.");
                known["lastTransitionTime"] = now.clone();
            }
            Some(_) => {}
        }
    }
    node.status.conditions = conditions
        .iter()
        .filter_map(|condition| serde_json::from_value(condition.clone()).ok())
        .collect();
    true
}

/// Corrects the labels and taints of a node in one write. Returns when its turn to be tainted may come.
async fn correct(
    context: &NodeContext,
    node: &Node,
    body: &Value,
    now: Timestamp,
) -> Result<Option<Duration>> {
    let name = node.name_any();
    let mut taints = body["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut is_tainted = Wanted::no_schedule(node).put(&mut taints, now);
    let mut next = None;
    if let Some(ready) = node.readiness() {
        let (wanted, turn) = evicting(context, node, ready, now);
        next = turn;
        is_tainted |= wanted.is_some_and(|wanted| wanted.put(&mut taints, now));
    }
    let labels = labels(node);
    let mut patch = json!({});
    if is_tainted {
        patch["metadata"]["resourceVersion"] = json!(node.resource_version());
        patch["spec"]["taints"] = match taints.is_empty() {
            true => Value::Null,
            false => json!(taints),
        };
    }
    if !labels.is_empty() {
        patch["metadata"]["labels"] = json!(labels);
    }
    if is_tainted || !labels.is_empty() {
        match context.client().patch(node, &Patch::Merge(patch)).await {
            Err(error) if error.is_not_found() => {}
            patched => drop(patched?),
        }
    }
    if let Some(known) = context.state().memory.lock().nodes.get_mut(&name) {
        known.is_pardoned = false;
    }
    Ok(next)
}

/// Returns the taints that are to evict the pods of a node, if they may change now, and otherwise when they may.
fn evicting(
    context: &NodeContext,
    node: &Node,
    ready: &Condition,
    now: Timestamp,
) -> (Option<Wanted>, Option<Duration>) {
    let name = node.name_any();
    let mut memory = context.state().memory.lock();
    let is_pardoned = memory
        .nodes
        .get(&name)
        .is_some_and(|known| known.is_pardoned);
    let wanted = Wanted::no_execute(ready);
    if wanted.is_empty() || wanted.are_on(node) && !is_pardoned {
        memory.zones.cancel(&name);
        return (Some(wanted), None);
    }
    if is_pardoned {
        return (Some(Wanted::none_that_evict()), None);
    }
    // What is tainted already changes at once.
    if wanted.replace_another(node) {
        return (Some(wanted), None);
    }
    match memory.zones.turn(&name, now) {
        Turn::Now => (Some(wanted), None),
        Turn::Later(wait) => (None, Some(wait)),
        Turn::Waits => (None, None),
    }
}

/// Returns the labels that a node lacks.
fn labels(node: &Node) -> BTreeMap<&'static str, String> {
    let mut missing = BTreeMap::new();
    for (stable, beta) in LABELS {
        if let Some(value) = node.label(stable)
            && node.label(beta) != Some(value)
        {
            missing.insert(beta, value.to_owned());
        }
    }
    missing
}

/// Forgets a node that is gone.
async fn gone(context: &NodeContext, name: &str) -> Result<Action> {
    let (known, effect) = {
        let mut memory = context.state().memory.lock();
        let known = memory.nodes.remove(name);
        (known, memory.zones.place(name, None))
    };
    if let Some(known) = known {
        let message = format!("Node {name} event: Removing Node {name} from Controller");
        tell(context, name, Some(known.uid), "RemovingNode", message);
    }
    follow(context, effect, context.now()).await;
    Ok(Action::done())
}

/// Checks the nodes that are affected by a change of another one.
async fn follow(context: &NodeContext, effect: Effect, now: Timestamp) {
    let state = context.state();
    let all = |change: &dyn Fn(&mut Known)| -> Vec<String> {
        let mut memory = state.memory.lock();
        memory.nodes.values_mut().for_each(change);
        memory.nodes.keys().cloned().collect()
    };
    let names = match effect {
        Effect::Nothing => return,
        Effect::AllDead => all(&|known| known.is_pardoned = true),
        Effect::SomeAlive => all(&|known| {
            known.is_pardoned = false;
            known.health.since = now;
        }),
        Effect::Limit(names) => names,
    };
    for name in names {
        state.wake.send(Request::cluster_scoped(&name)).await;
    }
}

fn tell(context: &NodeContext, name: &str, uid: Option<String>, reason: &str, message: String) {
    let node = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(name.to_owned()),
        uid,
        ..ObjectReference::default()
    };
    let recorder = &context.state().recorder;
    recorder.event_about(node, EventType::Normal, reason, message);
}
