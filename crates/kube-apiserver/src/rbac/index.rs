//! [`Index`]: roles and bindings, found by user, group and namespace.
//!
//! The cost of a lookup depends on the bindings of the user and the groups asked about, not on those of others.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use hashbrown::HashMap;
use kubewright_apiserver::request::UserInfo;
use kubewright_machinery::go;
use kubewright_rbac::{PolicyKind, PolicyRule};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

/// The kinds, in the order in which they are followed.
pub(super) const KINDS: [PolicyKind; 4] = [
    PolicyKind::ClusterRole,
    PolicyKind::Role,
    PolicyKind::ClusterRoleBinding,
    PolicyKind::RoleBinding,
];

/// The stored roles and bindings.
#[derive(Default)]
pub(crate) struct Index {
    /// By name.
    cluster_roles: HashMap<Arc<str>, Role>,
    /// By `namespace/name`.
    roles: HashMap<Arc<str>, Role>,
    cluster_bindings: Bindings,
    /// By namespace.
    bindings: HashMap<Box<str>, Bindings>,
}

/// A role. Its rules are decoded on demand.
struct Role {
    bytes: Bytes,
    rules: OnceLock<Arc<[PolicyRule]>>,
}

/// The bindings of a namespace, or those of the whole cluster.
#[derive(Default)]
struct Bindings {
    by_name: BTreeMap<Arc<str>, Arc<Binding>>,
    by_user: HashMap<Box<str>, Vec<Arc<Grant>>>,
    by_group: HashMap<Box<str>, Vec<Arc<Grant>>>,
}

/// A binding.
struct Binding {
    namespace: Box<str>,
    name: Box<str>,
    role: RoleRef,
    /// The key of the role in the index.
    role_path: Box<str>,
    subjects: Vec<Subject>,
}

/// A subject of a binding. It is the reason why requests are allowed.
pub(super) struct Grant {
    binding: Arc<Binding>,
    subject: usize,
}

/// A role that a binding refers to and that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MissingRole {
    kind: String,
    name: String,
}

/// A reference to a role.
#[derive(Clone, Default, Deserialize)]
pub(super) struct RoleRef {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
}

#[derive(Default, Deserialize)]
struct Subject {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
}

#[derive(Deserialize)]
struct StoredRole {
    #[serde(default, deserialize_with = "list")]
    rules: Vec<PolicyRule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredBinding {
    #[serde(default)]
    role_ref: RoleRef,
    #[serde(default, deserialize_with = "list")]
    subjects: Vec<Subject>,
}

/// Reads a list that may be null.
fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Index {
    /// Adds or replaces an object.
    pub(super) fn put(&mut self, kind: PolicyKind, path: &Arc<str>, bytes: &Bytes) {
        match kind {
            PolicyKind::ClusterRole => {
                self.cluster_roles.insert(path.clone(), Role::new(bytes));
            }
            PolicyKind::Role => {
                self.roles.insert(path.clone(), Role::new(bytes));
            }
            PolicyKind::ClusterRoleBinding => self.cluster_bindings.put("", path, bytes),
            PolicyKind::RoleBinding => {
                let (namespace, name) = split(path);
                let bindings = self.bindings.entry(namespace.into()).or_default();
                bindings.put(namespace, name, bytes);
            }
        }
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, kind: PolicyKind, path: &str) {
        match kind {
            PolicyKind::ClusterRole => drop(self.cluster_roles.remove(path)),
            PolicyKind::Role => drop(self.roles.remove(path)),
            PolicyKind::ClusterRoleBinding => self.cluster_bindings.remove(path),
            PolicyKind::RoleBinding => {
                let (namespace, name) = split(path);
                if let Some(bindings) = self.bindings.get_mut(namespace) {
                    bindings.remove(name);
                    if bindings.by_name.is_empty() {
                        self.bindings.remove(namespace);
                    }
                }
            }
        }
    }

    /// Returns the grants of a user for requests in a namespace: those of the whole cluster first.
    pub(super) fn grants<'a>(
        &'a self,
        user: &'a UserInfo,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<Grant>> {
        let local = match namespace {
            "" => None,
            namespace => self.bindings.get(namespace),
        };
        [Some(&self.cluster_bindings), local]
            .into_iter()
            .flatten()
            .flat_map(|bindings| bindings.of(user))
    }

