//! [`AccessLog`]: the permissions that the requests of users needed.

use std::{
    collections::{BTreeMap, btree_map},
    sync::Arc,
};

use kubewright_apiserver::{
    auth::{AccessObserver, Attributes, Decision, MASTERS, Target},
    request::UserInfo,
};
use kubewright_rbac::{Advice, Permission, PolicyRule};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// The maximum number of permissions that are remembered. Any others are dropped.
const MAX_PERMISSIONS: usize = 10_000;

/// The maximum number of objects that a missing permission names. If more are denied, it is about objects of any name.
const MAX_NAMES: usize = 16;

/// Records which permissions the requests of each user needed, and which of them are missing.
///
/// Permissions that were used are about objects of any name. One that is missing names the object that was denied, since
/// roles can grant access to some objects of a resource; it is no longer missing once the same request is allowed.
///
/// Besides the request itself, the log has what was needed to handle it: `create`, if an apply or a PUT created the object,
/// `impersonate`, or `escalate` and `bind` for roles and bindings with more permissions than their writer has.
///
/// Members of `system:masters` are not recorded, since every request of theirs is allowed. Clones share their records, which are
/// limited to 10,000 permissions. The first denial of a permission is logged as a warning, with the rule that would grant it.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use http::Request;
/// use kubewright_apiserver::Body;
/// use kubewright_cluster::{AccessLog, AuthorizationMode, Cluster};
///
/// let log = AccessLog::new();
/// let cluster = Cluster::builder()
///     .authorization([AuthorizationMode::Rbac])
///     .access_log(log.clone())
///     .start()
///     .await?;
/// let request = Request::get("/api/v1/pods").body(Body::empty()).unwrap();
/// assert_eq!(cluster.api_server().server().handle(request).await.status(), 403);
///
/// let denied = log.denied("system:anonymous");
/// assert_eq!(denied[0].to_string(), "list pods");
/// # cluster.stop().await?;
/// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct AccessLog(Arc<Shared>);

/// A permission that a user needed.
///
/// ```
/// use kubewright_cluster::{Access, Permission};
///
/// let access = Access {
///     user: "alice".into(),
///     allowed: true,
///     permission: Permission::of_resource("get", "", "pods", "log", "shop"),
/// };
/// let json = serde_json::to_string(&access).unwrap();
/// assert_eq!(json, r#"{"user":"alice","allowed":true,"resource":"pods/log","namespace":"shop","verb":"get"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Access {
    /// The name of the user.
    pub user: String,
    /// Whether requests were allowed, as opposed to the last one about this object.
    pub allowed: bool,
    /// The permission.
    #[serde(flatten)]
    pub permission: Permission,
}

struct Shared {
    seen: Mutex<Seen>,
    /// Counts denials.
    denials: watch::Sender<u64>,
}

#[derive(Default)]
struct Seen {
    users: BTreeMap<String, BTreeMap<Permission, Outcome>>,
    permissions: usize,
}

/// The outcome of the requests that needed a permission.
#[derive(Default)]
struct Outcome {
    /// Whether one was allowed.
    was_allowed: bool,
    /// The objects whose last request was denied, with the rules that do as well.
    denied: BTreeMap<String, Vec<PolicyRule>>,
    /// Whether too many objects were denied to tell them apart. The permission is then missing until any request is allowed.
    is_crowded: bool,
}

