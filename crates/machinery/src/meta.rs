//! The metadata of an object, read and written in place.
//!
//! Objects are JSON values. Every reader here answers for any value at all: what is missing, or of a wrong type, counts
//! as not set. Writers create `metadata` where it is missing and do nothing to a value that is not an object.

use serde_json::{Map, Value};

use crate::{
    gvk::{GroupVersion, GroupVersionKind, ObjectKey},
    time::Time,
};

/// The metadata, `null` if there is none.
pub fn metadata(object: &Value) -> &Value {
    object.get("metadata").unwrap_or(&Value::Null)
}

/// The metadata for writing, made if it is missing; `None` if the value is not an object.
pub fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let object = object.as_object_mut()?;
    let meta = object.entry("metadata").or_insert(Value::Null);
    if !meta.is_object() {
        *meta = Value::Object(Map::new());
    }
    meta.as_object_mut()
}

/// The type that the object says it has.
pub fn gvk(object: &Value) -> Option<GroupVersionKind> {
    let version = GroupVersion::parse(object.get("apiVersion")?.as_str()?)?;
    Some(version.with_kind(object.get("kind")?.as_str()?))
}

/// The name, empty if it has none yet.
pub fn name(object: &Value) -> &str {
    text(object, "name")
}

/// The base from which a name is generated, empty if there is none.
pub fn generate_name(object: &Value) -> &str {
    text(object, "generateName")
}

/// The namespace, unless it has none.
pub fn namespace(object: &Value) -> Option<&str> {
    Some(text(object, "namespace")).filter(|n| !n.is_empty())
}

/// Namespace and name.
pub fn key(object: &Value) -> ObjectKey {
    ObjectKey {
        namespace: namespace(object).map(str::to_owned),
        name: name(object).to_owned(),
    }
}

/// The uid, empty if it has none yet.
pub fn uid(object: &Value) -> &str {
    text(object, "uid")
}

/// The resource version, empty if it has none yet.
pub fn resource_version(object: &Value) -> &str {
    text(object, "resourceVersion")
}

/// The generation, 0 if it has none.
pub fn generation(object: &Value) -> i64 {
    metadata(object)
        .get("generation")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// When it was created.
pub fn creation_timestamp(object: &Value) -> Option<Time> {
    time(object, "creationTimestamp")
}

/// When it is to be gone, if it is being deleted.
pub fn deletion_timestamp(object: &Value) -> Option<Time> {
    time(object, "deletionTimestamp")
}

/// Whether it is being deleted.
pub fn is_deleting(object: &Value) -> bool {
    !metadata(object)
        .get("deletionTimestamp")
        .unwrap_or(&Value::Null)
        .is_null()
}

/// How long its deletion may take, if it is being deleted.
pub fn deletion_grace_period(object: &Value) -> Option<i64> {
    metadata(object)
        .get("deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
}

/// The labels, by key.
pub fn labels(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    strings(metadata(object).get("labels"))
}

/// The value of a label.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    metadata(object).get("labels")?.get(key)?.as_str()
}

/// The annotations, by key.
pub fn annotations(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    strings(metadata(object).get("annotations"))
}

/// The value of an annotation.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    metadata(object).get("annotations")?.get(key)?.as_str()
}

/// The finalizers, in order.
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let list = metadata(object).get("finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a finalizer is there.
pub fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    finalizers(object).any(|f| f == finalizer)
}

/// Sets a field of the metadata: `set(object, "uid", uid)`.
pub fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(meta) = metadata_mut(object) {
        meta.insert(field.to_owned(), value.into());
    }
}

/// Takes a field out of the metadata.
pub fn remove(object: &mut Value, field: &str) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove(field)
}

/// Sets a label.
pub fn set_label(object: &mut Value, key: &str, value: &str) {
    set_string(object, "labels", key, value);
}

/// Sets an annotation.
pub fn set_annotation(object: &mut Value, key: &str, value: &str) {
    set_string(object, "annotations", key, value);
}

