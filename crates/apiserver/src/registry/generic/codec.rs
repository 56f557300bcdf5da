//! Objects to stored bytes and back.
//!
//! Stored bytes begin with `kind` and `apiVersion`, so that a list can leave them out by slicing. The resourceVersion is the
//! first field of `metadata`, and is spliced in at commit.

use std::sync::Arc;

use bytes::Bytes;
use kubewright_derive::boxed_async;
use kubewright_machinery::{Status, limits::encoded_size, status};
use kubewright_merge::managed::ManagedFields;
use kubewright_schema::{normalize_typed, normalize_untyped, write_value};
use kubewright_store::{Entry, Payload};
use serde_json::{Map, Value};

use super::{
    super::{Draft, Shape, type_prefix},
    Generic,
    metadata::{is_deleting, metadata_mut},
};
use crate::object::{Object, Summary};

/// The bytes of objects that are decoded and converted together, unless a single one has more.
const BATCH_BYTES: usize = 2 << 20;

/// Converts between the stored form of an object and the served one. A resource needs one if it is served under two names or in
/// several versions, or if its objects are pruned and defaulted when they are read.
///
/// ```
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::registry::Converter;
/// use kubewright_machinery::Status;
/// use serde_json::Value;
///
/// /// Stores every object as version `v1`, and serves it as `v2`.
/// struct Renamed;
///
/// fn with_version(mut object: Value, version: &str) -> Value {
///     object["apiVersion"] = version.into();
///     object
/// }
///
/// #[boxed_async]
/// impl Converter for Renamed {
///     async fn to_stored(&self, object: Value) -> Result<Value, Status> {
///         Ok(with_version(object, "sky.example.com/v1"))
///     }
///
///     async fn to_served(&self, objects: Vec<Value>) -> Result<Vec<Value>, Status> {
///         let served = objects.into_iter().map(|object| with_version(object, "sky.example.com/v2"));
///         Ok(served.collect())
///     }
/// }
/// ```
#[boxed_async]
pub trait Converter: Send + Sync {
    /// Converts an object to its stored form.
    async fn to_stored(&self, object: Value) -> Result<Value, Status>;

    /// Prunes and defaults an object that was read from the store, before it is converted. Defaults to nothing.
    ///
    /// It works on one object, so that the reader of a list knows how much memory the objects need before it converts them
    /// together.
    fn refresh(&self, _object: &mut Value) {}

    /// Converts refreshed objects to their served form, in order.
    async fn to_served(&self, objects: Vec<Value>) -> Result<Vec<Value>, Status>;

    /// Returns a mark for objects that are stored as they are served, or 0 if they are not. Readers with the same mark serve the
    /// stored bytes.
    fn mark(&self) -> u64 {
        0
    }
}

impl Generic {
    /// Brings an object into the normal form of its type: fields with zero values are added or removed as Go does.
    pub(super) fn normalize(&self, mut object: Value) -> Result<Value, Status> {
        // A deprecated field that is never stored.
        metadata_mut(&mut object).remove("selfLink");
        match self.spec.shape {
            Shape::Typed(ty) => normalize_typed(object, ty).map_err(status::internal),
            Shape::Untyped => {
                normalize_untyped(&mut object);
                Ok(object)
            }
        }
    }

    /// Encodes a normalized object for the store.
    pub(super) async fn encode(&self, draft: &Draft) -> Result<Payload, Status> {
        let mut summary = Summary::of(&draft.value, &self.spec.selectable);
        let (bytes, at) = match &self.converter {
            None => encode(&draft.value, draft.managed.as_ref()),
            Some(converter) => {
                summary.mark = converter.mark();
                match summary.mark {
                    0 => {
                        let stored = converter.to_stored(draft.clone().into_value()).await?;
                        encode(&stored, None)
                    }
                    _ => encode(&draft.value, draft.managed.as_ref()),
                }
            }
        };
        self.check_size(&bytes)?;
        Ok(Payload {
            bytes,
            revision_at: Some(at),
            decoded: Some(Arc::new(summary)),
            ttl: self.strategy.options().time_to_live,
            for_deletion: is_deleting(&draft.value),
        })
    }

    /// Returns an entry as it is served, if it is stored in that form.
    pub(super) fn as_stored(&self, entry: &Entry) -> Option<Object> {
        match &self.converter {
            None => Some(Object::from_entry(entry, &self.spec.selectable)),
            Some(converter) => {
                let mark = converter.mark();
                Object::remembered(entry, &self.spec.selectable)
                    .filter(|object| mark != 0 && object.summary.mark == mark)
            }
        }
    }

