//! The seam of authorization: [`Authorizer`], and those that need no rules.

use std::sync::Arc;

use kubewright_derive::boxed_async;
use kubewright_machinery::go;

use super::{Attributes, Decision, NonResourceRule, ResourceRule, Rules, Verdict};
use crate::request::UserInfo;

/// Authorizes requests.
///
/// ```
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::auth::{Attributes, Authorizer, Decision};
///
/// struct ReadOnly;
///
/// #[boxed_async]
/// impl Authorizer for ReadOnly {
///     async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
///         match attributes.verb {
///             "get" | "list" | "watch" => Decision::allow(),
///             _ => Decision::no_opinion("the server is read-only"),
///         }
///     }
/// }
/// ```
#[boxed_async]
pub trait Authorizer: Send + Sync + 'static {
    /// Decides whether the user may make the request.
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision;

    /// Lists what the user may do in a namespace and in the cluster as a whole. By default the list is unknown.
    async fn rules_for(&self, user: &UserInfo, namespace: &str) -> Rules {
        let _ = (user, namespace);
        Rules::unknown("the authorizer does not support user rule resolution")
    }

    /// Learns of a decision that a request depended on, unlike the answers to an access review. A server passes it to its
    /// [`AccessObserver`](super::AccessObserver); by default it is ignored.
    fn decided(&self, attributes: &Attributes<'_>, decision: &Decision) {
        let _ = (attributes, decision);
    }

    /// Learns that a request needed no permission like this one, since the user has others that do as well. By default it
    /// is ignored.
    fn unneeded(&self, attributes: &Attributes<'_>) {
        let _ = attributes;
    }
}

/// Allows every request.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_apiserver::{
///     auth::{AlwaysAllow, Attributes, Authorizer},
///     request::UserInfo,
/// };
///
/// let user = UserInfo::default();
/// let attributes = Attributes::of_path(&user, "delete", "/everything");
/// assert!(AlwaysAllow.authorize(&attributes).await.is_allow());
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysAllow;

/// Allows no request. Members of `system:masters` are allowed before any authorizer is asked.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_apiserver::{
///     auth::{AlwaysDeny, Attributes, Authorizer},
///     request::UserInfo,
/// };
///
/// let user = UserInfo::default();
/// let decision = AlwaysDeny.authorize(&Attributes::of_path(&user, "get", "/version")).await;
/// assert_eq!(decision.reason.to_string(), "Everything is forbidden.");
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysDeny;

/// Allows the members of some groups everything, and has no opinion about others.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_apiserver::{
///     auth::{Attributes, Authorizer, PrivilegedGroups},
///     request::UserInfo,
/// };
///
/// let root = UserInfo { groups: vec!["wheel".into()], ..UserInfo::default() };
/// let attributes = Attributes::of_path(&root, "get", "/metrics");
/// assert!(PrivilegedGroups::new(["wheel"]).authorize(&attributes).await.is_allow());
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct PrivilegedGroups(Vec<String>);

/// Asks authorizers in order until one allows or denies.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::auth::{AlwaysDeny, AuthorizerUnion, PrivilegedGroups};
///
/// let masters = PrivilegedGroups::new(["system:masters"]);
/// let authorizer = AuthorizerUnion::new(vec![Arc::new(masters), Arc::new(AlwaysDeny)]);
/// # let _ = authorizer;
/// ```
#[derive(Clone)]
pub struct AuthorizerUnion(Vec<Arc<dyn Authorizer>>);

impl PrivilegedGroups {
    /// Names the groups.
    pub fn new<T: Into<String>>(groups: impl IntoIterator<Item = T>) -> Self {
        Self(groups.into_iter().map(Into::into).collect())
    }
}

impl AuthorizerUnion {
    /// Creates a union. Without members it has no opinion about anything.
    pub fn new(members: Vec<Arc<dyn Authorizer>>) -> Self {
        Self(members)
    }
}

#[boxed_async]
impl Authorizer for AlwaysAllow {
    async fn authorize(&self, _: &Attributes<'_>) -> Decision {
        Decision::allow()
    }

    async fn rules_for(&self, _: &UserInfo, _: &str) -> Rules {
        let all = || vec!["*".to_owned()];
        Rules {
            resource_rules: vec![ResourceRule {
                verbs: all(),
                api_groups: all(),
                resources: all(),
                resource_names: Vec::new(),
            }],
            non_resource_rules: vec![NonResourceRule {
                verbs: all(),
                non_resource_urls: all(),
            }],
            ..Rules::default()
        }
    }
}

#[boxed_async]
impl Authorizer for AlwaysDeny {
    async fn authorize(&self, _: &Attributes<'_>) -> Decision {
        Decision::no_opinion("Everything is forbidden.")
    }

    async fn rules_for(&self, _: &UserInfo, _: &str) -> Rules {
        Rules::default()
    }
}

#[boxed_async]
impl Authorizer for PrivilegedGroups {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let groups = &attributes.user.groups;
        match groups.iter().any(|group| self.0.contains(group)) {
            true => Decision::allow(),
            false => Decision::no_opinion(""),
        }
    }

    /// Lists nothing: the rules of these groups are those that the other authorizers list.
    async fn rules_for(&self, _: &UserInfo, _: &str) -> Rules {
        Rules::default()
    }
}

#[boxed_async]
impl Authorizer for AuthorizerUnion {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let (mut reasons, mut errors) = (Vec::new(), Vec::new());
        for member in &self.0 {
            let decision = member.authorize(attributes).await;
            if decision.verdict != Verdict::NoOpinion {
                return decision;
            }
            if !decision.reason.is_empty() {
                reasons.push(decision.reason.to_string());
            }
            errors.extend(decision.error);
        }
        Decision {
            error: (!errors.is_empty()).then(|| go::aggregate(errors)),
            ..Decision::no_opinion(reasons.join("\n"))
        }
    }

    async fn rules_for(&self, user: &UserInfo, namespace: &str) -> Rules {
        let mut rules = Rules::default();
        for member in &self.0 {
            rules.append(member.rules_for(user, namespace).await);
        }
        rules
    }
}
