//! A warning for objects that this server stores and does not act on yet. Off by default: a real server has no such warnings.

use async_trait::async_trait;
use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    request::RequestContext,
};
use kubewright_machinery::Status;
use serde_json::Value;

use super::forbidden::is_for;

/// The group of the resources below.
const GROUP: &str = "admissionregistration.k8s.io";

/// The resources, and what is not done about their objects.
const INERT: [(&str, &str); 4] = [
    ("validatingadmissionpolicies", POLICIES),
    ("validatingadmissionpolicybindings", POLICIES),
    ("mutatingadmissionpolicies", POLICIES),
    ("mutatingadmissionpolicybindings", POLICIES),
];

const POLICIES: &str = "admission policies are not enforced by this server yet";

/// Warns when an object is written that nothing acts on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InertWarning;

#[async_trait]
impl Plugin for InertWarning {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        _object: Option<&Value>,
    ) -> Result<(), Status> {
        if matches!(attributes.operation, Operation::Create | Operation::Update) {
            let inert = INERT
                .iter()
                .find(|(resource, _)| is_for(cx, GROUP, resource));
            if let Some((resource, text)) = inert {
                cx.warnings
                    .add(format!("{resource}.{GROUP} is stored, but {text}"));
            }
        }
        Ok(())
    }
}
