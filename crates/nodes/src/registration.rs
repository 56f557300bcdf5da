//! Registration of nodes, their status, and their leases.

use std::sync::Arc;

use http::{Request as HttpRequest, header::CONTENT_TYPE};
use jiff::Timestamp;
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

use crate::{control::Pressure, nodes::Shared, pod::status::seconds};

/// The namespace of the leases.
const LEASES: &str = "kube-node-lease";

/// The taint of nodes that are not ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Registers a node, or brings its status up to date.
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
            (
                node.is_registered,
                pressure,
                node.shape.clone(),
                node.ip.clone(),
            )
        })
    };
    let Some((is_registered, pressure, shape, ip)) = found else {
        return Ok(Action::done());
    };
    let (client, now) = (context.client(), context.now());
    let api: Api<Node> = client.cluster_api();
    let mut is_new = false;
    if !is_registered {
        let object = shape.object(&ip, &conditions(&pressure, false, now));
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
        // Somebody has deleted it. It registers again when it is restarted.
        return Ok(Action::done());
    };
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
        lease(client, name, &node, now).await?;
        if let Some(node) = nodes.nodes.lock().get_mut(name) {
            node.is_registered = true;
        }
    }
    nodes.changed.notify_waiters();
    Ok(Action::done())
}

/// Renews the leases of all nodes that are alive.
pub(crate) async fn renew(context: Context, nodes: Arc<Shared>) -> Result<Action> {
    let alive: Vec<String> = {
        let nodes = nodes.nodes.lock();
        let alive = nodes
            .iter()
            .filter(|(_, node)| node.is_alive && node.is_registered);
        alive.map(|(name, _)| name.clone()).collect()
    };
    let leases = context.client().api::<Lease>(LEASES);
    for name in alive {
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

async fn lease(client: &Client, name: &str, node: &Node, now: Timestamp) -> Result<()> {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": LEASES,
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid,
            }],
        },
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": micros(now)},
    });
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{LEASES}/leases");
    match create(client, &path, &lease).await {
        Err(error) if !error.is_already_exists() => Err(error.into()),
        _ => Ok(()),
    }
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

/// Reports whether a node shows a condition.
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
            // Kubelets do not know the UID, and write the name.
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
