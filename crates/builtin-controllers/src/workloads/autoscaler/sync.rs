//! One pass over an autoscaler.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::autoscaling::{
    v1::Scale,
    v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec},
};
use kubewright_controller::{Action, Context, Request, Result, events::EventType};
use serde_json::{Value, json};

use super::{
    Autoscaler, PERIOD,
    limits::Numbers,
    metrics::Metrics,
    proposal::Inputs,
    status::{ABLE_TO_SCALE, SCALING_ACTIVE, SCALING_LIMITED, set},
};
use crate::workloads::objects::whole_seconds;

pub(super) type ScalerContext = Context<(), Autoscaler>;

pub(super) async fn sync(context: &ScalerContext, request: &Request) -> Result<Action> {
    let key = request.key();
    let Some(found) = context.get::<HorizontalPodAutoscaler>(request).await? else {
        context.state().known.lock().remove(key);
        return Ok(Action::done());
    };
    let now = context.now();
    let due = {
        let mut known = context.state().known.lock();
        let known = known.entry(key.clone()).or_default();
        let next = now.checked_add(PERIOD).unwrap_or(now);
        // The first pass is a period after the autoscaler appears.
        let due = *known.next.get_or_insert(next);
        if due <= now {
            known.next = Some(next);
        }
        due
    };
    if due > now {
        let left = Duration::try_from(due.duration_since(now)).unwrap_or(PERIOD);
        return Ok(Action::requeue_after(left));
    }
    let mut autoscaler = (*found).clone();
    let told = Pass::new(context, request, now).run(&mut autoscaler).await;
    if let Err(error) = &told {
        tracing::debug!(autoscaler = %key, %error, "not scaled");
    }
    if autoscaler.status != found.status
        && let Err(error) = context.client().replace_status(&autoscaler).await
    {
        let recorder = &context.state().recorder;
        recorder.event(
            &*found,
            EventType::Warning,
            "FailedUpdateStatus",
            error.to_string(),
        );
    }
    // The next pass does not come sooner after a failure.
    Ok(Action::requeue_after(PERIOD))
}

/// One pass.
pub(super) struct Pass<'a> {
    pub(super) context: &'a ScalerContext,
    request: &'a Request,
    pub(super) namespace: &'a str,
    pub(super) now: Timestamp,
}

impl<'a> Pass<'a> {
    fn new(context: &'a ScalerContext, request: &'a Request, now: Timestamp) -> Self {
        Self {
            context,
            request,
            namespace: request.namespace().unwrap_or_default(),
            now,
        }
    }

    /// Records a warning about an autoscaler.
    pub(super) fn warn(&self, autoscaler: &HorizontalPodAutoscaler, reason: &str, message: &str) {
        let recorder = &self.context.state().recorder;
        recorder.event(autoscaler, EventType::Warning, reason, message);
    }

    /// Scales the target, and changes the status of the autoscaler.
    async fn run(&self, autoscaler: &mut HorizontalPodAutoscaler) -> Result<(), String> {
        let spec = autoscaler.spec.clone();
        let (target, mut scale) = match self.scale_of(&spec).await {
            Ok(found) => found,
            Err(error) => {
                self.warn(autoscaler, "FailedGetScale", &error);
                let message = format!(
                    "the HPA controller was unable to get the target's current scale: {error}"
                );
                set(
                    autoscaler,
                    ABLE_TO_SCALE,
                    false,
                    "FailedGetScale",
                    message,
                    self.now,
                );
                return Err(error);
            }
        };
        let message = "the HPA controller was able to get the target's current scale";
        set(
            autoscaler,
            ABLE_TO_SCALE,
            true,
            "SucceededGetScale",
            message,
            self.now,
        );
        let current = scale
            .spec
            .as_ref()
            .and_then(|spec| spec.replicas)
            .unwrap_or(0);
        self.remember(|known| known.history.begin(current, self.now));
        let min = spec.min_replicas.unwrap_or(1);
        let mut values = Vec::new();
        let (desired, reason) = if current == 0 {
            let message = "scaling is disabled since the replica count of the target is zero";
            set(
                autoscaler,
                SCALING_ACTIVE,
                false,
                "ScalingDisabled",
                message,
                self.now,
            );
            (0, String::new())
        } else if current > spec.max_replicas {
            let reason = "Current number of replicas above Spec.MaxReplicas";
            (spec.max_replicas, reason.to_owned())
        } else if current < min {
            (
                min,
                "Current number of replicas below Spec.MinReplicas".to_owned(),
            )
        } else {
            let found = self.compute(autoscaler, &spec, &scale, &mut values).await;
            let (proposed, metric) = match found {
                Ok(found) => found,
                Err(error) => {
                    self.set_status(autoscaler, current, None, values)?;
                    self.warn(autoscaler, "FailedComputeMetricsReplicas", &error);
                    return Err(error);
                }
            };
            let reason = match proposed.cmp(&current) {
                std::cmp::Ordering::Greater => format!("{metric} above target"),
                std::cmp::Ordering::Less => "All metrics below target".to_owned(),
                std::cmp::Ordering::Equal => String::new(),
            };
            (
                self.limit(autoscaler, &spec, current, proposed, min),
                reason,
            )
        };
        if desired != current {
            let written = self.rescale(&target, &mut scale, desired, &spec).await;
            if let Err(error) = written {
                let message = format!("New size: {desired}; reason: {reason}; error: {error}");
                self.warn(autoscaler, "FailedRescale", &message);
                let message =
                    format!("the HPA controller was unable to update the target scale: {error}");
                set(
                    autoscaler,
                    ABLE_TO_SCALE,
                    false,
                    "FailedUpdateScale",
                    message,
                    self.now,
                );
                self.set_status(autoscaler, current, None, values)?;
                return Err(error);
            }
            let message =
                format!("the HPA controller was able to update the target scale to {desired}");
            set(
                autoscaler,
                ABLE_TO_SCALE,
                true,
                "SucceededRescale",
                message,
                self.now,
            );
            let message = format!("New size: {desired}; reason: {reason}");
            let recorder = &self.context.state().recorder;
            recorder.event(
                &*autoscaler,
                EventType::Normal,
                "SuccessfulRescale",
                message,
            );
            let behavior = spec.behavior.as_ref();
            self.remember(|known| known.history.scaled(current, desired, behavior, self.now));
            let status = autoscaler.status.get_or_insert_default();
            status.last_scale_time = Some(whole_seconds(self.now));
        }
        self.set_status(autoscaler, current, Some(desired), values)
    }

