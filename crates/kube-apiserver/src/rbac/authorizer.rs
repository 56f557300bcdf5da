//! [`Rbac`]: decides by roles and bindings.

use std::sync::Arc;

use kubewright_apiserver::{
    auth::{
        Attributes, Authorizer, Decision, NonResourceRule, Reason, ResourceRule, Rules, Target,
    },
    boxed_async,
    request::UserInfo,
};
use kubewright_machinery::go;
use kubewright_rbac::{PolicyRule, ResourceRequest};
use kubewright_store::Store;

use super::{Policy, index::Index};

/// Allows what the roles in a store grant. All other requests are left to other authorizers.
///
/// A decision sees every write that was answered before it was asked for, also if another server wrote to the same store.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use kubewright_apiserver::{
///     auth::{Attributes, Authorizer},
///     request::UserInfo,
/// };
/// use kubewright_kube_apiserver::Rbac;
/// use kubewright_store::MemoryStore;
///
/// let rbac = Rbac::new(Arc::new(MemoryStore::new()));
/// let nobody = UserInfo::default();
/// let decision = rbac.authorize(&Attributes::of_path(&nobody, "get", "/version")).await;
/// assert!(!decision.is_allow(), "an empty store has no roles");
/// # });
/// ```
#[derive(Clone)]
pub struct Rbac {
    policy: Arc<Policy>,
}

impl Rbac {
    /// Returns an authorizer by the roles and bindings of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::of(Arc::new(Policy::new(store)))
    }

    pub(crate) fn of(policy: Arc<Policy>) -> Self {
        Self { policy }
    }
}

#[boxed_async]
impl Authorizer for Rbac {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        match self.policy.index().await {
            Ok(index) => decide(&index, attributes),
            Err(error) => Decision::no_opinion("").with_error(error.to_string()),
        }
    }

    async fn rules_for(&self, user: &UserInfo, namespace: &str) -> Rules {
        let (rules, missing) = match self.policy.rules_for(user, namespace).await {
            Ok(found) => found,
            Err(error) => return Rules::unknown(error.to_string()),
        };
        let mut out = Rules {
            errors: missing.iter().map(ToString::to_string).collect(),
            ..Rules::default()
        };
        for rule in rules.iter().flat_map(|rules| rules.iter()) {
            if !rule.resources.is_empty() {
                out.resource_rules.push(ResourceRule {
                    verbs: rule.verbs.clone(),
                    api_groups: rule.api_groups.clone(),
                    resources: rule.resources.clone(),
                    resource_names: rule.resource_names.clone(),
                });
            }
            if !rule.non_resource_urls.is_empty() {
                out.non_resource_rules.push(NonResourceRule {
                    verbs: rule.verbs.clone(),
                    non_resource_urls: rule.non_resource_urls.clone(),
                });
            }
        }
        out
    }
}

fn decide(index: &Index, attributes: &Attributes<'_>) -> Decision {
    let namespace = attributes.resource().map_or("", |target| target.namespace);
    evaluate(index, attributes.user, namespace, |rule| {
        allows(rule, attributes)
    })
}

/// Returns whether a rule allows a request.
pub(crate) fn allows(rule: &PolicyRule, attributes: &Attributes<'_>) -> bool {
    let verb = attributes.verb;
    match &attributes.target {
        Target::Path(path) => rule.allows_path(verb, path),
        Target::Resource(target) => rule.allows(&ResourceRequest {
            verb,
            group: target.group,
            resource: target.resource,
            subresource: target.subresource,
            name: target.name,
        }),
    }
}

fn evaluate(
    index: &Index,
    user: &UserInfo,
    namespace: &str,
    allows: impl Fn(&PolicyRule) -> bool,
) -> Decision {
    let mut complete = true;
    for grant in index.grants(user, namespace) {
        match index.rules(grant) {
            Ok(rules) if rules.iter().any(&allows) => {
                return Decision::allow_because(Reason::shared(grant.clone()));
            }
            Ok(_) => {}
            Err(_) => complete = false,
        }
    }
    if complete {
        return Decision::no_opinion("");
    }
    // Grants of the user come before those of groups, but roles are named in the order of the bindings.
    let (_, missing) = index.rules_for(user, namespace);
    let missing = missing.iter().map(ToString::to_string);
    Decision::no_opinion(format!("RBAC: {}", go::aggregate(missing)))
}
