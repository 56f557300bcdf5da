//! [`AccessLog`]: the permissions that the requests of users needed.

use std::{collections::BTreeMap, sync::Arc};

use kubewright_apiserver::{
    auth::{AccessObserver, Attributes, Decision, MASTERS, Target},
    request::UserInfo,
};
use kubewright_rbac::{Advice, Permission};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// The maximum number of permissions that are remembered. Further ones are not.
const MAX_PERMISSIONS: usize = 10_000;

/// Remembers which permissions the requests of each user needed, and whether the last of these requests was allowed.
///
/// Members of `system:masters` need none, and are left out. Clones share what they remember: at most 10,000 permissions. A
/// permission that is denied for the first time is logged as a warning, with the rule that would have granted it.
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
    /// Whether the last request that needed the permission was allowed.
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
    users: BTreeMap<String, BTreeMap<Permission, bool>>,
    permissions: usize,
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

    /// Returns the permissions that a user lacks: the last request that needed them was denied.
    pub fn denied(&self, user: &str) -> Vec<Permission> {
        let seen = self.0.seen.lock();
        let used = seen.users.get(user).into_iter().flatten();
        let denied = used.filter(|(_, allowed)| !**allowed);
        denied.map(|(permission, _)| permission.clone()).collect()
    }

    /// Returns the rules to add for a user, or `None` if no request was denied.
    pub fn advice(&self, user: &str) -> Option<Advice> {
        let denied = self.denied(user);
        (!denied.is_empty()).then(|| Advice::new(user, denied))
    }

    /// Returns everything, sorted by user and permission.
    pub fn all(&self) -> Vec<Access> {
        let seen = self.0.seen.lock();
        let all = seen.users.iter().flat_map(|(user, permissions)| {
            permissions.iter().map(|(permission, allowed)| Access {
                user: user.clone(),
                allowed: *allowed,
                permission: permission.clone(),
            })
        });
        all.collect()
    }

    /// Returns a counter of denied requests, which changes with each.
    pub fn denials(&self) -> watch::Receiver<u64> {
        self.0.denials.subscribe()
    }

    /// Forgets what a user needed.
    pub fn forget(&self, user: &str) {
        let mut seen = self.0.seen.lock();
        if let Some(forgotten) = seen.users.remove(user) {
            seen.permissions -= forgotten.len();
        }
    }

    fn note(&self, user: &UserInfo, permission: Permission, allowed: bool) {
        let is_new = {
            let mut seen = self.0.seen.lock();
            let room = seen.permissions < MAX_PERMISSIONS;
            let known = seen.users.entry(user.name.clone()).or_default();
            match known.get_mut(&permission) {
                Some(last) => std::mem::replace(last, allowed) && !allowed,
                None if room => {
                    known.insert(permission.clone(), allowed);
                    seen.permissions += 1;
                    !allowed
                }
                None => false,
            }
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
        let permission = match &attributes.target {
            Target::Path(path) => Permission::of_path(attributes.verb, path),
            Target::Resource(target) => Permission::of_resource(
                attributes.verb,
                target.group,
                target.resource,
                target.subresource,
                target.namespace,
            ),
        };
        self.note(user, permission, decision.is_allow());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserInfo {
        UserInfo {
            name: name.to_owned(),
            ..UserInfo::default()
        }
    }

    fn pods(verb: &str, namespace: &str) -> Permission {
        Permission::of_resource(verb, "", "pods", "", namespace)
    }

    #[test]
    fn a_permission_that_is_granted_later_is_no_longer_missing() {
        let log = AccessLog::new();
        let denials = log.denials();
        log.note(&user("bob"), pods("get", "a"), false);
        assert_eq!(log.denied("bob"), [pods("get", "a")]);
        log.note(&user("bob"), pods("get", "a"), true);
        assert_eq!(log.denied("bob"), []);
        assert_eq!(log.used("bob"), [pods("get", "a")]);
        assert_eq!(*denials.borrow(), 1);
    }

    #[test]
    fn no_more_than_the_limit_is_remembered() {
        let log = AccessLog::new();
        for at in 0..MAX_PERMISSIONS + 10 {
            log.note(&user("bob"), pods("get", &at.to_string()), true);
        }
        assert_eq!(log.used("bob").len(), MAX_PERMISSIONS);
        log.forget("bob");
        log.note(&user("eve"), pods("get", "a"), true);
        assert_eq!(log.all().len(), 1);
    }

    #[test]
    fn users_that_need_no_permission_are_left_out() {
        let log = AccessLog::new();
        let mut admin = user("admin");
        admin.groups = vec![MASTERS.to_owned()];
        let attributes = Attributes::of_path(&admin, "get", "/version");
        log.decided(&attributes, &Decision::allow());
        assert_eq!(log.all(), []);
    }
}