    /// Returns an entry as it is served.
    pub(super) async fn object(&self, entry: &Entry) -> Result<Object, Status> {
        match self.as_stored(entry) {
            Some(object) => Ok(object),
            None => Ok(self.unstored(&self.decode(entry).await?)),
        }
    }

    /// Returns the first of these entries as they are served: as many as fit into memory together, and at least one.
    ///
    /// Those that are served as they are stored share the store's bytes, and always fit.
    pub(super) async fn first_objects(&self, entries: &[Entry]) -> Result<Vec<Object>, Status> {
        let mut out = Vec::with_capacity(entries.len());
        let (mut values, mut bytes) = (Vec::new(), 0);
        for entry in entries {
            let kept = self.as_stored(entry);
            if let (None, Some(converter)) = (&kept, &self.converter) {
                if bytes > 0 && bytes + entry.bytes.len() > BATCH_BYTES {
                    break;
                }
                let mut value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
                converter.refresh(&mut value);
                bytes += encoded_size(&value, BATCH_BYTES).unwrap_or(BATCH_BYTES);
                values.push(value);
            }
            out.push(kept);
        }
        let mut served = match &self.converter {
            Some(converter) if !values.is_empty() => converter.to_served(values).await?,
            _ => Vec::new(),
        }
        .into_iter();
        let object = |kept: Option<Object>| match kept {
            Some(object) => Ok(object),
            None => {
                let lost = || status::internal("an object was lost in conversion");
                let value = served.next().ok_or_else(lost)?;
                Ok(self.unstored(&self.normalize(value)?))
            }
        };
        out.into_iter().map(object).collect()
    }

    /// Returns objects that are not read from the store, given in their stored form, as they are served.
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be converted.
    pub async fn served(&self, values: Vec<Value>) -> Result<Vec<Object>, Status> {
        let Some(converter) = &self.converter else {
            return Ok(values.iter().map(|value| self.unstored(value)).collect());
        };
        let served = to_served(&**converter, values).await?;
        served
            .into_iter()
            .map(|value| Ok(self.unstored(&self.normalize(value)?)))
            .collect()
    }

    /// Decodes an entry and converts it to its served form.
    pub(super) async fn decode(&self, entry: &Entry) -> Result<Value, Status> {
        let value: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
        match &self.converter {
            None => Ok(value),
            Some(converter) => {
                let served = to_served(&**converter, vec![value]).await?.pop();
                self.normalize(
                    served.ok_or_else(|| status::internal("the object was lost in conversion"))?,
                )
            }
        }
    }

    /// Returns the object that a dry run would have stored, as it would be served.
    pub(super) async fn as_if_stored(&self, draft: Draft) -> Result<Object, Status> {
        let draft = match &self.converter {
            Some(converter) if converter.mark() == 0 => {
                let stored = converter.to_stored(draft.into_value()).await?;
                let served = to_served(&**converter, vec![stored]).await?.pop();
                let served =
                    served.ok_or_else(|| status::internal("the object was lost in conversion"))?;
                self.normalize(served)?.into()
            }
            _ => draft,
        };
        Ok(Object {
            summary: Arc::new(Summary::of(&draft.value, &self.spec.selectable)),
            bytes: served_bytes(&draft.value, draft.managed.as_ref()),
        })
    }

    /// Returns a value that is not stored as it is served.
    pub(super) fn unstored(&self, value: &Value) -> Object {
        Object {
            summary: Arc::new(Summary::of(value, &self.spec.selectable)),
            bytes: served_bytes(value, None),
        }
    }
}

/// Returns objects in their stored form as they are served.
async fn to_served(
    converter: &dyn Converter,
    mut values: Vec<Value>,
) -> Result<Vec<Value>, Status> {
    for value in &mut values {
        converter.refresh(value);
    }
    converter.to_served(values).await
}

/// Encodes an object that is written to the store without the generic registry. It has no summary; readers decode one.
pub fn payload(object: &Value) -> Payload {
    let (bytes, at) = encode(object, None);
    Payload {
        revision_at: Some(at),
        ..Payload::plain(bytes)
    }
}

