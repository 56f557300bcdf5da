//! The policies of a behavior: how many replicas may be added or removed in a period.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy as Policy, HPAScalingRules as Rules};

use super::limits::History;

/// The choice among the numbers that policies propose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Select {
    Most,
    Least,
    Nothing,
}

fn selected(rules: &Rules) -> Select {
    match rules.select_policy.as_deref() {
        Some("Disabled") => Select::Nothing,
        Some("Min") => Select::Least,
        _ => Select::Most,
    }
}

/// Returns the time for which recommendations count.
pub(super) fn window(rules: Option<&Rules>, default: SignedDuration) -> SignedDuration {
    let seconds = rules.and_then(|rules| rules.stabilization_window_seconds);
    seconds.map_or(default, |seconds| {
        SignedDuration::from_secs(i64::from(seconds))
    })
}

/// Returns the longest period of all policies.
pub(super) fn longest_period(rules: Option<&Rules>) -> SignedDuration {
    let periods = policies(rules)
        .iter()
        .map(|policy| policy.period_seconds)
        .max();
    SignedDuration::from_secs(i64::from(periods.unwrap_or(0)))
}

/// Returns the number of replicas that a target may grow to now.
pub(super) fn most(history: &History, current: i32, rules: Option<&Rules>, now: Timestamp) -> i32 {
    let proposed = |policy: &Policy| {
        let start = start_of(history, current, policy, now);
        match policy.type_.as_str() {
            "Percent" => percent(start, 100.0 + f64::from(policy.value)).ceil() as i32,
            _ => start.saturating_add(policy.value),
        }
    };
    let proposals = policies(rules).iter().map(proposed);
    match rules.map_or(Select::Most, selected) {
        Select::Nothing => current,
        Select::Least => proposals.min().unwrap_or(i32::MAX),
        Select::Most => proposals.max().unwrap_or(i32::MIN),
    }
}

/// Returns the number of replicas that a target may shrink to now.
pub(super) fn least(history: &History, current: i32, rules: Option<&Rules>, now: Timestamp) -> i32 {
    let proposed = |policy: &Policy| {
        let start = start_of(history, current, policy, now);
        match policy.type_.as_str() {
            "Percent" => percent(start, 100.0 - f64::from(policy.value)) as i32,
            _ => start.saturating_sub(policy.value),
        }
    };
    let proposals = policies(rules).iter().map(proposed);
    match rules.map_or(Select::Most, selected) {
        Select::Nothing => current,
        Select::Least => proposals.max().unwrap_or(i32::MIN),
        Select::Most => proposals.min().unwrap_or(i32::MAX),
    }
}

fn policies(rules: Option<&Rules>) -> &[Policy] {
    rules
        .and_then(|rules| rules.policies.as_deref())
        .unwrap_or_default()
}

fn percent(replicas: i32, percent: f64) -> f64 {
    f64::from(replicas) * (percent / 100.0)
}

/// Returns the number of replicas at the beginning of a policy's period.
fn start_of(history: &History, current: i32, policy: &Policy, now: Timestamp) -> i32 {
    let period = SignedDuration::from_secs(i64::from(policy.period_seconds));
    let changes = |events: &[(Timestamp, i32)]| {
        let recent = events
            .iter()
            .filter(|(at, _)| now.duration_since(*at) < period);
        recent.fold(0_i32, |sum, (_, change)| sum.saturating_add(*change))
    };
    current
        .saturating_sub(changes(&history.ups))
        .saturating_add(changes(&history.downs))
}
