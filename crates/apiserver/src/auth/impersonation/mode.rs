//! [`Mode`]: a set of permissions that allow impersonation.

use std::{borrow::Cow, time::Instant};

use kubewright_machinery::{
    Status,
    field::{self, Path},
    go,
    validation::validate_domain_prefixed_path,
};

use super::{
    super::{
        ANONYMOUS, AUTHENTICATED, Attributes, Authorizer, MASTERS, NODES, ResourceAttributes,
        UNAUTHENTICATED, forbidden, identity,
    },
    has_only_a_name,
    metrics::ImpersonationMetrics,
    questions::Questions,
};
use crate::request::UserInfo;

/// From this number of groups or values on, the permission for all of them is checked before those for each.
const MANY: usize = 4;

/// The attribute of a service account's token that names the node of its pod.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// The attribute that replaces those of the token when its node is impersonated.
const ASSOCIATED_KEYS: &str = "authentication.kubernetes.io/associated-node-keys";

/// A set of permissions that allow impersonation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A service account acts as the node that its pod runs on.
    AssociatedNode,
    /// Acts as a node.
    ArbitraryNode,
    /// Acts as a service account.
    ServiceAccount,
    /// Impersonates a user that is neither a node nor a service account, with any groups and attributes.
    UserInfo,
    /// Acts as anybody for any request, by the verb `impersonate`.
    Legacy,
}

/// The checks of a mode, on behalf of a user.
struct Check<'a> {
    authorizer: &'a dyn Authorizer,
    mode: Mode,
    requestor: &'a UserInfo,
    metrics: &'a ImpersonationMetrics,
    questions: &'a Questions,
}

impl Mode {
    /// All modes, in the order in which they are tried.
    pub(super) const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Legacy,
    ];

    /// Returns the verb about the other user.
    fn verb(self) -> &'static str {
        match self {
            Self::AssociatedNode => "impersonate:associated-node",
            Self::ArbitraryNode => "impersonate:arbitrary-node",
            Self::ServiceAccount => "impersonate:serviceaccount",
            Self::UserInfo => "impersonate:user-info",
            Self::Legacy => "impersonate",
        }
    }

    /// Returns the name in verbs and metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "legacy",
        }
    }

    /// Returns the verb as audit events show it; that of the legacy mode is left out.
    pub(super) fn constraint(self) -> &'static str {
        match self.is_constrained() {
            true => self.verb(),
            false => "",
        }
    }

    /// Returns whether the mode takes a permission for the request too.
    fn is_constrained(self) -> bool {
        self != Self::Legacy
    }

    /// Returns the user that a request is made as, or the refusal. `None` if the mode is not about such users.
    pub(super) async fn check(
        self,
        authorizer: &dyn Authorizer,
        wanted: &UserInfo,
        attributes: &Attributes<'_>,
        metrics: &ImpersonationMetrics,
        questions: &Questions,
    ) -> Option<Result<UserInfo, Status>> {
        let applies = self.applies(wanted, attributes.user);
        if !applies {
            return None;
        }
        let requestor = match self {
            Self::AssociatedNode => Cow::Owned(without_values(attributes.user)),
            _ => Cow::Borrowed(attributes.user),
        };
        let check = Check {
            authorizer,
            mode: self,
            requestor: &requestor,
            metrics,
            questions,
        };
        Some(check.run(wanted, attributes).await)
    }

    fn applies(self, wanted: &UserInfo, requestor: &UserInfo) -> bool {
        let name = wanted.name.as_str();
        let node = || identity::node(name);
        let is_service_account = || identity::service_account(name).is_some();
        match self {
            Self::AssociatedNode => {
                has_only_a_name(wanted) && node().is_some_and(|node| is_on(requestor, node))
            }
            Self::ArbitraryNode => has_only_a_name(wanted) && node().is_some(),
            Self::ServiceAccount => has_only_a_name(wanted) && is_service_account(),
            Self::UserInfo => node().is_none() && !is_service_account(),
            Self::Legacy => true,
        }
    }
}

/// Returns whether a user is a service account whose pod runs on a node.
fn is_on(user: &UserInfo, node: &str) -> bool {
    let mut nodes = user.extra.iter().filter(|(key, _)| key == NODE_NAME);
    let on_node = nodes.next().is_some_and(|(_, values)| *values == [node]);
    on_node && identity::service_account(&user.name).is_some()
}

/// Returns a service account with the names of its attributes only: the permission to act as the node of its pod does not
/// depend on the node.
fn without_values(user: &UserInfo) -> UserInfo {
    let mut keys: Vec<String> = user.extra.iter().map(|(key, _)| key.clone()).collect();
    keys.sort_unstable();
    UserInfo {
        extra: vec![(ASSOCIATED_KEYS.to_owned(), keys)],
        ..user.clone()
    }
}

