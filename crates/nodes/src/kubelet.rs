//! The kubelet of all nodes: advances the state of a pod, and writes its status.

use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use http::{Request as HttpRequest, header::CONTENT_TYPE};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::api::{DeleteParams, Preconditions};
use kubewright_controller::{
    Action, Clock, Context, ErrorExt, Request, Result,
    events::{EventDraft, EventType, Recorder},
};
use kubewright_informer::{Key, SharedInformer, StoredObject, compare_resource_versions};
use parking_lot::Mutex;
use serde::Deserialize;

use crate::{
    image::{Container, Image},
    nodes::{FIELD_MANAGER, Known, NodeState, Shared},
    pod::{
        Checked, HookKind, PodEvent, PodState, ProbeKind, Surroundings,
        plan::Plan,
        requirement::{Found, Problem},
    },
};

/// The exit code of a function that panicked.
const PANICKED: i32 = 134;

/// The largest number of consecutive writes for one pod, after which other pods get their turn.
const MOST_ROUNDS: usize = 8;

pub(crate) struct Kubelet {
    pub(crate) nodes: Arc<Shared>,
    pub(crate) cache: SharedInformer<()>,
    /// The nodes as the server shows them.
    pub(crate) objects: SharedInformer<()>,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Clock,
}

/// The result of one pass over a pod.
struct Look {
    patch: Option<(Vec<u8>, u64)>,
    events: Vec<PodEvent>,
    due: Option<Timestamp>,
    again: bool,
    is_finished: bool,
    recorder: Recorder,
    functions: Vec<(usize, Arc<dyn Image>, Container)>,
    probes: Vec<(usize, ProbeKind)>,
    hooks: Vec<(usize, HookKind)>,
}

/// Reconciles a pod.
pub(crate) async fn sync(
    kubelet: Arc<Kubelet>,
    context: Context,
    request: Request,
) -> Result<Action> {
    let done = kubelet.look_after(&context, &request).await;
    kubelet.nodes.changed.notify_waiters();
    done
}

impl Kubelet {
    async fn look_after(&self, context: &Context, request: &Request) -> Result<Action> {
        let Some(mut object) = self.cached(request) else {
            return Ok(Action::done());
        };
        if self.is_behind(&object) {
            // The cache may have caught up in the meantime.
            match self.cached(request) {
                Some(newer) if !self.is_behind(&newer) => object = newer,
                _ => return Ok(Action::done()),
            }
        }
        let plan = Plan::read(&object).map_err(kubewright_controller::Error::terminal)?;
        let Some(known) = self.known(&object, &plan, context.now()) else {
            return Ok(Action::done());
        };
        let mut due = None;
        for _ in 0..MOST_ROUNDS {
            let problems = self.problems(context, &plan, &known).await?;
            let look = self.look((&plan, &object), &known, &problems, context.now());
            let Some(look) = look else {
                return Ok(Action::done());
            };
            for (i, image, container) in look.functions {
                start(&known, i, &*image, container);
            }
            for (i, kind) in look.hooks {
                self.nodes.spawn_hook(&plan.key, &known, i, kind);
            }
            for event in look.events {
                look.recorder.send_when_ready(draft(&plan, event)).await;
            }
            if let Some((patch, hash)) = look.patch
                && !self.write(context, &plan, &known, patch, hash).await?
            {
                return Ok(Action::done());
            }
            due = look.due;
            if look.is_finished {
                self.delete(context, &plan).await?;
                break;
            }
            for (i, kind) in &look.probes {
                let failure = self.nodes.check(&plan, &known, *i, *kind).await;
                let mut state = known.state.lock();
                if let Some(container) = state.containers.get_mut(*i) {
                    let kind = *kind;
                    container.checked = Some(Box::new(Checked { kind, failure }));
                }
            }
            if !look.again && look.probes.is_empty() {
                break;
            }
            due = Some(context.now());
        }
        {
            let mut state = known.state.lock();
            state.done = state.seen;
        }
        Ok(match due {
            Some(due) => {
                let wait = due.duration_since(context.now());
                let wait = Duration::try_from(wait).unwrap_or_default();
                Action::requeue_after(wait.max(Duration::from_millis(1)))
            }
            None => Action::done(),
        })
    }

    /// Returns a pod from the cache. A pod that is not in the cache is forgotten.
    fn cached(&self, request: &Request) -> Option<Arc<StoredObject>> {
        let object = self.cache.indexer().get(request.key().as_str());
        if object.is_none() {
            self.forget(request);
        }
        object
    }

    /// Reports whether the cache lags behind the last write. The event of that write then triggers another pass.
    fn is_behind(&self, object: &StoredObject) -> bool {
        let known = self.nodes.pods.lock().get(object.key()).cloned();
        let Some(known) = known.filter(|known| *known.uid == *object.uid()) else {
            return false;
        };
        let mut state = known.state.lock();
        let order = compare_resource_versions(object.resource_version(), &state.version);
        state.is_awaited = !state.version.is_empty() && order.is_some_and(|order| order.is_lt());
        state.is_awaited
    }