    /// Changes the remembered state of the autoscaler.
    pub(super) fn remember<R>(&self, change: impl FnOnce(&mut super::Known) -> R) -> R {
        let mut known = self.context.state().known.lock();
        change(known.entry(self.request.key().clone()).or_default())
    }

    /// Returns the largest number of replicas that a metric asks for, and the name of the metric.
    async fn compute(
        &self,
        autoscaler: &mut HorizontalPodAutoscaler,
        spec: &HorizontalPodAutoscalerSpec,
        scale: &Scale,
        values: &mut Vec<Value>,
    ) -> Result<(i32, String), String> {
        let status = scale.status.clone().unwrap_or_default();
        let selector = status.selector.unwrap_or_default();
        let pods = self.pods_of(autoscaler, &selector).await?;
        let current = scale
            .spec
            .as_ref()
            .and_then(|spec| spec.replicas)
            .unwrap_or(0);
        let asked = autoscaler.clone();
        let inputs = Inputs {
            autoscaler: &asked,
            metrics: Metrics {
                client: self.context.client().live(),
                namespace: self.namespace,
            },
            mapper: &self.context.state().mapper,
            selector: &selector,
            pods: &pods,
            spec_replicas: current,
            status_replicas: status.replicas,
            now: self.now,
        };
        let metrics = spec.metrics.clone().unwrap_or_default();
        let (mut best, mut first, mut failures): (Option<(i32, String)>, _, usize) =
            (None, None, 0);
        for metric in &metrics {
            match inputs.propose(metric).await {
                Ok(proposal) => {
                    values.push(proposal.status);
                    if best
                        .as_ref()
                        .is_none_or(|(replicas, _)| proposal.replicas > *replicas)
                    {
                        best = Some((proposal.replicas, proposal.metric));
                    }
                }
                Err(failed) => {
                    self.warn(autoscaler, failed.reason, &failed.message);
                    failures += 1;
                    first.get_or_insert(failed);
                }
            }
        }
        // Metrics that are missing might ask for more, so without them nothing shrinks.
        let usable = best.filter(|(replicas, _)| failures == 0 || *replicas >= current);
        match (usable, first) {
            (Some((replicas, metric)), _) => {
                let message = format!(
                    "the HPA was able to successfully calculate a replica count from {metric}"
                );
                set(
                    autoscaler,
                    SCALING_ACTIVE,
                    true,
                    "ValidMetricFound",
                    message,
                    self.now,
                );
                Ok((replicas, metric))
            }
            (None, Some(failed)) => {
                let message = format!(
                    "the HPA was unable to compute the replica count: {}",
                    failed.message
                );
                set(
                    autoscaler,
                    SCALING_ACTIVE,
                    false,
                    failed.reason,
                    message,
                    self.now,
                );
                Err(format!(
                    "invalid metrics ({failures} invalid out of {}), first error is: {}",
                    metrics.len(),
                    failed.told
                ))
            }
            (None, None) => Err("there are no metrics".to_owned()),
        }
    }

    /// Applies the limits of the autoscaler, and reports it in the conditions.
    fn limit(
        &self,
        autoscaler: &mut HorizontalPodAutoscaler,
        spec: &HorizontalPodAutoscalerSpec,
        current: i32,
        desired: i32,
        min: i32,
    ) -> i32 {
        let numbers = Numbers {
            current,
            desired,
            min,
            max: spec.max_replicas,
            now: self.now,
        };
        let behavior = spec.behavior.as_ref();
        let limited = self.remember(|known| known.history.limit(numbers, behavior));
        let (reason, message) = limited.able;
        set(autoscaler, ABLE_TO_SCALE, true, reason, message, self.now);
        let (reason, message) = limited.limit;
        set(
            autoscaler,
            SCALING_LIMITED,
            limited.is_limited,
            reason,
            message,
            self.now,
        );
        limited.replicas
    }

    /// Writes the numbers and values into the status. Without a desired number the last one stays.
    fn set_status(
        &self,
        autoscaler: &mut HorizontalPodAutoscaler,
        current: i32,
        desired: Option<i32>,
        values: Vec<Value>,
    ) -> Result<(), String> {
        let values = serde_json::from_value(json!(values)).map_err(|error| error.to_string())?;
        let status = autoscaler.status.get_or_insert_default();
        status.current_replicas = Some(current);
        status.desired_replicas = desired.unwrap_or(status.desired_replicas);
        status.current_metrics = Some(values).filter(|values: &Vec<_>| !values.is_empty());
        Ok(())
    }
}