/// Encodes an object with `kind` and `apiVersion` first.
pub(crate) fn served_bytes(value: &Value, managed: Option<&ManagedFields>) -> Bytes {
    let mut out = Vec::with_capacity(4096);
    let empty = Map::new();
    let fields = value.as_object().unwrap_or(&empty);
    write_type(&mut out, fields);
    for (key, field) in fields
        .iter()
        .filter(|(k, _)| *k != "kind" && *k != "apiVersion")
    {
        match field {
            Value::Object(metadata) if key == "metadata" => {
                out.extend_from_slice(b"\"metadata\":{");
                write_metadata(&mut out, metadata.iter(), managed);
                close(&mut out);
                out.push(b',');
            }
            field => write_field(&mut out, key, field),
        }
    }
    close(&mut out);
    out.into()
}

/// Encodes an object with `kind`, `apiVersion` and an empty resourceVersion first, and returns the position of the latter.
fn encode(value: &Value, managed: Option<&ManagedFields>) -> (Bytes, u32) {
    let mut out = Vec::with_capacity(8192);
    let empty = Map::new();
    let fields = value.as_object().unwrap_or(&empty);
    write_type(&mut out, fields);
    out.extend_from_slice(b"\"metadata\":{\"resourceVersion\":\"");
    let at = out.len() as u32;
    out.extend_from_slice(b"\",");
    let metadata = fields
        .get("metadata")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let rest = metadata.iter().filter(|(k, _)| *k != "resourceVersion");
    write_metadata(&mut out, rest, managed);
    close(&mut out);
    out.push(b',');
    let rest = |key: &str| !matches!(key, "kind" | "apiVersion" | "metadata");
    for (key, field) in fields.iter().filter(|(k, _)| rest(k)) {
        write_field(&mut out, key, field);
    }
    close(&mut out);
    (out.into(), at)
}

/// Writes the fields of `metadata`, in order, and among them the managed fields of a new object.
fn write_metadata<'a>(
    out: &mut Vec<u8>,
    fields: impl Iterator<Item = (&'a String, &'a Value)>,
    managed: Option<&ManagedFields>,
) {
    let beside = managed.is_some();
    let mut managed = managed.filter(|managed| !managed.entries.is_empty());
    for (key, field) in fields {
        if key.as_str() >= MANAGED_FIELDS
            && let Some(managed) = managed.take()
        {
            write_managed_fields(out, managed);
        }
        // What is kept beside the object takes precedence.
        if !(beside && key == MANAGED_FIELDS) {
            write_field(out, key, field);
        }
    }
    if let Some(managed) = managed {
        write_managed_fields(out, managed);
    }
}

const MANAGED_FIELDS: &str = "managedFields";

fn write_managed_fields(out: &mut Vec<u8>, managed: &ManagedFields) {
    let mut text = String::with_capacity(1024);
    managed.write_json(&mut text);
    out.extend_from_slice(b"\"managedFields\":");
    out.extend_from_slice(text.as_bytes());
    out.push(b',');
}

fn write_type(out: &mut Vec<u8>, fields: &Map<String, Value>) {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = kubewright_machinery::gvk::GroupVersionKind::new(group, version, text("kind"));
    out.extend_from_slice(&type_prefix(&kind));
}

fn write_field(out: &mut Vec<u8>, key: &str, value: &Value) {
    serde_json::to_writer(&mut *out, key).expect("a string is always encoded");
    out.push(b':');
    write_value(out, value);
    out.push(b',');
}

/// Closes an object: the comma after the last field becomes the brace.
fn close(out: &mut Vec<u8>) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = b'}',
        _ => out.push(b'}'),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn managed_fields_beside_an_object_are_encoded_as_those_inside() {
        let managed = json!([{
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a<b": {}}},
            "manager": "me & you",
            "operation": "Update",
            "time": "2024-01-01T00:00:00Z",
        }]);
        for metadata in [
            json!({"name": "n", "uid": "u"}),
            json!({"labels": {}}),
            json!({"managedFields": [], "name": "n"}),
        ] {
            let draft = Draft {
                value: json!({"kind": "K", "apiVersion": "v1", "metadata": metadata}),
                managed: Some(ManagedFields::decode(&managed).expect("managed fields")),
                ..Draft::default()
            };
            let whole = draft.clone().into_value();
            assert_eq!(whole["metadata"]["managedFields"], managed);
            let beside = draft.managed.as_ref();
            assert_eq!(encode(&draft.value, beside), encode(&whole, None));
            assert_eq!(
                served_bytes(&draft.value, beside),
                served_bytes(&whole, None)
            );
        }
    }
}
