//! [`Decisions`]: the authorization checks of the expressions of one request.

use std::{collections::HashMap, sync::Arc};

use kubewright_apiserver::{
    auth::{Attributes, ResourceAttributes, Selection},
    request::{RequestContext, UserInfo},
};
use kubewright_cel::{
    AccessCheck, AccessDecision, AccessDecisions, AccessTarget, AccessedResource,
};
use kubewright_machinery::{Status, status};
use parking_lot::Mutex;

/// The decisions about checks that expressions asked for, kept until the request ends.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    known: Mutex<HashMap<AccessCheck, Arc<AccessDecision>>>,
    /// The check that an evaluation ended with.
    wanted: Mutex<Option<AccessCheck>>,
}

impl AccessDecisions for Decisions {
    fn decision(&self, check: &AccessCheck) -> Option<Arc<AccessDecision>> {
        let known = self.known.lock().get(check).cloned();
        if known.is_none() {
            *self.wanted.lock() = Some(check.clone());
        }
        known
    }
}

impl Decisions {
    /// Evaluates, and decides the checks that the evaluation asks for until it needs no more.
    ///
    /// # Errors
    ///
    /// Fails if the evaluation ends without a result although it asks for no check. The request is rejected then, because
    /// nothing is known about it.
    pub(crate) async fn evaluate<T, S>(
        &self,
        cx: &RequestContext,
        mut evaluate: impl FnMut() -> Result<T, S>,
    ) -> Result<T, Status> {
        loop {
            let result = evaluate();
            let wanted = self.wanted.lock().take();
            let Some(check) = wanted else {
                let undecided = "an authorization check of an expression was not decided";
                return result.map_err(|_| status::internal(undecided));
            };
            let decision = decide(cx, &check).await;
            self.known.lock().insert(check, Arc::new(decision));
        }
    }
}

/// Returns the resource of a request, which `authorizer.requestResource` is about.
pub(crate) fn request_resource(
    cx: &RequestContext,
    namespace: &str,
    name: &str,
) -> AccessedResource {
    let info = &cx.info;
    AccessedResource {
        group: info.group.clone(),
        resource: info.resource.clone(),
        subresource: info.subresource.clone(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..AccessedResource::default()
    }
}

async fn decide(cx: &RequestContext, check: &AccessCheck) -> AccessDecision {
    let account = check.service_account.as_deref();
    let account = account.map(|(namespace, name)| service_account(namespace, name));
    let user = account.as_ref().unwrap_or(&cx.user);
    let attributes = match &check.target {
        AccessTarget::Path(path) => Attributes::of_path(user, &check.verb, path),
        AccessTarget::Resource(resource) => Attributes::of_resource(
            user,
            &check.verb,
            ResourceAttributes {
                group: &resource.group,
                version: "*",
                resource: &resource.resource,
                subresource: &resource.subresource,
                namespace: &resource.namespace,
                name: &resource.name,
                field_selector: selection(&resource.field_selector),
                label_selector: selection(&resource.label_selector),
            },
        ),
    };
    let decision = cx.authorizer.authorize(&attributes).await;
    // A policy may ask about anything. Whether a denial matters, only its expression knows.
    if decision.is_allow() && account.is_none() {
        cx.authorizer.decided(&attributes, &decision);
    }
    AccessDecision {
        allowed: decision.is_allow(),
        reason: decision.reason.to_string(),
        error: decision.error,
    }
}

fn selection<S>(text: &str) -> Selection<'_, S> {
    match text {
        "" => Selection::None,
        text => Selection::Text(text),
    }
}

/// Returns a service account as checks know it, which is a member of the groups of its kind only.
fn service_account(namespace: &str, name: &str) -> UserInfo {
    UserInfo {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        groups: vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ],
        ..UserInfo::default()
    }
}
