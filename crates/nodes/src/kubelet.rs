//! The kubelet of all nodes: looks at a pod, and writes what has changed.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use http::{Request as HttpRequest, header::CONTENT_TYPE};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::api::{DeleteParams, Preconditions};
use kubewright_controller::{
    Action, Clock, Context, ErrorExt, Request, Result,
    events::{EventDraft, EventType, Recorder},
};
use kubewright_informer::{SharedInformer, StoredObject, compare_resource_versions};
use parking_lot::Mutex;
use serde::Deserialize;

use crate::{
    image::{Container, Image},
    nodes::{FIELD_MANAGER, Known, Shared},
    pod::{
        PodEvent, PodState, Surroundings,
        plan::{Plan, Reference},
    },
};

/// The exit code of a function that panicked.
const PANICKED: i32 = 134;

/// The number of writes about one pod before others get their turn.
const MOST_ROUNDS: usize = 8;

pub(crate) struct Kubelet {
    pub(crate) nodes: Arc<Shared>,
    pub(crate) cache: SharedInformer<()>,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Clock,
}

/// The result of handling a pod.
struct Look {
    patch: Option<(Vec<u8>, u64)>,
    events: Vec<PodEvent>,
    due: Option<Timestamp>,
    again: bool,
    is_finished: bool,
    recorder: Recorder,
    functions: Vec<(usize, Arc<dyn Image>, Container)>,
}

/// Looks at a pod.
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
            // It may have caught up before the event was asked for.
            match self.cached(request) {
                Some(newer) if !self.is_behind(&newer) => object = newer,
                _ => return Ok(Action::done()),
            }
        }
        let plan = Plan::read(&object).map_err(kubewright_controller::Error::terminal)?;
        let Some(known) = self.known(&plan, context.now()) else {
            return Ok(Action::done());
        };
        let mut due = None;
        for _ in 0..MOST_ROUNDS {
            let missing = self.missing(context, &plan, &known).await?;
            let Some(look) = self.look(&plan, &known, &missing, context.now()) else {
                return Ok(Action::done());
            };
            for (i, image, container) in look.functions {
                start(&known, i, &*image, container);
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
            if !look.again {
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

    /// Returns a pod as the cache shows it, and forgets one that it does not.
    fn cached(&self, request: &Request) -> Option<Arc<StoredObject>> {
        let object = self.cache.indexer().get(request.key().as_str());
        if object.is_none() {
            self.forget(request);
        }
        object
    }

    /// Reports whether the cache does not show the last write yet. The event that shows it is then looked at.
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

    /// Returns the state of a pod that runs on one of the nodes.
    fn known(&self, plan: &Plan, now: Timestamp) -> Option<Known> {
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
        let state = PodState::new(plan, name.clone(), now);
        let ip = state.ip;
        let new = Known {
            uid: plan.uid.as_str().into(),
            state: Arc::new(Mutex::new(state)),
        };
        let replaced = pods.insert(plan.key.clone(), new.clone());
        drop(pods);
        if let Some(replaced) = replaced {
            self.release(&replaced);
        }
        let mut nodes = self.nodes.nodes.lock();
        if let (Some(ip), Some(node)) = (ip, nodes.get_mut(&*name)) {
            node.range.occupy(ip);
        }
        Some(new)
    }

    /// Lets the state machine do what is due. Returns `None` if the node is gone.
    fn look(
        &self,
        plan: &Plan,
        known: &Known,
        missing: &[Reference],
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
        }
        let recorder = node
            .recorder
            .get_or_insert_with(|| self.recorder.on_host(&node.name));
        let recorder = recorder.clone();
        let mut around = Surroundings {
            now,
            images: &self.nodes.images,
            present: &mut node.images,
            missing,
            wake: &self.nodes.wake,
            clock: &self.clock,
        };
        let outcome = state.advance(plan, &mut around);
        let patch = state.patch(plan, &node.ip, now);
        Some(Look {
            patch,
            events: outcome.events,
            due: outcome.due,
            again: outcome.again,
            is_finished: state.is_finished(),
            recorder,
            functions: outcome.functions,
        })
    }

    /// Writes the status. Returns false if the pod is gone.
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

    /// Removes a pod of which nothing runs any more from the server.
    async fn delete(&self, context: &Context, plan: &Plan) -> Result<()> {
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions {
                uid: Some(plan.uid.clone()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let pods = context.client().api::<Pod>(plan.namespace());
        match pods.delete(plan.key.name(), &params).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns the objects that a pod needs to start and that do not exist.
    async fn missing(
        &self,
        context: &Context,
        plan: &Plan,
        known: &Known,
    ) -> Result<Vec<Reference>> {
        let starts = {
            let state = known.state.lock();
            state.written.is_some() && !state.was_initialized || state.is_waiting()
        };
        if !starts || plan.deletion.is_some() {
            return Ok(Vec::new());
        }
        let mut missing = Vec::new();
        for reference in plan.references() {
            let (namespace, plural, name) = (plan.namespace(), reference.plural, &reference.name);
            let path = format!("/api/v1/namespaces/{namespace}/{plural}/{name}");
            let request = HttpRequest::get(path).body(Vec::new());
            let request = request.map_err(kube::Error::HttpError)?;
            match context.client().live().request::<Written>(request).await {
                Ok(_) => {}
                Err(error) if error.is_not_found() => missing.push(reference),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(missing)
    }

    /// Forgets a pod that the server has forgotten.
    fn forget(&self, request: &Request) {
        let known = self.nodes.pods.lock().remove(request.key());
        if let Some(known) = known {
            self.release(&known);
        }
    }

    fn release(&self, known: &Known) {
        let (node, ip) = {
            let mut state = known.state.lock();
            state.kill_all((self.clock)());
            (state.node.clone(), state.ip)
        };
        let mut nodes = self.nodes.nodes.lock();
        if let (Some(node), Some(ip)) = (nodes.get_mut(&*node), ip) {
            node.range.free(ip);
        }
    }
}

/// Starts the function of an image in a task of its own.
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

/// The response to a write, of which only the version matters.
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
        reason: event.reason.to_owned(),
        action: None,
        note: event.message,
        annotations: Default::default(),
    }
}