impl AccessLog {
    /// Creates an empty log.
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            seen: Mutex::default(),
            denials: watch::Sender::new(0),
        }))
    }

    /// Returns the permissions that requests of a user needed, allowed or not.
    pub fn used(&self, user: &str) -> Vec<Permission> {
        let seen = self.0.seen.lock();
        let used = seen.users.get(user).into_iter().flatten();
        used.map(|(permission, _)| permission.clone()).collect()
    }

    /// Returns the missing permissions of a user: those whose last request was denied.
    pub fn denied(&self, user: &str) -> Vec<Permission> {
        let seen = self.0.seen.lock();
        let used = seen.users.get(user).into_iter().flatten();
        used.flat_map(|(permission, outcome)| outcome.missing(permission))
            .collect()
    }

    /// Returns the rules to add for a user, or `None` if no request was denied.
    pub fn advice(&self, user: &str) -> Option<Advice> {
        let denied = self.denied(user);
        (!denied.is_empty()).then(|| Advice::new(user, denied))
    }

    /// Returns everything, sorted by user and permission.
    pub fn all(&self) -> Vec<Access> {
        let seen = self.0.seen.lock();
        let mut all = Vec::new();
        for (user, permissions) in &seen.users {
            for (permission, outcome) in permissions {
                let access = |allowed, permission| Access {
                    user: user.clone(),
                    allowed,
                    permission,
                };
                all.extend(outcome.missing(permission).map(|it| access(false, it)));
                all.extend(
                    outcome
                        .was_allowed
                        .then(|| access(true, permission.clone())),
                );
            }
        }
        all
    }

    /// Returns a counter that is incremented with each denied request.
    pub fn denials(&self) -> watch::Receiver<u64> {
        self.0.denials.subscribe()
    }

    /// Removes the records of a user.
    pub fn forget(&self, user: &str) {
        let mut seen = self.0.seen.lock();
        if let Some(forgotten) = seen.users.remove(user) {
            seen.permissions -= forgotten.len();
        }
    }

    fn note(&self, user: &UserInfo, permission: Permission, allowed: bool) {
        let any = Permission {
            name: String::new(),
            alternative: Vec::new(),
            ..permission.clone()
        };
        let is_new = {
            let mut seen = self.0.seen.lock();
            let seen = &mut *seen;
            let known = seen.users.entry(user.name.clone()).or_default();
            let outcome = match known.entry(any) {
                btree_map::Entry::Occupied(entry) => Some(entry.into_mut()),
                btree_map::Entry::Vacant(entry) if seen.permissions < MAX_PERMISSIONS => {
                    seen.permissions += 1;
                    Some(entry.insert(Outcome::default()))
                }
                btree_map::Entry::Vacant(_) => None,
            };
            outcome.is_some_and(|outcome| outcome.note(&permission, allowed))
        };
        if is_new {
            let advice = Advice::new(&user.name, [permission]);
            tracing::warn!("a request was denied: {advice}");
        }
        if !allowed {
            self.0.denials.send_modify(|count| *count += 1);
        }
    }
}

impl Outcome {
    /// Notes the outcome of a request. Returns whether a rule is missing that was not before.
    fn note(&mut self, permission: &Permission, allowed: bool) -> bool {
        let name = &permission.name;
        if allowed {
            self.was_allowed = true;
            self.denied.remove(name);
            if std::mem::take(&mut self.is_crowded) {
                self.denied.clear();
            }
            return false;
        }
        // One rule is for all objects, except for verbs such as `bind`.
        let is_new = match permission.is_of_objects() {
            true => self.denied.is_empty(),
            false => !self.denied.contains_key(name),
        };
        if self.is_crowded {
            return false;
        }
        self.denied
            .insert(name.clone(), permission.alternative.clone());
        if self.denied.len() > MAX_NAMES {
            self.denied = BTreeMap::from([(String::new(), Vec::new())]);
            self.is_crowded = true;
        }
        is_new
    }

    /// Returns the missing permissions.
    fn missing(&self, permission: &Permission) -> impl Iterator<Item = Permission> {
        self.denied.iter().map(|(name, alternative)| Permission {
            name: name.clone(),
            alternative: alternative.clone(),
            ..permission.clone()
        })
    }
}

impl Default for AccessLog {
    fn default() -> Self {
        Self::new()
    }
}

impl AccessObserver for AccessLog {
    fn decided(&self, attributes: &Attributes<'_>, decision: &Decision) {
        let user = attributes.user;
        if user.groups.iter().any(|group| group == MASTERS) {
            return;
        }
        let mut permission = permission(attributes);
        if !decision.is_allow() {
            permission.alternative = Permission::not_held(&decision.reason.to_string());
        }
        self.note(user, permission, decision.is_allow());
    }

    fn unneeded(&self, attributes: &Attributes<'_>) {
        let mut seen = self.0.seen.lock();
        let seen = &mut *seen;
        let permission = permission(attributes);
        let Some(known) = seen.users.get_mut(&attributes.user.name) else {
            return;
        };
        let any = permission.clone().named("");
        let Some(outcome) = known.get_mut(&any) else {
            return;
        };
        outcome.denied.remove(&permission.name);
        if outcome.denied.is_empty() && !outcome.was_allowed {
            known.remove(&any);
            seen.permissions -= 1;
        }
    }
}

fn permission(attributes: &Attributes<'_>) -> Permission {
    match &attributes.target {
        Target::Path(path) => Permission::of_path(attributes.verb, path),
        Target::Resource(target) => Permission::of_resource(
            attributes.verb,
            target.group,
            target.resource,
            target.subresource,
            target.namespace,
        )
        .named(target.name),
    }
}

#[cfg(test)]
mod tests;
