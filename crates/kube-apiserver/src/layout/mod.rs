//! [`StorageLayout`]: the keys and values of kube-apiserver in etcd.

mod definitions;
mod versions;

use std::{collections::HashMap, sync::LazyLock};

use bytes::Bytes;
use kubewright_apiserver::registry::{JsonLayout, payload};
use kubewright_builtins::convert;
use kubewright_protobuf::MAGIC;
use kubewright_schema::normalize_typed;
use kubewright_store::{BackendError, Key, Payload, layout::Layout};
use serde_json::Value;

use crate::kinds::collection;

/// The layout of a cluster's objects in etcd, the same as kube-apiserver's, so that either can use what the other has written.
///
/// Built-in kinds have keys without a group, such as `deployments/default/web`, and values in protobuf or JSON; both are read,
/// whichever is written. Custom resources have keys with a group, and values in JSON.
///
/// ```
/// use kubewright_kube_apiserver::StorageLayout;
/// use kubewright_store::{Key, layout::Layout};
///
/// let layout = StorageLayout::json();
/// let key = Key::new("apps/deployments", "default/web");
/// assert_eq!(layout.name(&key).as_deref(), Some("deployments/default/web"));
/// let node = layout.key("minions/n1");
/// assert_eq!(node, Some(Key::new("nodes", "n1")));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StorageLayout {
    form: Form,
}

/// The form in which built-in kinds are written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Json,
    Protobuf,
}

/// A built-in kind in etcd.
struct Place {
    /// The first part of the key: `deployments`, `services/specs`.
    path: String,
    collection: std::sync::Arc<str>,
    kind: &'static str,
    group: &'static str,
    version: &'static str,
}

/// The built-in kinds by collection and by path.
struct Places {
    all: Vec<Place>,
    by_collection: HashMap<std::sync::Arc<str>, usize>,
    by_path: HashMap<String, usize>,
}

static PLACES: LazyLock<Places> = LazyLock::new(Places::new);

impl StorageLayout {
    /// The collection of the leases that API servers with a shared store renew while they run. The API does not serve it.
    pub const SERVER_LEASES: &str = "masterleases";

    /// The label of the leases of these servers.
    pub(crate) const OWN_LEASE: &str = "kubewright.dev/apiserver";

    /// Reports whether a lease of [`SERVER_LEASES`](Self::SERVER_LEASES) belongs to a server of Kubewright, and not to
    /// kube-apiserver.
    ///
    /// ```
    /// use kubewright_kube_apiserver::StorageLayout;
    ///
    /// let lease = br#"{"kind": "Endpoints", "apiVersion": "v1", "subsets": []}"#;
    /// assert!(!StorageLayout::is_own_lease(lease));
    /// ```
    pub fn is_own_lease(lease: &[u8]) -> bool {
        let lease: Value = serde_json::from_slice(lease).unwrap_or_default();
        lease["metadata"]["labels"][Self::OWN_LEASE] == "true"
    }

    /// Returns a layout that writes built-in kinds in JSON, which needs no conversion and can be read with `etcdctl`.
    pub fn json() -> Self {
        Self { form: Form::Json }
    }

    /// Returns a layout that writes built-in kinds in protobuf, as kube-apiserver does by default.
    pub fn protobuf() -> Self {
        let form = Form::Protobuf;
        Self { form }
    }
}

impl Layout for StorageLayout {
    fn name(&self, key: &Key) -> Option<String> {
        match PLACES.of(&key.collection) {
            Some(place) => Some(format!("{}/{}", place.path, key.path)),
            None => JsonLayout.name(key),
        }
    }

    fn key(&self, name: &str) -> Option<Key> {
        let (first, rest) = name.split_once('/')?;
        let at = |path: &str, rest: &str| {
            let place = &PLACES.all[*PLACES.by_path.get(path)?];
            Some(Key::new(place.collection.clone(), rest)).filter(|_| !rest.is_empty())
        };
        if let Some(key) = at(first, rest) {
            return Some(key);
        }
        // Two parts: `services/specs`, `apiregistration.k8s.io/apiservices`.
        let two = rest
            .split_once('/')
            .and_then(|(second, rest)| at(&format!("{first}/{second}"), rest));
        two.or_else(|| JsonLayout.key(name))
    }

