//! One pass over a PodDisruptionBudget.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kubewright_controller::{Action, Context, Request, Result, events::EventType};
use kubewright_machinery::labels::LabelSelector;
use serde_json::json;

use super::{Disruption, NAMESPACE, scale::scale_of, selector_of, shared};
use crate::workloads::{
    deployment::{Rounding, scaled},
    objects::{
        Condition, Current, Draft, Pod, PodDisruptionBudget, PodDisruptionBudgetStatus,
        whole_seconds,
    },
};

/// The time within which a pod whose eviction was allowed should be deleted.
const DELETION_TIMEOUT: SignedDuration = SignedDuration::from_mins(2);

/// The condition of a budget.
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";

pub(super) async fn sync(context: &Context<(), Disruption>, request: &Request) -> Result<Action> {
    let client = context.client();
    if context.get::<PodDisruptionBudget>(request).await?.is_none() {
        context.state().shared.lock().remove(request.key());
        return Ok(Action::done());
    }
    let cache = client.informer::<PodDisruptionBudget>();
    let Some(stored) = cache.indexer().get(request.key().as_str()) else {
        return Ok(Action::done());
    };
    let current = Current::<PodDisruptionBudget>::of(&stored)?;
    let budget = &current.object;
    let now = context.now();
    let tell = |type_, reason: &str, message: String| {
        context
            .state()
            .recorder
            .event(budget, type_, reason, message);
    };
    let pods = match selector_of(budget) {
        Some(selector) => pods_of(context, budget, &selector).await?,
        None => Vec::new(),
    };
    shared::report(context, budget, request.key(), &pods);
    if pods.is_empty() {
        tell(
            EventType::Normal,
            "NoPods",
            "No matching pods found".to_owned(),
        );
    }
    let (expected, desired) = match expected_and_desired(context, budget, &pods).await {
        Ok(counts) => counts,
        Err(error) => {
            let message = format!("Failed to calculate the number of expected pods: {error}");
            tell(
                EventType::Warning,
                "CalculateExpectedPodCountFailed",
                message,
            );
            let mut status = budget.status.clone();
            status.disruptions_allowed = 0;
            set_condition(&mut status, "False", "SyncFailed", &error.to_string(), now);
            write(context, &current, &status).await?;
            return Ok(Action::done());
        }
    };
    let (disrupted, next) = disrupted(context, budget, &pods, now);
    let is_healthy = |pod: &&Arc<Pod>| {
        pod.metadata.deletion_timestamp.is_none()
            && !disrupted.contains_key(&pod.name_any())
            && pod.ready().is_some()
    };
    let healthy = i32::try_from(pods.iter().filter(is_healthy).count()).unwrap_or(i32::MAX);
    let allowed = match expected > 0 {
        true => healthy.saturating_sub(desired).max(0),
        false => 0,
    };
    let mut status = PodDisruptionBudgetStatus {
        observed_generation: budget.metadata.generation.unwrap_or(0),
        disrupted_pods: disrupted,
        disruptions_allowed: allowed,
        current_healthy: healthy,
        desired_healthy: desired,
        expected_pods: expected,
        conditions: budget.status.conditions.clone(),
    };
    match allowed > 0 {
        true => set_condition(&mut status, "True", "SufficientPods", "", now),
        false => set_condition(&mut status, "False", "InsufficientPods", "", now),
    }
    write(context, &current, &status).await?;
    let left = next.and_then(|next| Duration::try_from(next.duration_since(now)).ok());
    Ok(left.map_or_else(Action::done, |left| {
        // Only what is over counts.
        Action::requeue_after(left + Duration::from_millis(1))
    }))
}