/// Adds a finalizer unless it is there, and says whether it was added.
pub fn add_finalizer(object: &mut Value, finalizer: &str) -> bool {
    if has_finalizer(object, finalizer) {
        return false;
    }
    let Some(meta) = metadata_mut(object) else {
        return false;
    };
    let list = meta.entry("finalizers").or_insert(Value::Null);
    match list {
        Value::Array(list) => list.push(finalizer.into()),
        other => *other = vec![finalizer].into(),
    }
    true
}

/// Removes a finalizer, and says whether it was there. An empty list does not stay.
pub fn remove_finalizer(object: &mut Value, finalizer: &str) -> bool {
    if !has_finalizer(object, finalizer) {
        return false;
    }
    let left: Vec<&str> = finalizers(object).filter(|f| *f != finalizer).collect();
    if left.is_empty() {
        remove(object, "finalizers");
    } else {
        let left = Value::from(left);
        set(object, "finalizers", left);
    }
    true
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    metadata(object)
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn time(object: &Value, field: &str) -> Option<Time> {
    Time::parse(text(object, field))
        .ok()
        .filter(|t| !t.is_zero())
}

fn strings(map: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    let entries = map.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)))
}

fn set_string(object: &mut Value, map: &str, key: &str, value: &str) {
    let Some(meta) = metadata_mut(object) else {
        return;
    };
    let map = meta.entry(map).or_insert(Value::Null);
    match map {
        Value::Object(map) => {
            map.insert(key.to_owned(), value.into());
        }
        other => {
            *other = [(key.to_owned(), Value::from(value))]
                .into_iter()
                .collect::<Map<_, _>>()
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_counts_as_not_set() {
        for value in [
            json!(null),
            json!([]),
            json!({}),
            json!({"metadata": 1}),
            json!({"metadata": {"name": 2, "labels": []}}),
        ] {
            assert_eq!(name(&value), "");
            assert_eq!(namespace(&value), None);
            assert_eq!(generation(&value), 0);
            assert_eq!(labels(&value).count(), 0);
            assert_eq!(finalizers(&value).count(), 0);
            assert_eq!(gvk(&value), None);
            assert!(!is_deleting(&value));
        }
    }

    #[test]
    fn fields_are_read_where_they_are() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "web", "namespace": "shop", "uid": "u", "generation": 3,
            "deletionTimestamp": "2024-05-01T10:00:00Z", "deletionGracePeriodSeconds": 30,
            "labels": {"app": "web"}, "annotations": {"a/b": "c"}, "finalizers": ["x/y"]}});
        assert_eq!(key(&pod).to_string(), "shop/web");
        assert_eq!(gvk(&pod).unwrap().kind, "Pod");
        assert_eq!(label(&pod, "app"), Some("web"));
        assert_eq!(annotation(&pod, "a/b"), Some("c"));
        assert_eq!(
            deletion_timestamp(&pod).unwrap().unix_seconds(),
            1_714_557_600
        );
        assert_eq!(deletion_grace_period(&pod), Some(30));
        assert!(is_deleting(&pod) && has_finalizer(&pod, "x/y"));
    }

    #[test]
    fn writing_makes_what_is_missing() {
        let mut object = json!({});
        set(&mut object, "name", "a");
        set_label(&mut object, "k", "v");
        set_annotation(&mut object, "k", "v");
        assert!(add_finalizer(&mut object, "f/1"));
        assert!(!add_finalizer(&mut object, "f/1"));
        assert!(add_finalizer(&mut object, "f/2"));
        assert!(remove_finalizer(&mut object, "f/1"));
        assert_eq!(
            object,
            json!({"metadata": {"name": "a", "labels": {"k": "v"}, "annotations": {"k": "v"},
                "finalizers": ["f/2"]}})
        );
        assert!(remove_finalizer(&mut object, "f/2"));
        assert_eq!(metadata(&object).get("finalizers"), None);
        assert_eq!(remove(&mut object, "name"), Some(json!("a")));

        let mut list = json!([]);
        set(&mut list, "name", "a");
        assert!(!add_finalizer(&mut list, "f"));
        assert_eq!(list, json!([]));
    }
}
