//! [`Questions`]: the permissions that a mode asked an authorizer for.

use parking_lot::Mutex;

use super::super::{Attributes, Authorizer, Decision, ResourceAttributes};
use crate::request::UserInfo;

/// The permissions that a mode asked an authorizer for. An observer learns of them when the outcome is known: of modes that replace each other,
/// only one matters.
#[derive(Default)]
pub(super) struct Questions(Mutex<Vec<Question>>);

struct Question {
    user: UserInfo,
    verb: String,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    decision: Decision,
}

impl Questions {
    /// Adds a question. Modes ask about resources only.
    pub(super) fn add(&self, attributes: &Attributes<'_>, decision: &Decision) {
        let Some(resource) = attributes.resource() else {
            return;
        };
        self.0.lock().push(Question {
            user: attributes.user.clone(),
            verb: attributes.verb.to_owned(),
            group: resource.group.to_owned(),
            version: resource.version.to_owned(),
            resource: resource.resource.to_owned(),
            subresource: resource.subresource.to_owned(),
            namespace: resource.namespace.to_owned(),
            name: resource.name.to_owned(),
            decision: decision.clone(),
        });
    }

    /// Tells an authorizer that the request depended on these decisions: on those that allowed the impersonation, or on the
    /// one that refused it.
    pub(super) fn tell(self, authorizer: &dyn Authorizer, is_allowed: bool) {
        let questions = self.0.into_inner();
        let skipped = match is_allowed {
            true => 0,
            false => questions.len().saturating_sub(1),
        };
        let decisive = questions.iter().skip(skipped);
        for question in decisive.filter(|it| it.decision.is_allow() == is_allowed) {
            let resource = ResourceAttributes {
                group: &question.group,
                version: &question.version,
                resource: &question.resource,
                subresource: &question.subresource,
                namespace: &question.namespace,
                name: &question.name,
                ..ResourceAttributes::default()
            };
            let attributes = Attributes::of_resource(&question.user, &question.verb, resource);
            authorizer.decided(&attributes, &question.decision);
        }
    }
}
