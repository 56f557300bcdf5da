//! The versions of built-in kinds that are served in several.

use kubewright_apiserver::boxed_async;
use kubewright_apiserver::registry::{Equivalent, Versions};
use kubewright_builtins::{convert, rules};
use kubewright_catalog::resource::ResourceInfo;
use kubewright_machinery::{
    Status,
    gvk::{GroupVersion, GroupVersionKind, GroupVersionResource},
    json::Read,
    status,
};
use kubewright_schema::normalize_typed;
use serde_json::Value;

/// The resources that serve the objects of one built-in kind.
pub(super) struct BuiltInVersions {
    kind: &'static str,
    served: Vec<(&'static str, &'static str, &'static ResourceInfo)>,
}

impl BuiltInVersions {
    /// Returns the versions of a kind, or `None` if it is served in one.
    pub(super) fn of(group: &str, kind: &'static str) -> Option<Self> {
        let stored = convert::storage_version(group, kind)?;
        let mut served = Vec::new();
        for group in kubewright_catalog::groups() {
            if convert::storage_version(group.name, kind) != Some(stored) {
                continue;
            }
            for version in group.versions {
                let same = version.resources.iter().filter(|info| info.kind == kind);
                served.extend(same.map(|info| (group.name, version.version, info)));
            }
        }
        Some(Self { kind, served })
    }
}

#[boxed_async]
impl Versions for BuiltInVersions {
    fn equivalents(&self, subresource: &str) -> Vec<Equivalent> {
        let served = self.served.iter();
        let equivalent = |(group, version, info): &(&'static str, &'static str, &ResourceInfo)| {
            let kind = match subresource {
                "" => GroupVersionKind::new(*group, *version, self.kind),
                name => {
                    let sub = info.subresources.iter().find(|sub| sub.name == name)?;
                    GroupVersionKind::new(
                        sub.kind_group.unwrap_or(group),
                        sub.kind_version.unwrap_or(version),
                        sub.kind,
                    )
                }
            };
            Some(Equivalent {
                resource: GroupVersionResource::new(*group, *version, info.plural),
                kind,
            })
        };
        served.filter_map(equivalent).collect()
    }

    async fn convert(&self, object: Value, api_version: &str) -> Result<Value, Status> {
        let given = GroupVersion::parse(object["apiVersion"].text()).unwrap_or_default();
        let wanted = GroupVersion::parse(api_version).unwrap_or_default();
        let from = (given.group.as_str(), given.version.as_str());
        let to = (wanted.group.as_str(), wanted.version.as_str());
        let object = convert::convert(object, from, to, self.kind);
        match kubewright_catalog::kind_type(to.0, to.1, self.kind) {
            Some(ty) => normalize_typed(object, ty).map_err(status::internal),
            None => Ok(object),
        }
    }

    fn default(&self, object: &mut Value) -> Result<(), Status> {
        let version = GroupVersion::parse(object["apiVersion"].text()).unwrap_or_default();
        (rules(&version.group, self.kind).default)(object);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_served_in_two_groups() {
        let events = BuiltInVersions::of("events.k8s.io", "Event").unwrap();
        let groups: Vec<String> = events
            .equivalents("")
            .into_iter()
            .map(|e| e.resource.group)
            .collect();
        assert_eq!(groups, ["", "events.k8s.io"]);
        assert!(events.equivalents("status").is_empty());
        assert!(BuiltInVersions::of("", "Pod").is_none());
    }

    #[test]
    fn autoscalers_have_a_status_in_both_versions() {
        let scalers = BuiltInVersions::of("autoscaling", "HorizontalPodAutoscaler").unwrap();
        let kinds: Vec<String> = scalers
            .equivalents("status")
            .into_iter()
            .map(|e| e.kind.api_version())
            .collect();
        assert_eq!(kinds.len(), 2);
        assert!(kinds.contains(&"autoscaling/v1".to_owned()), "{kinds:?}");
    }

    #[tokio::test]
    async fn objects_are_converted() {
        let events = BuiltInVersions::of("", "Event").unwrap();
        let event = json!({"apiVersion": "v1", "kind": "Event", "message": "started"});
        let event = events.convert(event, "events.k8s.io/v1").await.unwrap();
        assert_eq!(event["note"], "started");
        assert_eq!(event["apiVersion"], "events.k8s.io/v1");
    }
}
