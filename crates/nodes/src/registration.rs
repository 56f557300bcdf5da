//! Registration of nodes, their status, and their leases.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc, time::Duration};

use http::{Request as HttpRequest, header::CONTENT_TYPE};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, ObjectReference},
};
use kube::{Api, api::Patch};
use kubewright_controller::{
    Action, Client, Context, ErrorExt, Request, Result,
    events::{EventDraft, EventType, Recorder},
};
use serde_json::{Value, json};

use crate::{
    control::Pressure,
    image::digest,
    nodes::{HEARTBEAT, Heartbeats, NodeState, Shared},
    pod::status::seconds,
};

/// The namespace of the leases.
const LEASES: &str = "kube-node-lease";

/// The annotation of the lease of a node that is alive and writes no heartbeats. Its value is [`ELIDED`].
const HEARTBEATS: &str = "kubewright.dev/heartbeats";

/// The value of [`HEARTBEATS`] with which a lease counts as renewed.
const ELIDED: &str = "elided";

/// The time between posts of a status without changes.
const POST: SignedDuration = SignedDuration::from_mins(5);

/// The largest number of images in a status.
const MOST_IMAGES: usize = 50;

/// The taint of nodes that are not ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Registers a node, or updates its status.
pub(crate) async fn sync(
    context: Context,
    request: Request,
    nodes: Arc<Shared>,
    recorder: Recorder,
) -> Result<Action> {
    let name = request.name();
    let found = {
        let nodes = nodes.nodes.lock();
        let node = nodes.get(name).filter(|node| node.is_alive);
        node.map(|node| {
            let pressure: Vec<Pressure> = node.pressure.iter().copied().collect();
            let addresses = (node.ip.to_string(), node.range.cidr());
            (node.is_registered, pressure, node.shape.clone(), addresses)
        })
    };
    let Some((is_registered, pressure, shape, (ip, range))) = found else {
        return end_lease(context.client(), name, &nodes).await;
    };
    let (client, now) = (context.client(), context.now());
    let api: Api<Node> = client.cluster_api();
    let mut is_new = false;
    if !is_registered {
        let object = shape.object(&ip, &range, &conditions(&pressure, false, now));
        match create(client, "/api/v1/nodes", &object).await {
            Ok(()) => is_new = true,
            Err(error) if error.is_already_exists() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let node = match is_registered {
        true => context.get::<Node>(&request).await?,
        false => api.get_opt(name).await?.map(Arc::new),
    };
    let Some(node) = node else {
        // The node was deleted. It registers again after a restart.
        return Ok(Action::done());
    };
    let range = node.spec.as_ref().and_then(|spec| spec.pod_cidr.as_deref());
    if let Some(range) = range
        && let Some(node) = nodes.nodes.lock().get_mut(name)
    {
        node.range.adopt(range);
    }
    let mut changed = conditions(&pressure, true, now);
    changed.retain(|condition| !shows(&node, condition));
    if !changed.is_empty() {
        let status = Patch::Strategic(json!({"status": {"conditions": changed}}));
        api.patch_status(name, &Default::default(), &status).await?;
    }
    if is_new {
        let starting = "Starting kubelet.".to_owned();
        report(&recorder, name, "Starting", starting).await;
        changed = conditions(&pressure, true, now);
    }
    for condition in &changed {
        let reason = match condition["reason"].as_str().unwrap_or_default() {
            "KubeletReady" => "NodeReady",
            "KubeletHasSufficientMemory" => "NodeHasSufficientMemory",
            "KubeletHasNoDiskPressure" => "NodeHasNoDiskPressure",
            "KubeletHasSufficientPID" => "NodeHasSufficientPID",
            "KubeletHasInsufficientMemory" => "NodeHasInsufficientMemory",
            "KubeletHasDiskPressure" => "NodeHasDiskPressure",
            _ => "NodeHasInsufficientPID",
        };
        let note = format!("Node {name} status is now: {reason}");
        report(&recorder, name, reason, note).await;
    }
    untaint(&api, &node, name).await?;
    if !is_registered {
        let is_elided = nodes.heartbeats == Heartbeats::Elided;
        lease(client, name, &node, is_elided, now).await?;
        if let Some(node) = nodes.nodes.lock().get_mut(name) {
            node.is_registered = true;
            node.has_lease = is_elided;
        }
    }
    nodes.changed.notify_waiters();
    show_images(&api, name, &nodes, now).await
}

/// Writes the images of a node, ten seconds after the first change.
async fn show_images(
    api: &Api<Node>,
    name: &str,
    nodes: &Shared,
    now: Timestamp,
) -> Result<Action> {
    let images = {
        let mut nodes = nodes.nodes.lock();
        let changed = nodes.get_mut(name);
        let Some(node) = changed.filter(|node| node.images.len() != node.shown_images) else {
            return Ok(Action::done());
        };
        let due = *node
            .images_due
            .get_or_insert(now.saturating_add(HEARTBEAT).unwrap_or(now));
        if due > now {
            let left = Duration::try_from(due.duration_since(now)).unwrap_or_default();
            return Ok(Action::requeue_after(left));
        }
        node.images.clone()
    };
    let status = Patch::Merge(json!({"status": {"images": self::images(&images)}}));
    api.patch_status(name, &Default::default(), &status).await?;
    if let Some(node) = nodes.nodes.lock().get_mut(name) {
        (node.shown_images, node.images_due) = (images.len(), None);
    }
    Ok(Action::done())
}

/// Returns the images of a status: the largest ones, with their digests and tags.
pub(crate) fn images(present: &BTreeMap<String, u64>) -> Vec<Value> {
    let mut largest: Vec<(&String, &u64)> = present.iter().collect();
    largest.sort_by_key(|(name, size)| (Reverse(**size), *name));
    let largest = largest.into_iter().take(MOST_IMAGES);
    largest
        .map(|(name, size)| json!({"names": [digest(name), name], "sizeBytes": size}))
        .collect()
}

/// Renews the leases of all nodes that are alive, and posts their status every five minutes.
pub(crate) async fn renew(context: Context, nodes: Arc<Shared>) -> Result<Action> {
    let now = context.now();
    let alive: Vec<(String, bool)> = {
        let mut nodes = nodes.nodes.lock();
        let alive = nodes
            .iter_mut()
            .filter(|(_, node)| node.is_alive && node.is_registered);
        let due = alive.map(|(name, node)| {
            let last = *node.heartbeat.get_or_insert(now);
            let is_due = now.duration_since(last) >= POST;
            if is_due {
                node.heartbeat = Some(now);
            }
            (name.clone(), is_due)
        });
        due.collect()
    };
    let leases = context.client().api::<Lease>(LEASES);
    for (name, is_due) in alive {
        if is_due {
            post(context.client(), &name, now).await?;
        }
        let renewed = json!({"spec": {"renewTime": micros(context.now())}});
        let renewed = leases
            .patch(&name, &Default::default(), &Patch::Merge(renewed))
            .await;
        match renewed {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
    }
    Ok(Action::done())
}

/// Posts the status of a node: the time of its last heartbeat.
async fn post(client: &Client, name: &str, now: Timestamp) -> Result<()> {
    let kinds = [Pressure::Memory, Pressure::Disk, Pressure::Pid].map(Pressure::condition);
    let kinds = kinds.into_iter().chain(["Ready"]);
    let conditions = kinds.map(|kind| json!({"type": kind, "lastHeartbeatTime": seconds(now)}));
    let conditions: Vec<Value> = conditions.collect();
    let status = Patch::Strategic(json!({"status": {"conditions": conditions}}));
    let nodes = client.cluster_api::<Node>();
    match nodes.patch_status(name, &Default::default(), &status).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Removes the taint that new nodes have until they are ready.
async fn untaint(api: &Api<Node>, node: &Node, name: &str) -> Result<()> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let Some(taints) = taints.filter(|t| t.iter().any(|t| t.key == NOT_READY)) else {
        return Ok(());
    };
    let kept: Vec<_> = taints
        .iter()
        .filter(|taint| taint.key != NOT_READY)
        .collect();
    let kept = match kept.is_empty() {
        true => Value::Null,
        false => json!(kept),
    };
    let patch = Patch::Merge(json!({"spec": {"taints": kept}}));
    api.patch(name, &Default::default(), &patch).await?;
    Ok(())
}

/// Creates the lease of a node, or renews it.
async fn lease(
    client: &Client,
    name: &str,
    node: &Node,
    is_elided: bool,
    now: Timestamp,
) -> Result<()> {
    let annotations = json!({HEARTBEATS: is_elided.then_some(ELIDED)});
    let renewed = json!({
        "metadata": {"annotations": annotations},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": micros(now)},
    });
    let mut lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": LEASES,
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid,
            }],
        },
        "spec": renewed["spec"],
    });
    if is_elided {
        lease["metadata"]["annotations"] = annotations;
    }
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{LEASES}/leases");
    match create(client, &path, &lease).await {
        Err(error) if error.is_already_exists() => {
            let leases = client.api::<Lease>(LEASES);
            leases
                .patch(name, &Default::default(), &Patch::Merge(renewed))
                .await?;
            Ok(())
        }
        created => Ok(created?),
    }
}