impl<'a> Check<'a> {
    async fn run(
        &self,
        wanted: &UserInfo,
        attributes: &Attributes<'_>,
    ) -> Result<UserInfo, Status> {
        if self.mode.is_constrained() {
            let verb = format!("impersonate-on:{}:{}", self.mode.name(), attributes.verb);
            let request = Attributes {
                user: self.requestor,
                ..attributes.with_verb(&verb)
            };
            self.permitted(&request).await?;
        }
        let mut user = wanted.clone();
        self.name(&mut user).await?;
        if !wanted.uid.is_empty() {
            let uid = self.of_authentication("uids", "", &wanted.uid);
            self.permitted(&uid).await?;
        }
        self.groups(&wanted.groups).await?;
        self.extra(&wanted.extra).await?;
        let has = |group: &str| user.groups.iter().any(|own| own == group);
        let missing = match user.name.as_str() {
            ANONYMOUS => Some(UNAUTHENTICATED).filter(|group| !has(group)),
            _ => Some(AUTHENTICATED).filter(|group| !has(group) && !has(UNAUTHENTICATED)),
        };
        user.groups.extend(missing.map(str::to_owned));
        Ok(user)
    }

    /// Checks the name, and adds the groups that follow from it.
    async fn name(&self, user: &mut UserInfo) -> Result<(), Status> {
        let name = user.name.clone();
        let mut target = self.of_identity("users", &name);
        let node = identity::node(&name).filter(|_| self.mode.is_constrained());
        if let Some(node) = node {
            target.resource = "nodes";
            target.name = match self.mode {
                Mode::AssociatedNode => "*",
                _ => node,
            };
            user.groups = vec![NODES.to_owned()];
        }
        if let Some((namespace, name)) = identity::service_account(&name) {
            target.resource = "serviceaccounts";
            target.namespace = namespace;
            target.name = name;
            if user.groups.is_empty() {
                user.groups = identity::service_account_groups(namespace).into();
            }
        }
        self.permitted(&self.about(target)).await
    }

    async fn groups(&self, groups: &[String]) -> Result<(), Status> {
        let target = |name| self.about(self.of_identity("groups", name));
        if self.mode.is_constrained() {
            if groups.iter().any(String::is_empty) {
                let reason = "impersonating the empty string group is not allowed";
                return Err(forbidden(&target(""), &reason.into()));
            }
            if groups.iter().any(|group| group == MASTERS) {
                let reason = "impersonating the system:masters group is not allowed";
                return Err(forbidden(&target(MASTERS), &reason.into()));
            }
            if groups.len() >= MANY && self.permitted(&target("*")).await.is_ok() {
                return Ok(());
            }
        }
        for group in groups {
            self.permitted(&target(group)).await?;
        }
        Ok(())
    }

    async fn extra(&self, extra: &[(String, Vec<String>)]) -> Result<(), Status> {
        let target = |key, value| self.of_authentication("userextras", key, value);
        if self.mode.is_constrained() {
            if let Some(reason) = extra.iter().find_map(invalid) {
                return Err(forbidden(&target("", ""), &reason.into()));
            }
            let values: usize = extra.iter().map(|(_, values)| values.len()).sum();
            if values >= MANY && self.permitted(&target("*", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.permitted(&target(key, value)).await?;
            }
        }
        Ok(())
    }

    /// Returns a user or group as the mode names it. The legacy mode has them in the core group.
    fn of_identity<'b>(&self, resource: &'b str, name: &'b str) -> ResourceAttributes<'b> {
        ResourceAttributes {
            group: match self.mode.is_constrained() {
                true => "authentication.k8s.io",
                false => "",
            },
            version: "v1",
            resource,
            name,
            ..ResourceAttributes::default()
        }
    }

    fn of_authentication<'b>(
        &'b self,
        resource: &'b str,
        subresource: &'b str,
        name: &'b str,
    ) -> Attributes<'b> {
        self.about(ResourceAttributes {
            group: "authentication.k8s.io",
            version: "v1",
            resource,
            subresource,
            name,
            ..ResourceAttributes::default()
        })
    }

    fn about<'b>(&'b self, target: ResourceAttributes<'b>) -> Attributes<'b> {
        Attributes::of_resource(self.requestor, self.mode.verb(), target)
    }

    async fn permitted(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let began = Instant::now();
        let decision = self.authorizer.authorize(attributes).await;
        let is_allowed = decision.is_allow();
        self.metrics.checked(self.mode, is_allowed, began.elapsed());
        self.questions.add(attributes, &decision);
        if is_allowed {
            return Ok(());
        }
        let reason = match decision.error {
            None => decision.reason,
            Some(error) if decision.reason.is_empty() => error.into(),
            Some(error) => format!("{error}: {}", decision.reason).into(),
        };
        Err(forbidden(attributes, &reason))
    }
}

/// Returns the reason why no permission can grant an attribute.
fn invalid((key, values): &(String, Vec<String>)) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let errors = validate_domain_prefixed_path(key, &Path::new("extra").child("key"));
    if !errors.is_empty() {
        let errors = field::aggregate(&errors);
        return Some(format!(
            "impersonating an invalid key in extra is not allowed: {errors}"
        ));
    }
    if *key != key.to_lowercase() {
        let key = go::quote(key);
        return Some(format!(
            "impersonating a non-lowercase key in extra is not allowed: {key}"
        ));
    }
    let has_empty = values.iter().any(String::is_empty);
    has_empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}