    /// Returns the rules that apply to a user in a namespace, binding by binding in the order of their names, and the roles
    /// that do not exist.
    pub(super) fn rules_for(
        &self,
        user: &UserInfo,
        namespace: &str,
    ) -> (Vec<Arc<[PolicyRule]>>, Vec<MissingRole>) {
        // Names come after the empty namespace of cluster-wide bindings. A binding may name the user twice.
        let grants = self.grants(user, namespace);
        let bindings: BTreeMap<(&str, &str), &Grant> = grants
            .map(|grant| {
                let binding = &grant.binding;
                ((&*binding.namespace, &*binding.name), &**grant)
            })
            .collect();
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        for grant in bindings.values() {
            match self.rules(grant) {
                Ok(found) => rules.push(found.clone()),
                Err(role) => missing.push(role),
            }
        }
        (rules, missing)
    }

    /// Returns the rules of the role that a grant refers to.
    pub(super) fn rules(&self, grant: &Grant) -> Result<&Arc<[PolicyRule]>, MissingRole> {
        let binding = &grant.binding;
        self.find(&binding.role, &binding.role_path)
    }

    /// Returns the rules of a role that a binding in a namespace refers to.
    pub(super) fn role(
        &self,
        role: &RoleRef,
        namespace: &str,
    ) -> Result<&Arc<[PolicyRule]>, MissingRole> {
        self.find(role, &role.path(namespace))
    }

    fn find(&self, role: &RoleRef, path: &str) -> Result<&Arc<[PolicyRule]>, MissingRole> {
        let roles = match role.kind.as_str() {
            "ClusterRole" => &self.cluster_roles,
            _ => &self.roles,
        };
        match roles.get(path) {
            Some(role) => Ok(role.rules()),
            None => Err(MissingRole {
                kind: role.kind.clone(),
                name: role.name.clone(),
            }),
        }
    }
}

impl Role {
    fn new(bytes: &Bytes) -> Self {
        Self {
            bytes: bytes.clone(),
            rules: OnceLock::new(),
        }
    }

    fn rules(&self) -> &Arc<[PolicyRule]> {
        self.rules.get_or_init(|| {
            let role: StoredRole = decode(&self.bytes).unwrap_or(StoredRole { rules: Vec::new() });
            role.rules.into()
        })
    }
}

impl Bindings {
    fn put(&mut self, namespace: &str, name: &str, bytes: &Bytes) {
        self.remove(name);
        let Some(stored) = decode::<StoredBinding>(bytes) else {
            return;
        };
        let binding = Arc::new(Binding {
            namespace: namespace.into(),
            name: name.into(),
            role_path: stored.role_ref.path(namespace).into(),
            role: stored.role_ref,
            subjects: stored.subjects,
        });
        for (subject, key) in binding.keys() {
            let binding = binding.clone();
            let grants = self.grants_mut(key);
            // A subject that is listed twice grants once.
            let at = grants.partition_point(|grant| *grant.binding.name < *name);
            if grants.get(at).is_none_or(|g| *g.binding.name != *name) {
                grants.insert(at, Arc::new(Grant { binding, subject }));
            }
        }
        self.by_name.insert(name.into(), binding);
    }

    fn remove(&mut self, name: &str) {
        let Some(binding) = self.by_name.remove(name) else {
            return;
        };
        for (_, key) in binding.keys() {
            let (map, key) = match key {
                SubjectKey::User(key) => (&mut self.by_user, key),
                SubjectKey::Group(key) => (&mut self.by_group, key),
            };
            if let Some(grants) = map.get_mut(&*key) {
                grants.retain(|grant| *grant.binding.name != *name);
                if grants.is_empty() {
                    map.remove(&*key);
                }
            }
        }
    }