/// Lets the lease of a node that fell silent expire.
async fn end_lease(client: &Client, name: &str, nodes: &Shared) -> Result<Action> {
    let is_silent = |node: &NodeState| !node.is_alive && node.has_lease;
    if !nodes.nodes.lock().get(name).is_some_and(is_silent) {
        return Ok(Action::done());
    }
    let ended = Patch::Merge(json!({"metadata": {"annotations": {HEARTBEATS: null}}}));
    let leases = client.api::<Lease>(LEASES);
    match leases.patch(name, &Default::default(), &ended).await {
        Err(error) if !error.is_not_found() => return Err(error.into()),
        _ => {}
    }
    if let Some(node) = nodes.nodes.lock().get_mut(name) {
        node.has_lease = false;
    }
    nodes.changed.notify_waiters();
    Ok(Action::done())
}

async fn create(client: &Client, path: &str, object: &Value) -> Result<(), kube::Error> {
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let request = HttpRequest::post(path).header(CONTENT_TYPE, "application/json");
    let request = request.body(body).map_err(kube::Error::HttpError)?;
    client.live().request_text(request).await.map(drop)
}

/// Returns the conditions of a node.
fn conditions(pressure: &[Pressure], is_ready: bool, now: Timestamp) -> Vec<Value> {
    let mut conditions = Vec::new();
    for kind in [Pressure::Memory, Pressure::Disk, Pressure::Pid] {
        let lacks = pressure.contains(&kind);
        let (reason, message) = kind.texts(lacks);
        conditions.push((kind.condition(), lacks, reason, message));
    }
    conditions.push(match is_ready {
        true => (
            "Ready",
            true,
            "KubeletReady",
            "kubelet is posting ready status",
        ),
        false => (
            "Ready",
            false,
            "KubeletNotReady",
            "container runtime status check may not have completed yet",
        ),
    });
    let render = |(name, is_true, reason, message)| {
        let status = if is_true { "True" } else { "False" };
        json!({
            "type": name, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": seconds(now), "lastTransitionTime": seconds(now),
        })
    };
    conditions.into_iter().map(render).collect()
}

/// Reports whether a node has a condition.
fn shows(node: &Node, wanted: &Value) -> bool {
    let status = node.status.as_ref();
    let mut shown = status
        .and_then(|s| s.conditions.as_ref())
        .into_iter()
        .flatten();
    shown.any(|shown| wanted["type"] == *shown.type_ && wanted["status"] == *shown.status)
}

async fn report(recorder: &Recorder, node: &str, reason: &str, note: String) {
    let event = EventDraft {
        regarding: ObjectReference {
            kind: Some("Node".to_owned()),
            name: Some(node.to_owned()),
            // Kubelets do not know the UID, and use the name instead.
            uid: Some(node.to_owned()),
            ..ObjectReference::default()
        },
        related: None,
        type_: EventType::Normal,
        reason: reason.to_owned(),
        action: None,
        note,
        annotations: Default::default(),
    };
    recorder.on_host(node).send_when_ready(event).await;
}

fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
