//! `LimitRanger`: applies the limit ranges of a namespace: default requests and limits of containers, and bounds of
//! containers, pods and claims.

mod constraints;
mod defaults;

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::Status;
use serde_json::Value;

use super::{
    forbidden::{forbidden, is_for, is_for_subresource},
    stored::Stored,
};

const LIMIT_RANGES: &str = "limitranges";

/// The `LimitRanger` plugin.
pub(crate) struct LimitRanger(Stored);

impl LimitRanger {
    /// Returns a plugin that reads the limit ranges of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }

    /// Returns the limit ranges of the namespace.
    async fn ranges(&self, cx: &RequestContext) -> Result<Vec<Value>, Status> {
        self.0
            .list(LIMIT_RANGES, format!("{}/", cx.info.namespace))
            .await
    }
}

#[boxed_async]
impl Plugin for LimitRanger {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for_subresource(cx, "", "pods", "resize") || is_for(cx, "", "persistentvolumeclaims")
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        if subject(cx, attributes) == Some(Subject::Pod) {
            for range in self.ranges(cx).await? {
                defaults::apply(&range, object);
            }
        }
        Ok(())
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let (Some(object), Some(subject)) = (object, subject(cx, attributes)) else {
            return Ok(());
        };
        for range in self.ranges(cx).await? {
            let violations = match subject {
                Subject::Pod => constraints::of_pod(&range, object),
                Subject::Claim => constraints::of_claim(&range, object),
            };
            if let Some(text) = aggregate(violations) {
                return Err(forbidden(cx, attributes, object, text));
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Subject {
    Pod,
    Claim,
}

/// Returns whether the limits apply. The resources of a pod change through `resize` only; an object that is being deleted is
/// exempt.
fn subject(cx: &RequestContext, attributes: &Attributes<'_>) -> Option<Subject> {
    if attributes
        .old
        .is_some_and(|old| !old["metadata"]["deletionTimestamp"].is_null())
    {
        return None;
    }
    match attributes.operation {
        Operation::Create if is_for(cx, "", "pods") => Some(Subject::Pod),
        Operation::Update if is_for_subresource(cx, "", "pods", "resize") => Some(Subject::Pod),
        Operation::Create | Operation::Update if is_for(cx, "", "persistentvolumeclaims") => {
            Some(Subject::Claim)
        }
        _ => None,
    }
}

/// Joins violations into one message without duplicates.
fn aggregate(violations: Vec<String>) -> Option<String> {
    let mut unique: Vec<String> = Vec::new();
    for violation in violations {
        if !unique.contains(&violation) {
            unique.push(violation);
        }
    }
    match unique.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

#[cfg(test)]
mod tests;
