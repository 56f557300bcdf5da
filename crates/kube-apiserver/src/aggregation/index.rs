//! [`ApiServices`]: the APIServices by group and version.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use kubewright_machinery::json::Read;
use serde_json::Value;

use super::{GROUP, PLURAL, probe::LOCAL, register::AUTOMANAGED};
use crate::{follow::Index, kinds::collection, outgoing::Endpoint};

/// An APIService, decoded.
#[derive(Debug, PartialEq)]
pub(crate) struct ApiService {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) group_priority: i64,
    pub(crate) version_priority: i64,
    /// The other server, if this one does not serve the group version itself.
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) available: bool,
    /// Whether the condition is that of a group version that this server serves itself.
    pub(crate) is_local: bool,
    /// The value of the label by which the server keeps the APIService itself, or empty.
    pub(crate) automanaged: String,
}

/// The APIServices of the store.
#[derive(Default)]
pub(crate) struct ApiServices {
    /// By name, which is `<version>.<group>`.
    by_name: BTreeMap<Arc<str>, Arc<ApiService>>,
    by_group: BTreeMap<String, Vec<Arc<ApiService>>>,
}

impl ApiService {
    fn read(object: &Value) -> Self {
        let spec = &object["spec"];
        let conditions = object["status"]["conditions"].items();
        let available = |c: &Value| c["type"].text() == "Available" && c["status"].text() == "True";
        Self {
            name: object["metadata"]["name"].text().to_owned(),
            uid: object["metadata"]["uid"].text().to_owned(),
            group: spec["group"].text().to_owned(),
            version: spec["version"].text().to_owned(),
            group_priority: spec["groupPriorityMinimum"].int(),
            version_priority: spec["versionPriority"].int(),
            endpoint: spec["service"]
                .is_object()
                .then(|| Endpoint::of_api_service(spec)),
            available: conditions.iter().any(available),
            is_local: conditions
                .iter()
                .any(|c| available(c) && c["reason"].text() == LOCAL),
            automanaged: object["metadata"]["labels"][AUTOMANAGED].text().to_owned(),
        }
    }
}

impl ApiServices {
    /// Returns the APIService of a group version.
    pub(crate) fn get(&self, group: &str, version: &str) -> Option<&Arc<ApiService>> {
        let services = self.by_group.get(group)?;
        services.iter().find(|service| service.version == version)
    }

    /// Returns all APIServices, by name.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ApiService>> {
        self.by_name.values()
    }
}

impl Index for ApiServices {
    type Kind = ();

    fn collections() -> Vec<((), Arc<str>)> {
        vec![((), collection(GROUP, PLURAL))]
    }

    fn put(&mut self, (): (), path: &Arc<str>, bytes: &Bytes) {
        self.remove((), path);
        // Stored objects are JSON; one that is not decodes to nothing and serves nothing.
        let object: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let service = Arc::new(ApiService::read(&object));
        let of_group = self.by_group.entry(service.group.clone()).or_default();
        of_group.push(service.clone());
        self.by_name.insert(path.clone(), service);
    }

    fn remove(&mut self, (): (), path: &str) {
        let Some(gone) = self.by_name.remove(path) else {
            return;
        };
        if let Some(of_group) = self.by_group.get_mut(&gone.group) {
            of_group.retain(|service| !Arc::ptr_eq(service, &gone));
            if of_group.is_empty() {
                self.by_group.remove(&gone.group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn services_are_found_by_group_and_version() {
        let mut services = ApiServices::default();
        let path: Arc<str> = "v1.sky.example.com".into();
        let mut object = json!({
            "metadata": {"name": "v1.sky.example.com"},
            "spec": {
                "group": "sky.example.com", "version": "v1",
                "service": {"namespace": "default", "name": "sky"},
            },
        });
        services.put((), &path, &object.to_string().into());
        let found = services.get("sky.example.com", "v1").unwrap();
        assert!(found.endpoint.is_some() && !found.available);
        assert!(services.get("sky.example.com", "v2").is_none());
        object["status"]["conditions"] = json!([{"type": "Available", "status": "True"}]);
        services.put((), &path, &object.to_string().into());
        assert!(services.get("sky.example.com", "v1").unwrap().available);
        assert_eq!(services.all().count(), 1);
        services.remove((), &path);
        assert!(services.get("sky.example.com", "v1").is_none());
    }
}
