//! [`Form`]: the representation that is requested, and how a response is decoded.

use kube::{
    api::{DynamicObject, PartialObjectMeta},
    core::TypeMeta,
};

use crate::{
    error::{Error, Result},
    stream::ListHead,
};

/// The representation of objects on the wire.
///
/// ```
/// use kube::api::{DynamicObject, PartialObjectMeta};
/// use kubewright_client::{Form, MetadataOnly, Unstructured, stream::ListHead};
/// use serde_json::json;
///
/// let accept = <MetadataOnly as Form<PartialObjectMeta>>::ONE;
/// assert!(accept.contains("as=PartialObjectMetadata"));
///
/// // Items of a list have no kind of their own.
/// let list = ListHead { kind: "PodList".into(), api_version: "v1".into(), ..ListHead::default() };
/// let pod: DynamicObject = serde_json::from_value(json!({"metadata": {"name": "web"}})).unwrap();
/// let pod = Unstructured::settle(pod, Some(&list)).unwrap();
/// assert_eq!(pod.types.unwrap().kind, "Pod");
/// ```
pub trait Form<T>: Send + Sync + 'static {
    /// The `Accept` header for one object.
    const ONE: &'static str;
    /// The `Accept` header for a list.
    const LIST: &'static str;

    /// Completes a decoded object; `list` is the list it came from, if any.
    fn settle(object: T, list: Option<&ListHead>) -> Result<T>;
}

/// Forms whose objects can be written back.
pub trait Whole<T>: Form<T> {}

/// Objects as Rust types.
#[derive(Clone, Copy, Debug)]
pub enum Typed {}

/// Objects of any kind, as [`DynamicObject`].
#[derive(Clone, Copy, Debug)]
pub enum Unstructured {}

/// Metadata only, as [`PartialObjectMeta`].
#[derive(Clone, Copy, Debug)]
pub enum MetadataOnly {}

impl<T> Form<T> for Typed {
    const ONE: &'static str = "application/json";
    const LIST: &'static str = "application/json";

    fn settle(object: T, _: Option<&ListHead>) -> Result<T> {
        Ok(object)
    }
}

impl<T> Whole<T> for Typed {}

impl Form<DynamicObject> for Unstructured {
    const ONE: &'static str = "application/json";
    const LIST: &'static str = "application/json";

    /// The items of a list of a built-in kind lack their type, which the list has.
    fn settle(mut object: DynamicObject, list: Option<&ListHead>) -> Result<DynamicObject> {
        if object.types.is_none()
            && let Some(list) = list
            && let Some(kind) = list
                .kind
                .strip_suffix("List")
                .filter(|kind| !kind.is_empty())
        {
            object.types = Some(TypeMeta {
                api_version: list.api_version.clone(),
                kind: kind.to_owned(),
            });
        }
        Ok(object)
    }
}

impl Whole<DynamicObject> for Unstructured {}

impl Form<PartialObjectMeta> for MetadataOnly {
    const ONE: &'static str =
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    const LIST: &'static str =
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

    /// Servers that do not support metadata-only responses send whole objects. Their metadata is used, if they are
    /// objects at all.
    fn settle(mut object: PartialObjectMeta, _: Option<&ListHead>) -> Result<PartialObjectMeta> {
        let types = object.types.as_ref();
        if types.is_some_and(|types| types.kind == "PartialObjectMetadata") {
            return Ok(object);
        }
        let meta = &object.metadata;
        let is_object = meta.uid.as_ref().is_some_and(|uid| !uid.is_empty())
            || meta.creation_timestamp.is_some()
            || meta.name.as_ref().is_some_and(|name| !name.is_empty())
            || meta
                .generate_name
                .as_ref()
                .is_some_and(|name| !name.is_empty());
        if !is_object {
            return Err(Error::Decode(
                "object does not appear to match the ObjectMeta schema".to_owned(),
            ));
        }
        object.types = None;
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_objects_will_do_for_metadata_and_other_things_will_not() {
        let settle = |json| {
            MetadataOnly::settle(
                serde_json::from_value::<PartialObjectMeta>(json).unwrap(),
                None,
            )
        };
        let marked = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"});
        assert!(settle(marked).unwrap().types.is_some());
        let whole =
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {}});
        assert!(settle(whole).unwrap().types.is_none());
        assert!(settle(json!({"kind": "Thing", "apiVersion": "v1", "spec": {}})).is_err());
    }

    #[test]
    fn an_item_learns_its_kind_from_the_list() {
        let head = ListHead {
            kind: "PodList".into(),
            api_version: "v1".into(),
            ..ListHead::default()
        };
        let item: DynamicObject =
            serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
        let types = Unstructured::settle(item, Some(&head))
            .unwrap()
            .types
            .unwrap();
        assert_eq!(
            (types.api_version.as_str(), types.kind.as_str()),
            ("v1", "Pod")
        );
    }
}
