//! Conditions of an autoscaler.

use jiff::Timestamp;
use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition as Condition,
};

use crate::workloads::objects::whole_seconds;

/// The condition that says whether the target can be scaled.
pub(super) const ABLE_TO_SCALE: &str = "AbleToScale";

/// The condition that says whether the metrics can be used.
pub(super) const SCALING_ACTIVE: &str = "ScalingActive";

/// The condition that says whether a limit applies.
pub(super) const SCALING_LIMITED: &str = "ScalingLimited";

/// Sets a condition. The time of its transition stays if its status does.
pub(super) fn set(
    autoscaler: &mut HorizontalPodAutoscaler,
    type_: &str,
    is_true: bool,
    reason: &str,
    message: impl Into<String>,
    now: Timestamp,
) {
    let status = autoscaler.status.get_or_insert_default();
    let conditions = status.conditions.get_or_insert_default();
    let value = if is_true { "True" } else { "False" };
    let found = conditions.iter_mut().find(|known| known.type_ == type_);
    let mut condition = Condition {
        type_: type_.to_owned(),
        status: value.to_owned(),
        last_transition_time: Some(whole_seconds(now)),
        reason: Some(reason.to_owned()),
        message: Some(message.into()),
        observed_generation: None,
    };
    match found {
        Some(known) => {
            if known.status == value {
                condition.last_transition_time = known.last_transition_time.clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}
