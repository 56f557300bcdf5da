//! [`Scheme`]: which Rust type stands for which kind, and where the objects of that kind are.
//!
//! It is `machinery`'s scheme, filled from types that are [`kube::Resource`], with resources and decoding.

use std::{any::Any, collections::BTreeMap};

use kube::Resource;
use kubewright_machinery::{
    gvk::{GroupVersion, GroupVersionKind, GroupVersionResource},
    rest_mapper::{RestMapping, StaticRestMapper},
    scheme::{Scheme as Kinds, SchemeError},
};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    error::{Error, Result},
    typed::resource_of,
};

/// Rust types, their kinds and their resources.
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
/// use kubewright_client::Scheme;
///
/// let mut scheme = Scheme::new();
/// scheme.add::<Pod>().unwrap();
/// scheme.add::<Deployment>().unwrap();
/// assert_eq!(scheme.kind_of::<Deployment>().unwrap().to_string(), "apps/v1, Kind=Deployment");
/// assert_eq!(scheme.resource_of::<Deployment>().unwrap().to_string(), "apps/v1, Resource=deployments");
///
/// // JSON of any kind that it knows becomes a value of its type.
/// let object = scheme.decode(br#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}"#).unwrap();
/// let pod = object.downcast::<Pod>().unwrap();
/// assert_eq!(pod.metadata.name.as_deref(), Some("web"));
/// ```
#[derive(Clone, Default)]
pub struct Scheme {
    kinds: Kinds,
    types: BTreeMap<GroupVersionKind, Type>,
    resources: BTreeMap<GroupVersionResource, GroupVersionKind>,
}

#[derive(Clone)]
struct Type {
    resource: GroupVersionResource,
    decode: fn(&[u8]) -> serde_json::Result<Box<dyn Any + Send>>,
}

impl Scheme {
    /// A scheme that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a type that knows its kind. Twice the same does no harm.
    pub fn add<K>(&mut self) -> Result<(), SchemeError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + 'static,
    {
        let kind = GroupVersionKind::new(K::group(&()), K::version(&()), K::kind(&()));
        self.kinds.register::<K>(kind.clone())?;
        let resource = resource_of::<K>();
        self.resources.insert(resource.clone(), kind.clone());
        let decode = |json: &[u8]| {
            let object: K = serde_json::from_slice(json)?;
            Ok(Box::new(object) as Box<dyn Any + Send>)
        };
        self.types.insert(kind, Type { resource, decode });
        Ok(())
    }

    /// The kind that a type stands for.
    pub fn kind_of<K: 'static>(&self) -> Result<&GroupVersionKind, SchemeError> {
        self.kinds.kind::<K>()
    }

    /// Where the objects of a type are.
    pub fn resource_of<K: 'static>(&self) -> Result<&GroupVersionResource, SchemeError> {
        let kind = self.kind_of::<K>()?;
        let resource = self.resource_of_kind(kind);
        resource.ok_or_else(|| SchemeError::NoKind(std::any::type_name::<K>()))
    }

    /// Where the objects of a kind are.
    pub fn resource_of_kind(&self, kind: &GroupVersionKind) -> Option<&GroupVersionResource> {
        self.types.get(kind).map(|known| &known.resource)
    }

    /// The kind of the objects of a resource.
    pub fn kind_of_resource(&self, resource: &GroupVersionResource) -> Option<&GroupVersionKind> {
        self.resources.get(resource)
    }

    /// Whether a type stands for a kind.
    pub fn recognizes(&self, kind: &GroupVersionKind) -> bool {
        self.kinds.recognizes(kind)
    }

    /// All kinds, sorted.
    pub fn all_kinds(&self) -> impl Iterator<Item = &GroupVersionKind> {
        self.types.keys()
    }

    /// Decodes JSON into the type that stands for its kind.
    pub fn decode(&self, json: &[u8]) -> Result<Box<dyn Any + Send>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Types {
            #[serde(default)]
            api_version: String,
            #[serde(default)]
            kind: String,
        }
        let decoded = |error: serde_json::Error| Error::Decode(error.to_string());
        let types: Types = serde_json::from_slice(json).map_err(decoded)?;
        let kind = GroupVersion::parse(&types.api_version)
            .map(|version| version.with_kind(&types.kind))
            .unwrap_or_default();
        let Some(known) = self.types.get(&kind) else {
            return Err(Error::Decode(format!("no type is registered for {kind}")));
        };
        (known.decode)(json).map_err(decoded)
    }

    /// The machinery's scheme: types and kinds alone.
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// A mapper for what is in the scheme, for those who cannot ask a server. It does not know which kinds have
    /// namespaces: `namespaced` tells.
    pub fn mapper(&self, namespaced: impl Fn(&GroupVersionKind) -> bool) -> StaticRestMapper {
        let mappings = self.types.iter().map(|(kind, known)| RestMapping {
            kind: kind.clone(),
            resource: known.resource.clone(),
            singular: kind.kind.to_lowercase(),
            short_names: Vec::new(),
            namespaced: namespaced(kind),
        });
        mappings.collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{Event, Pod},
        events::v1::Event as NewEvent,
    };
    use kubewright_machinery::rest_mapper::RestMapper;

    use super::*;

    fn scheme() -> Scheme {
        let mut scheme = Scheme::new();
        scheme.add::<Pod>().unwrap();
        scheme.add::<Pod>().unwrap();
        scheme.add::<Event>().unwrap();
        scheme.add::<NewEvent>().unwrap();
        scheme
    }

    #[test]
    fn types_kinds_and_resources_find_each_other() {
        let scheme = scheme();
        let kind = scheme.kind_of::<NewEvent>().unwrap();
        let resource = scheme.resource_of::<NewEvent>().unwrap();
        assert_eq!(scheme.resource_of_kind(kind), Some(resource));
        assert_eq!(scheme.kind_of_resource(resource), Some(kind));
        assert!(scheme.recognizes(kind));
        assert_eq!(scheme.all_kinds().count(), 3);
        let error = scheme.kind_of::<Deployment>().unwrap_err().to_string();
        assert!(
            error.starts_with("no kind is registered for the type"),
            "{error}"
        );
    }

    #[test]
    fn what_is_unknown_or_malformed_is_not_decoded() {
        let scheme = scheme();
        for (json, why) in [
            (
                r#"{"apiVersion": "v2", "kind": "Pod"}"#,
                "no type is registered for /v2, Kind=Pod",
            ),
            (
                r#"{"kind": "Pod"}"#,
                "no type is registered for /, Kind=Pod",
            ),
            (
                r#"{"apiVersion": "v1", "kind": "Pod", "metadata": 1}"#,
                "invalid type",
            ),
            ("[]", "cannot decode"),
        ] {
            let error = scheme.decode(json.as_bytes()).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_scheme_is_a_mapper_without_a_server() {
        let mapper = scheme().mapper(|_| true);
        let pods = GroupVersionResource::new("", "v1", "pod");
        assert_eq!(mapper.kind_for(&pods).unwrap().kind, "Pod");
    }
}