    /// Returns the state of a pod that runs on one of our nodes.
    fn known(&self, object: &StoredObject, plan: &Plan, now: Timestamp) -> Option<Known> {
        let name = {
            let nodes = self.nodes.nodes.lock();
            let node = nodes
                .get(&plan.spec.node_name)
                .filter(|node| node.is_alive)?;
            node.name.clone()
        };
        let mut pods = self.nodes.pods.lock();
        let found = pods.get(&plan.key).filter(|known| *known.uid == *plan.uid);
        if let Some(known) = found {
            return Some(known.clone());
        }
        let mut state = PodState::new(plan, name.clone(), now);
        self.admit(object, plan, &mut state);
        let ip = state.ip;
        let new = Known {
            uid: plan.uid.as_str().into(),
            state: Arc::new(Mutex::new(state)),
        };
        let replaced = pods.insert(plan.key.clone(), new.clone());
        drop(pods);
        if let Some(replaced) = replaced {
            self.release(&plan.key, &replaced);
        }
        let mut nodes = self.nodes.nodes.lock();
        if let (Some(ip), Some(node)) = (ip, nodes.get_mut(&*name)) {
            node.range.occupy(ip);
            self.nodes.network.assign(ip, &plan.key);
        }
        Some(new)
    }

    /// Admits a new pod to its node, or rejects it. A pod that has started already stays.
    fn admit(&self, object: &StoredObject, plan: &Plan, state: &mut PodState) {
        if state.phase.is_terminal() {
            return;
        }
        let shown = self.objects.indexer().get(&state.node);
        let mut nodes = self.nodes.nodes.lock();
        let Some(node) = nodes.get_mut(&*state.node) else {
            return;
        };
        let is_known = shown.is_some_and(|shown| node.admission.update(&shown).is_ok());
        if !is_known || state.written.is_some() {
            node.admission.keep(object);
        } else if let Some(rejection) = plan.forbidden_sysctl() {
            state.reject(rejection);
        } else if let Err(rejection) = node.admission.admit(object) {
            state.reject(rejection);
        }
    }

    /// Begins a resize of a pod if its node has room for it, and otherwise notes why not.
    fn resize(
        &self,
        node: &mut NodeState,
        plan: &Plan,
        object: &StoredObject,
        state: &mut PodState,
        now: Timestamp,
    ) -> Option<PodEvent> {
        state.note_resources(plan);
        if !state.is_resized(plan) {
            state.take_resize_back();
            return None;
        }
        if let Some(shown) = self.objects.indexer().get(&state.node)
            && let Err(error) = node.admission.update(&shown)
        {
            tracing::debug!(%error, node = %state.node, "cannot decode a node");
        }
        let decision = node.admission.resize(object);
        if decision.is_ok() {
            node.deferred.remove(&plan.key);
            // Others may need less than it did.
            self.retry_resizes(node);
        } else {
            node.deferred.insert(plan.key.clone());
        }
        state.begin_resize(plan, decision, now)
    }

    /// Looks again at the pods of a node whose resizes wait for room.
    fn retry_resizes(&self, node: &mut NodeState) {
        for key in std::mem::take(&mut node.deferred) {
            let request = Request::new(key.namespace().unwrap_or_default(), key.name());
            let wake = self.nodes.wake.clone();
            tokio::spawn(async move { wake.send(request).await });
        }
    }

    /// Runs the state machine. Returns `None` if the node no longer exists.
    fn look(
        &self,
        (plan, object): (&Plan, &StoredObject),
        known: &Known,
        problems: &[Problem],
        now: Timestamp,
    ) -> Option<Look> {
        let mut nodes = self.nodes.nodes.lock();
        let node = nodes.get_mut(&plan.spec.node_name)?;
        let mut state = known.state.lock();
        state.seen = state.asked;
        let starts =
            state.written.is_some() && plan.deletion.is_none() && !state.phase.is_terminal();
        if starts && state.ip.is_none() && !plan.spec.host_network {
            state.ip = node.range.take();
            if let Some(ip) = state.ip {
                self.nodes.network.assign(ip, &plan.key);
            }
        }
        let resized = self.resize(node, plan, object, &mut state, now);
        let recorder = node
            .recorder
            .get_or_insert_with(|| self.recorder.on_host(&node.name));
        let recorder = recorder.clone();
        let mut around = Surroundings {
            now,
            images: &self.nodes.images,
            present: &mut node.images,
            problems,
            wake: &self.nodes.wake,
            clock: &self.clock,
            network: &self.nodes.network,
            host: node.ip,
        };
        let mut outcome = state.advance(plan, &mut around);
        if node.images.len() != node.shown_images && node.images_due.is_none() {
            // A full channel wakes the node later: with the next pod.
            let request = Request::cluster_scoped(&node.name);
            self.nodes.wake_node.try_send(request);
        }
        outcome.events.extend(resized);
        if state.phase.is_terminal() {
            node.admission.remove(&plan.uid);
            self.retry_resizes(node);
        }
        let patch = state.patch(plan, &node.ip.to_string(), now);
        Some(Look {
            patch,
            events: outcome.events,
            due: outcome.due,
            again: outcome.again,
            is_finished: state.is_finished(),
            recorder,
            functions: outcome.functions,
            probes: outcome.probes,
            hooks: outcome.hooks,
        })
    }

