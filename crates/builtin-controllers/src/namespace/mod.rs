//! Namespace deletion: empties a deleted namespace and removes its finalizer.
//!
//! One pass over a namespace discovers all resources, deletes the objects (pods first, and the rest once they are
//! gone), writes the outcome to the namespace's conditions, and removes the finalizer `kubernetes` when nothing is
//! left. When objects take longer because of grace periods or finalizers, the next pass starts when one of the
//! remaining objects is gone, at the latest after half the estimated time.
//!
//! | module | contents |
//! |---|---|
//! | `content` | one pass: deletions and remaining objects |
//! | `conditions` | the conditions of the namespace |
//! | `remaining` | notifications when remaining objects are gone |

mod conditions;
mod content;
mod remaining;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, NamespaceSpec};
use kube::{api::PostParams, core::Status};
use kubewright_client::{ClientSet, Result as ClientResult, TypedClient, retry_on_conflict};
use kubewright_controller::{
    Action, Context, Controller, Handler, Manager, ManagerError, Predicate, Reconciler, Request,
    Result, Source, Watch,
};
use kubewright_workqueue::{
    BucketRateLimiter, ItemExponentialFailureRateLimiter, MaxOfRateLimiter, RateLimiter,
};

use crate::names::Name;
use content::Content;
use remaining::Remaining;

/// The number of namespaces that are emptied concurrently.
const WORKERS: usize = 10;

/// The finalizer that this controller removes.
const FINALIZER: &str = "kubernetes";

/// Empties namespaces.
struct Deleter {
    grace: Duration,
    remaining: Arc<Remaining>,
}

pub(crate) fn add_to(manager: &Manager, grace: Duration) -> Result<(), ManagerError> {
    let remaining = Arc::new(Remaining::new(manager.caches().clone()));
    let connected = remaining.clone();
    let source = Source::raw("remaining content", |enqueue| async move {
        connected.connect(enqueue).await;
    });
    let namespaces = Watch::of::<Namespace>(Handler::for_object())
        .metadata_only()
        .predicate(Predicate::object(|namespace| {
            namespace.deletion_timestamp().is_some()
        }));
    Controller::builder()
        .named(Name::Namespace.as_str())
        .watch(namespaces)
        .source(source)
        .max_concurrent_reconciles(WORKERS)
        .rate_limiter(retries())
        .build(manager, Deleter { grace, remaining })?;
    Ok(())
}

/// Returns whether a request was rejected because the namespace is being deleted.
pub(crate) fn is_terminating_cause(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "NamespaceTerminating")
}

/// Returns the rate limiter: 5 ms, doubling up to a minute; and ten a second for all namespaces together after a burst
/// of a hundred.
fn retries() -> MaxOfRateLimiter<Request> {
    let each =
        ItemExponentialFailureRateLimiter::new(Duration::from_millis(5), Duration::from_secs(60));
    let all = BucketRateLimiter::new(10.0, 100);
    MaxOfRateLimiter::new([
        Arc::new(each) as Arc<dyn RateLimiter<Request>>,
        Arc::new(all),
    ])
}

impl Reconciler for Deleter {
    async fn reconcile(&self, context: Context, request: Request) -> Result<Action> {
        let name = request.name();
        let client = context.client().live();
        let namespaces = ClientSet::new(client.clone()).cluster::<Namespace>();
        let Some(namespace) = namespaces.get_opt(name).await? else {
            self.remaining.forget(name);
            return Ok(Action::done());
        };
        let Some(deleted) = namespace.metadata.deletion_timestamp.clone() else {
            return Ok(Action::done());
        };
        if let Some(wait) = left_of(self.grace, deleted.0) {
            return Ok(Action::requeue_after(wait));
        }
        let Some(mut namespace) = terminating(&namespaces, namespace).await? else {
            return Ok(Action::done());
        };
        if finalizers(&namespace).is_empty() {
            return Ok(Action::done());
        }
        let pass = Content::new(client, name, deleted.0).delete().await;
        let now = Timestamp::now();
        if pass.findings.write_to(&mut namespace, now) {
            let params = PostParams::default();
            if let Err(error) = namespaces.update_status(&params, &namespace).await {
                tracing::warn!(%error, namespace = name, "cannot write the conditions");
            }
        }
        self.remaining.watch(name, pass.remaining);
        if !pass.errors.is_empty() {
            return Err(pass.errors.join(", ").into());
        }
        if !pass.estimate.is_zero() {
            let wait = pass.estimate / 2 + Duration::from_secs(1);
            return Ok(Action::requeue_after(wait));
        }
        finalize(&namespaces, &namespace).await?;
        self.remaining.forget(name);
        Ok(Action::done())
    }
}

/// Returns the rest of a period that began at `since`, or nothing if it is over.
fn left_of(time: Duration, since: Timestamp) -> Option<Duration> {
    let passed = Timestamp::now().duration_since(since);
    let passed = Duration::try_from(passed).unwrap_or_default();
    time.checked_sub(passed).filter(|left| !left.is_zero())
}

/// Sets the phase to Terminating. Returns `None` if the namespace is gone.
async fn terminating(
    namespaces: &TypedClient<Namespace>,
    namespace: Namespace,
) -> Result<Option<Namespace>> {
    let phase = |namespace: &Namespace| namespace.status.as_ref()?.phase.clone();
    if phase(&namespace).as_deref() == Some("Terminating") {
        return Ok(Some(namespace));
    }
    let uid = namespace.metadata.uid.as_deref();
    let name = namespace.metadata.name.as_deref().unwrap_or_default();
    match retry_on_conflict(|| set_phase(namespaces, name, uid)).await {
        Err(error) if error.is_not_found() => Ok(None),
        written => Ok(written?),
    }
}

async fn set_phase(
    namespaces: &TypedClient<Namespace>,
    name: &str,
    uid: Option<&str>,
) -> ClientResult<Option<Namespace>> {
    let mut latest = namespaces.get(name).await?;
    if latest.metadata.uid.as_deref() != uid || latest.metadata.deletion_timestamp.is_none() {
        return Ok(None);
    }
    latest.status.get_or_insert_default().phase = Some("Terminating".to_owned());
    let params = PostParams::default();
    namespaces.update_status(&params, &latest).await.map(Some)
}

/// Removes the finalizer.
async fn finalize(namespaces: &TypedClient<Namespace>, namespace: &Namespace) -> Result<()> {
    let uid = namespace.metadata.uid.as_deref();
    let name = namespace.metadata.name.as_deref().unwrap_or_default();
    match retry_on_conflict(|| remove_finalizer(namespaces, name, uid)).await {
        Err(error) if error.is_not_found() => Ok(()),
        finalized => Ok(finalized?),
    }
}

async fn remove_finalizer(
    namespaces: &TypedClient<Namespace>,
    name: &str,
    uid: Option<&str>,
) -> ClientResult<()> {
    let latest = namespaces.get(name).await?;
    if latest.metadata.uid.as_deref() != uid {
        return Ok(());
    }
    let mut left = finalizers(&latest).to_vec();
    left.retain(|finalizer| finalizer != FINALIZER);
    left.sort();
    left.dedup();
    let latest = Namespace {
        metadata: latest.metadata,
        spec: Some(NamespaceSpec {
            finalizers: Some(left),
        }),
        status: None,
    };
    let finalize = namespaces.clone().subresource("finalize");
    finalize.update(&PostParams::default(), &latest).await?;
    Ok(())
}

fn finalizers(namespace: &Namespace) -> &[String] {
    let spec = namespace.spec.as_ref();
    spec.and_then(|spec| spec.finalizers.as_deref())
        .unwrap_or_default()
}