async fn pods_of(
    context: &Context<(), Disruption>,
    budget: &PodDisruptionBudget,
    selector: &LabelSelector,
) -> Result<Vec<Arc<Pod>>> {
    let cache = context.client().current_informer::<Pod>().await?;
    let namespace = budget.namespace().unwrap_or_default();
    let stored = cache.indexer().snapshot().by_index(NAMESPACE, &namespace)?;
    let mut pods = Vec::new();
    for object in stored {
        let pod: Arc<Pod> = object.decode()?;
        if selector.matches(|name| pod.label(name)) {
            pods.push(pod);
        }
    }
    Ok(pods)
}

/// Returns the number of pods that there should be, and of those that must be healthy. Percentages are rounded up.
async fn expected_and_desired(
    context: &Context<(), Disruption>,
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
) -> Result<(i32, i32)> {
    let (limit, is_maximum) = match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(most), _) => (most, true),
        (None, Some(least)) if least.is_number() => {
            let expected = i32::try_from(pods.len()).unwrap_or(i32::MAX);
            return Ok((expected, scaled(least, expected, Rounding::Up)));
        }
        (None, Some(least)) => (least, false),
        (None, None) => return Ok((0, 0)),
    };
    let scale = scale_of(context, pods).await?;
    if scale.has_unmanaged {
        let selector = LabelSelector::format_label_selector(&budget.spec.selector);
        let message = format!(
            "Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value."
        );
        let recorder = &context.state().recorder;
        recorder.event(budget, EventType::Warning, "UnmanagedPods", message);
    }
    let number = scaled(limit, scale.expected, Rounding::Up);
    let desired = match is_maximum {
        true => scale.expected.saturating_sub(number).max(0),
        false => number,
    };
    Ok((scale.expected, desired))
}

/// Returns the pods whose eviction was allowed and that are not deleted yet, and when the first of them is overdue.
fn disrupted(
    context: &Context<(), Disruption>,
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
    now: Timestamp,
) -> (BTreeMap<String, Time>, Option<Timestamp>) {
    let mut disrupted = BTreeMap::new();
    let mut next: Option<Timestamp> = None;
    for pod in pods
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
    {
        let name = pod.name_any();
        let Some(at) = budget.status.disrupted_pods.get(&name) else {
            continue;
        };
        let overdue = at.0.saturating_add(DELETION_TIMEOUT).unwrap_or(at.0);
        if overdue < now {
            // Kubernetes names the namespace twice.
            let namespace = budget.namespace().unwrap_or_default();
            let message = format!(
                "Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
            );
            context
                .state()
                .recorder
                .event(&**pod, EventType::Warning, "NotDeleted", message);
        } else {
            next = next.into_iter().chain([overdue]).min();
            disrupted.insert(name, at.clone());
        }
    }
    (disrupted, next)
}

/// Sets the condition. The time of its transition stays if the status does.
fn set_condition(
    status: &mut PodDisruptionBudgetStatus,
    value: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    let mut new = Condition::new(
        DISRUPTION_ALLOWED,
        value,
        reason,
        message,
        whole_seconds(now),
    );
    new.observed_generation = Some(status.observed_generation);
    match status
        .conditions
        .iter_mut()
        .find(|known| known.r#type == DISRUPTION_ALLOWED)
    {
        Some(known) => {
            if known.status == new.status {
                new.last_transition_time = known.last_transition_time.clone();
            }
            *known = new;
        }
        None => status.conditions.push(new),
    }
}

async fn write(
    context: &Context<(), Disruption>,
    current: &Current<PodDisruptionBudget>,
    status: &PodDisruptionBudgetStatus,
) -> Result<()> {
    if current.object.status == *status {
        return Ok(());
    }
    let mut body = current.body.clone();
    body["status"] = json!(status);
    for condition in body["status"]["conditions"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        // An empty message is part of the condition.
        let message = condition["message"].as_str().unwrap_or_default().to_owned();
        condition["message"] = json!(message);
    }
    let metadata = current.object.metadata.clone();
    let draft = Draft::<PodDisruptionBudget>::new(metadata, body);
    context.client().update_status(&draft).await?;
    Ok(())
}
