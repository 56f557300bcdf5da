//! Checks a change against quotas, and computes their usage after it.

use jiff::Timestamp;
use kubewright_apiserver::admission::Operation;
use kubewright_builtins::usage::{
    Evaluator, is_terminating,
    resource_list::{ResourceList, add, less, only, print},
};
use serde_json::Value;

use super::Quota;

/// The change.
pub(super) struct Change<'a> {
    pub(super) operation: Operation,
    pub(super) subresource: &'a str,
    pub(super) object: &'a Value,
    pub(super) old: Option<&'a Value>,
    pub(super) now: Timestamp,
}

/// The reason of a rejection, which completes a sentence.
pub(super) struct Rejection(pub(super) String);

/// Returns whether a change may increase the usage.
pub(super) fn may_use_more(evaluator: &Evaluator, change: &Change<'_>) -> bool {
    let create = change.operation == Operation::Create;
    match (evaluator, change.subresource) {
        (Evaluator::Pods, "") => {
            let rescoped = |old: &Value| is_terminating(old) != is_terminating(change.object);
            create || change.old.is_some_and(rescoped)
        }
        (Evaluator::Pods, "resize") => !create,
        (Evaluator::Services | Evaluator::ResourceClaims, "") => true,
        (Evaluator::VolumeClaims, "" | "status") => true,
        (Evaluator::Objects(..), "") => create,
        _ => false,
    }
}

/// Returns the usage of each quota after the change, or `None` if it does not change.
pub(super) fn check(
    quotas: &[Quota],
    evaluator: &Evaluator,
    change: &Change<'_>,
) -> Result<Vec<Option<ResourceList>>, Rejection> {
    let mut concerned = Vec::with_capacity(quotas.len());
    for quota in quotas {
        concerned.push(concerns(quota, evaluator, change.object));
    }
    for (quota, concerned) in quotas.iter().zip(&concerned) {
        if *concerned {
            has_what_it_takes(quota, evaluator, change)?;
        }
    }
    let usage = evaluator.usage(change.object, change.now.as_second());
    let negative: Vec<&str> = usage
        .iter()
        .filter(|(_, q)| q.sign() < 0)
        .map(|(name, _)| name.as_str())
        .collect();
    if !negative.is_empty() {
        let names = negative.join(",");
        return Err(Rejection(format!(
            "quota usage is negative for resource(s): {names}"
        )));
    }
    let mut out = Vec::with_capacity(quotas.len());
    for (quota, concerned) in quotas.iter().zip(concerned) {
        out.push(if concerned {
            spend(quota, evaluator, change, &usage)?
        } else {
            None
        });
    }
    Ok(out)
}

/// Returns whether the quota limits a resource that such objects use, and its scopes match the object.
pub(super) fn concerns(quota: &Quota, evaluator: &Evaluator, object: &Value) -> bool {
    quota.hard.keys().any(|name| evaluator.measures(name))
        && quota
            .selectors
            .iter()
            .all(|selector| evaluator.in_scope(selector, object))
}

/// Checks that limited resources are requested and that their usage is known.
fn has_what_it_takes(
    quota: &Quota,
    evaluator: &Evaluator,
    change: &Change<'_>,
) -> Result<(), Rejection> {
    let limited: Vec<&str> = quota
        .hard
        .keys()
        .map(String::as_str)
        .filter(|name| evaluator.measures(name))
        .collect();
    if let Some(missing) = evaluator.missing(&limited, change.object) {
        return Err(Rejection(format!(
            "failed quota: {}: {missing}",
            quota.name
        )));
    }
    if limited.iter().any(|name| !quota.used.contains_key(*name)) {
        let names = limited.join(",");
        return Err(Rejection(format!(
            "status unknown for quota: {}, resources: {names}",
            quota.name
        )));
    }
    Ok(())
}

fn spend(
    quota: &Quota,
    evaluator: &Evaluator,
    change: &Change<'_>,
    usage: &ResourceList,
) -> Result<Option<ResourceList>, Rejection> {
    // The usage of the old object counts already, if this quota matched it.
    let paid = change
        .old
        .filter(|old| change.operation == Operation::Update && concerns(quota, evaluator, old));
    let more = match paid {
        Some(old) => less(usage, &evaluator.usage(old, change.now.as_second())),
        None => usage.clone(),
    };
    let requested = only(&more, |name| {
        quota.hard.contains_key(name) && more.get(name).is_some_and(|q| !q.is_zero())
    });
    if requested.is_empty() {
        return Ok(None);
    }
    let mut used = quota.used.clone();
    add(&mut used, &requested);
    let exceeded =
        |name: &str| requested.contains_key(name) && used.get(name) > quota.hard.get(name);
    if change.subresource != "status" && requested.keys().any(|name| exceeded(name)) {
        return Err(Rejection(format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            quota.name,
            print(&only(&requested, exceeded)),
            print(&only(&quota.used, exceeded)),
            print(&only(&quota.hard, exceeded)),
        )));
    }
    Ok(Some(used))
}