    /// Writes the status. Returns false if the pod no longer exists.
    async fn write(
        &self,
        context: &Context,
        plan: &Plan,
        known: &Known,
        patch: Vec<u8>,
        hash: u64,
    ) -> Result<bool> {
        let (namespace, name) = (plan.namespace(), plan.key.name());
        let path = format!(
            "/api/v1/namespaces/{namespace}/pods/{name}/status?fieldManager={FIELD_MANAGER}"
        );
        let request = HttpRequest::patch(path)
            .header(CONTENT_TYPE, "application/strategic-merge-patch+json")
            .body(patch)
            .map_err(kube::Error::HttpError)?;
        match context.client().live().request::<Written>(request).await {
            Ok(written) => {
                let version = written.metadata.resource_version;
                known.state.lock().note_written(hash, version);
                Ok(true)
            }
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a pod from the server once all its containers have ended.
    async fn delete(&self, context: &Context, plan: &Plan) -> Result<()> {
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions {
                uid: Some(plan.uid.clone()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let client = context.client();
        match client.delete_key::<Pod>(&plan.key, &params).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns the reasons for which a pod or its containers cannot start yet: objects that do not exist, or lack something.
    async fn problems(
        &self,
        context: &Context,
        plan: &Plan,
        known: &Known,
    ) -> Result<Vec<Problem>> {
        let (starts, is_mounted) = {
            let state = known.state.lock();
            let starts = state.written.is_some() && !state.was_initialized || state.is_waiting();
            (starts, state.has_sandbox)
        };
        if !starts || plan.deletion.is_some() {
            return Ok(Vec::new());
        }
        let needed = plan.requirements(is_mounted);
        let mut asked = HashSet::new();
        let mut found = Found::default();
        for one in &needed {
            let id = (one.kind, one.name.clone());
            if !asked.insert(id.clone()) {
                continue;
            }
            let (namespace, plural, name) = (plan.namespace(), one.kind.plural(), &one.name);
            let path = format!("/api/v1/namespaces/{namespace}/{plural}/{name}");
            let request = HttpRequest::get(path).body(Vec::new());
            let request = request.map_err(kube::Error::HttpError)?;
            match context.client().live().request(request).await {
                Ok(object) => drop(found.insert(id, object)),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(plan.problems(&needed, &found))
    }

    /// Forgets a pod that was deleted from the server.
    fn forget(&self, request: &Request) {
        let known = self.nodes.pods.lock().remove(request.key());
        if let Some(known) = known {
            self.release(request.key(), &known);
        }
    }

    fn release(&self, key: &Key, known: &Known) {
        let (node, ip) = {
            let mut state = known.state.lock();
            state.kill_all((self.clock)());
            (state.node.clone(), state.ip)
        };
        self.nodes.remove_group(&node, &known.uid);
        let mut nodes = self.nodes.nodes.lock();
        let Some(node) = nodes.get_mut(&*node) else {
            return;
        };
        node.admission.remove(&known.uid);
        node.deferred.remove(key);
        self.retry_resizes(node);
        if let Some(ip) = ip {
            self.nodes.network.release(ip, key);
            node.range.free(ip);
        }
    }
}

/// Starts the function of an image in its own task.
fn start(known: &Known, i: usize, image: &dyn Image, container: Container) {
    let running = std::panic::catch_unwind(AssertUnwindSafe(|| image.run(container.clone())));
    let task = tokio::spawn(async move {
        let code = match running {
            Ok(running) => AssertUnwindSafe(running).catch_unwind().await,
            Err(panic) => Err(panic),
        };
        let code = code.unwrap_or_else(|_| {
            container.log("the function of the image panicked");
            PANICKED
        });
        container.ended(code);
    });
    let mut state = known.state.lock();
    match state
        .containers
        .get_mut(i)
        .and_then(|c| c.function.as_mut())
    {
        Some(function) => function.task = Some(task.abort_handle()),
        None => task.abort(),
    }
}

/// The response to a write; only the version is decoded.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    metadata: WrittenMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WrittenMetadata {
    resource_version: String,
}

fn draft(plan: &Plan, event: PodEvent) -> EventDraft {
    EventDraft {
        regarding: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(plan.namespace().to_owned()),
            name: Some(plan.key.name().to_owned()),
            uid: Some(plan.uid.clone()),
            resource_version: Some(plan.resource_version.clone()),
            field_path: event.field,
        },
        related: None,
        type_: match event.is_warning {
            true => EventType::Warning,
            false => EventType::Normal,
        },
        reason: event.reason.into_owned(),
        action: None,
        note: event.message,
        annotations: Default::default(),
    }
}