    fn encode(&self, key: &Key, payload: &Payload) -> Result<Bytes, BackendError> {
        let json = JsonLayout.encode(key, payload)?;
        match (self.form, PLACES.of(&key.collection)) {
            (Form::Protobuf, Some(_)) => {
                let object: Value = serde_json::from_slice(&json)?;
                Ok(kubewright_protobuf::encode(&object)?.into())
            }
            _ => Ok(json),
        }
    }

    fn decode(&self, key: &Key, value: &Bytes) -> Result<Payload, BackendError> {
        let Some(place) = PLACES.of(&key.collection) else {
            return JsonLayout.decode(key, value);
        };
        let (api_version, object) = if value.starts_with(&MAGIC) {
            let same = |api_version: &str, _: &str| place.same_fields(api_version);
            let decoded = kubewright_protobuf::decode_versions(value, ("", place.kind), same)?;
            (decoded.api_version, decoded.value)
        } else if value.starts_with(b"{") {
            let object: Value = serde_json::from_slice(value)?;
            let object = match object["apiVersion"].as_str() {
                Some(definitions::STORED) => definitions::to_v1(object),
                _ => object,
            };
            let api_version = object["apiVersion"].as_str().unwrap_or_default();
            (api_version.to_owned(), object)
        } else {
            return JsonLayout.decode(key, value);
        };
        let (api_version, object) = match place.same_fields(&api_version) {
            Some(served) => (served.clone(), with_api_version(object, served)),
            None => (api_version, object),
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let stored = (place.group, place.version);
        let is_other = (group, version) != stored;
        let object = match is_other && convert::storage_version(group, place.kind) == Some(stored) {
            true => convert::convert(object, (group, version), stored, place.kind),
            false => object,
        };
        let (group, version) = match is_other {
            // A kind that is served in several versions without conversion keeps the one that it was written in.
            true if convert::storage_version(group, place.kind).is_none() => (group, version),
            _ => stored,
        };
        let ty = kubewright_catalog::kind_type(group, version, place.kind);
        let ty = ty.ok_or_else(|| format!("{api_version} {} is not known", place.kind))?;
        Ok(payload(&normalize_typed(object, ty)?))
    }
}

impl Place {
    /// Returns the API version in which an object of another version is served, if only the version differs.
    fn same_fields(&self, api_version: &str) -> Option<String> {
        let (group, version) = api_version.split_once('/')?;
        let is_same = group == self.group && versions::has_fields_of_v1(group, self.kind, version);
        is_same.then(|| format!("{}/{}", self.group, self.version))
    }
}

fn with_api_version(mut object: Value, api_version: String) -> Value {
    object["apiVersion"] = api_version.into();
    object
}

impl Places {
    fn new() -> Self {
        let mut places = Self {
            all: Vec::new(),
            by_collection: HashMap::new(),
            by_path: HashMap::new(),
        };
        for group in kubewright_catalog::groups() {
            for version in group.versions {
                for info in version.resources {
                    if info.storage_version_hash.is_empty() {
                        continue;
                    }
                    let stored = convert::storage_version(group.name, info.kind);
                    let (group, version) = stored.unwrap_or((group.name, version.version));
                    places.add(group, version, info.plural, info.kind);
                }
            }
        }
        places.add("", "v1", StorageLayout::SERVER_LEASES, "Endpoints");
        places
    }

    /// Adds a kind, in the first of its versions.
    fn add(
        &mut self,
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) {
        let collection = collection(group, plural);
        if self.by_collection.contains_key(&collection) {
            return;
        }
        let path = path(group, plural);
        let index = self.all.len();
        self.by_collection.insert(collection.clone(), index);
        self.by_path.insert(path.clone(), index);
        self.all.push(Place {
            path,
            collection,
            kind,
            group,
            version,
        });
    }

    fn of(&self, collection: &str) -> Option<&Place> {
        Some(&self.all[*self.by_collection.get(collection)?])
    }
}

/// Returns the first part of the keys of a built-in kind.
fn path(group: &str, plural: &str) -> String {
    match (group, plural) {
        ("", "nodes") => "minions".to_owned(),
        ("", "replicationcontrollers") => "controllers".to_owned(),
        ("", "services") => "services/specs".to_owned(),
        ("", "endpoints") => "services/endpoints".to_owned(),
        ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
        ("apiextensions.k8s.io" | "apiregistration.k8s.io", plural) => format!("{group}/{plural}"),
        (_, plural) => plural.to_owned(),
    }
}

#[cfg(test)]
mod tests;
