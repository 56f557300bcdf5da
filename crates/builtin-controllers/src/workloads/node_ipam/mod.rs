//! `node-ipam-controller`: gives every node a range of addresses for its pods.
//!
//! | module | contents |
//! |---|---|
//! | `ranges` | the ranges of the cluster |
//!
//! kube-controller-manager does this only with `--allocate-node-cidrs`, as kubeadm and kind set it; the ranges are theirs:
//! 256 addresses each in 10.244.0.0/16. Larger clusters get further ranges of 1024 addresses each in 10.128.0.0/9.

mod ranges;

use kube::{ResourceExt, api::Patch, core::ApiResource};
use kubewright_controller::{
    Action, AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Result, Watch,
    events::{EventType, Recorder},
};
use kubewright_informer::{Event, SharedInformer};
use parking_lot::Mutex;
use serde_json::json;

use self::ranges::Ranges;
use crate::{names::Name, set::FIELD_MANAGER, workloads::objects::Node};

/// The source of events.
const SOURCE: &str = "cidrAllocator";

struct Allocator {
    recorder: Recorder,
    ranges: Mutex<Ranges>,
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let caches = manager.caches();
    let nodes: SharedInformer<Node> = caches.informer(&ApiResource::erase::<Node>(&())).cast();
    Controller::builder()
        .named(Name::NodeIpam.as_str())
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<Node>(Handler::events(events)))
        .state(Allocator {
            recorder: manager.recorder(SOURCE),
            ranges: Mutex::default(),
        })
        .build(
            manager,
            move |context: Context<(), Allocator>, request: Request| {
                let nodes = nodes.clone();
                async move { sync(&context, &request, &nodes).await }
            },
        )?;
    Ok(())
}

/// Requests nodes that have no range, and those whose range must be recorded or released.
fn events(event: &AnyEvent) -> Vec<Request> {
    let node = event.object();
    match event {
        Event::Updated { old, .. } => {
            let ranges = |node: &kubewright_informer::Cached<()>| {
                let node = node.clone().cast::<Node>().get();
                node.map(|node| node.spec.pod_cidrs.clone())
                    .unwrap_or_default()
            };
            let (before, now) = (ranges(old), ranges(node));
            match before != now || now.is_empty() {
                true => vec![Request::from(&**node)],
                false => Vec::new(),
            }
        }
        _ => vec![Request::from(&**node)],
    }
}

async fn sync(
    context: &Context<(), Allocator>,
    request: &Request,
    nodes: &SharedInformer<Node>,
) -> Result<Action> {
    let state = context.state();
    let node = context.get::<Node>(request).await?;
    let Some(node) = node.filter(|node| node.metadata.deletion_timestamp.is_none()) else {
        state.ranges.lock().release(request.name());
        return Ok(Action::done());
    };
    let name = node.name_any();
    let range = {
        let mut ranges = state.ranges.lock();
        if ranges.is_new() {
            // Nothing may be given out twice, so all that is known comes first.
            for node in nodes.lister().list(&Default::default()) {
                ranges.occupy(&node.name_any(), &node.spec.pod_cidrs);
            }
        }
        ranges.occupy(&name, &node.spec.pod_cidrs);
        match node.spec.pod_cidrs.is_empty() {
            false => return Ok(Action::done()),
            true => ranges.allocate(&name),
        }
    };
    let Some(range) = range else {
        let message = format!("Node {name} status is now: CIDRNotAvailable");
        let recorder = &state.recorder;
        recorder.event(&*node, EventType::Normal, "CIDRNotAvailable", message);
        return Err(
            "failed to allocate cidr from cluster cidr at idx:0: CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range".into()
        );
    };
    let patch = Patch::Merge(json!({
        "metadata": {"uid": node.uid()},
        "spec": {"podCIDR": range, "podCIDRs": [range]},
    }));
    match context.client().patch(&*node, &patch).await {
        // What was deleted meanwhile gives its range back when that is seen.
        Err(error) if error.is_not_found() => Ok(Action::done()),
        patched => Ok(patched.map(|_| Action::done())?),
    }
}