    fn grants_mut(&mut self, key: SubjectKey) -> &mut Vec<Arc<Grant>> {
        match key {
            SubjectKey::User(name) => self.by_user.entry(name).or_default(),
            SubjectKey::Group(name) => self.by_group.entry(name).or_default(),
        }
    }

    fn of<'a>(&'a self, user: &'a UserInfo) -> impl Iterator<Item = &'a Arc<Grant>> {
        let own = self.by_user.get(user.name.as_str());
        let groups = user.groups.iter();
        let shared = groups.filter_map(|group| self.by_group.get(group.as_str()));
        own.into_iter().chain(shared).flatten()
    }
}

/// The user or group of a subject.
enum SubjectKey {
    User(Box<str>),
    Group(Box<str>),
}

impl Binding {
    /// Returns the users and groups of the subjects. A service account without a namespace is that of the binding's.
    fn keys(&self) -> impl Iterator<Item = (usize, SubjectKey)> {
        let key = |subject: &Subject| {
            let name = &subject.name;
            match subject.kind.as_str() {
                "User" => Some(SubjectKey::User(name.as_str().into())),
                "Group" => Some(SubjectKey::Group(name.as_str().into())),
                "ServiceAccount" => match subject.namespace(&self.namespace) {
                    "" => None,
                    namespace => {
                        let user = format!("system:serviceaccount:{namespace}:{name}");
                        Some(SubjectKey::User(user.into()))
                    }
                },
                _ => None,
            }
        };
        let subjects = self.subjects.iter().enumerate();
        subjects.filter_map(move |(i, subject)| Some((i, key(subject)?)))
    }
}

impl Subject {
    fn namespace<'a>(&'a self, of_binding: &'a str) -> &'a str {
        match self.namespace.as_str() {
            "" => of_binding,
            namespace => namespace,
        }
    }
}

impl RoleRef {
    /// Returns the reference in a binding.
    pub(super) fn of(binding: &serde_json::Value) -> Self {
        Self::deserialize(&binding["roleRef"]).unwrap_or_default()
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the key of the role that a binding in a namespace refers to.
    fn path(&self, namespace: &str) -> String {
        match self.kind.as_str() {
            "Role" => format!("{namespace}/{}", self.name),
            _ => self.name.clone(),
        }
    }
}

impl MissingRole {
    /// Returns the name of the role.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

fn split(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or(("", path))
}

/// Decodes a stored object. What cannot be decoded grants nothing.
fn decode<T: DeserializeOwned>(bytes: &Bytes) -> Option<T> {
    let decoded = serde_json::from_slice(bytes);
    decoded
        .inspect_err(|error| tracing::error!(%error, "a stored role or binding cannot be decoded"))
        .ok()
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binding = &*self.binding;
        let (kind, name) = match &*binding.namespace {
            "" => ("ClusterRoleBinding", binding.name.to_string()),
            namespace => ("RoleBinding", format!("{}/{namespace}", binding.name)),
        };
        let role = go::quote(&binding.role.name);
        write!(
            f,
            "RBAC: allowed by {kind} {} of {} {role} to ",
            go::quote(&name),
            binding.role.kind
        )?;
        let Some(subject) = binding.subjects.get(self.subject) else {
            return Ok(());
        };
        let name = match subject.kind.as_str() {
            "ServiceAccount" => {
                let namespace = subject.namespace(&binding.namespace);
                format!("{}/{namespace}", subject.name)
            }
            _ => subject.name.clone(),
        };
        write!(f, "{} {}", subject.kind, go::quote(&name))
    }
}

impl fmt::Display for MissingRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.to_ascii_lowercase();
        let name = go::quote(&self.name);
        write!(f, "{kind}.{} {name} not found", kubewright_rbac::GROUP)
    }
}

#[cfg(test)]
mod tests;
