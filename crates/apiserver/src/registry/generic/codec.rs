//! Between values and stored bytes.
//!
//! Stored bytes begin with `kind` and `apiVersion`, so that a list can leave them out by slicing, and the resourceVersion is
//! the first field of `metadata`, to be spliced in at commit.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use kubewright_machinery::{Status, status};
use kubewright_merge::managed;
use kubewright_schema::{normalize_typed, normalize_untyped, write_value};
use kubewright_store::{Entry, Payload};
use serde_json::{Map, Value};

use super::{
    super::resource::{Shape, type_prefix},
    Generic,
    metadata::metadata_mut,
};
use crate::object::{Object, Summary};

/// Between the stored form of an object and the one that is served, where they differ: a kind that is served under two
/// names, or in several versions, or whose objects get in shape when they are read.
#[async_trait]
pub trait Converter: Send + Sync {
    /// Served to stored.
    async fn to_stored(&self, object: Value) -> Result<Value, Status>;

    /// Stored to served, all of them, in order.
    async fn to_served(&self, objects: Vec<Value>) -> Result<Vec<Value>, Status>;

    /// What an object that is written now is marked with; 0 is no mark. What is marked is stored as it is served.
    fn mark(&self) -> u64 {
        0
    }
}

impl Generic {
    /// The object in its canonical form: fields in, zero values out, as the type says.
    pub(super) fn normalize(&self, mut object: Value) -> Result<Value, Status> {
        // A field of the past that was never stored.
        metadata_mut(&mut object).remove("selfLink");
        match self.shape {
            Shape::Typed(ty) => normalize_typed(object, ty).map_err(status::internal),
            Shape::Untyped => {
                normalize_untyped(&mut object);
                Ok(object)
            }
        }
    }

    /// Bytes to store.
    pub(super) async fn encode(&self, object: &Value) -> Result<Payload, Status> {
        let mut summary = Summary::of(object, &self.selectable);
        let ttl = self.strategy.time_to_live(object);
        let (bytes, at) = match &self.converter {
            None => encode(object),
            Some(converter) => {
                summary.mark = converter.mark();
                match summary.mark {
                    0 => {
                        let mut object = object.clone();
                        managed::expand_text_forms(&mut object);
                        encode(&converter.to_stored(object).await?)
                    }
                    _ => encode(object),
                }
            }
        };
        Ok(Payload {
            bytes,
            revision_at: Some(at),
            companion: Some(Arc::new(summary)),
            ttl,
        })
    }

    /// An entry as it is served, if that is how it is stored.
    pub(super) fn as_stored(&self, entry: &Entry) -> Option<Object> {
        match &self.converter {
            None => Some(Object::from_entry(entry, &self.selectable)),
            Some(converter) => {
                let mark = converter.mark();
                Object::remembered(entry, &self.selectable)
                    .filter(|object| mark != 0 && object.summary.mark == mark)
            }
        }
    }

    /// An entry as it is served.
    pub(super) async fn object(&self, entry: &Entry) -> Result<Object, Status> {
        match self.as_stored(entry) {
            Some(object) => Ok(object),
            None => Ok(self.unstored(&self.decode(entry).await?)),
        }
    }

    /// Entries as they are served.
    pub(super) async fn objects(&self, entries: &[Entry]) -> Result<Vec<Object>, Status> {
        let kept: Vec<Option<Object>> = entries.iter().map(|e| self.as_stored(e)).collect();
        let Some(converter) = self
            .converter
            .as_ref()
            .filter(|_| kept.iter().any(Option::is_none))
        else {
            return Ok(kept.into_iter().flatten().collect());
        };
        let mut values = Vec::new();
        for (entry, _) in entries.iter().zip(&kept).filter(|(_, kept)| kept.is_none()) {
            values.push(serde_json::from_slice(&entry.bytes).map_err(status::internal)?);
        }
        let mut served = converter.to_served(values).await?.into_iter();
        let mut out = Vec::with_capacity(kept.len());
        for object in kept {
            match object {
                Some(object) => out.push(object),
                None => {
                    let value = served
                        .next()
                        .ok_or_else(|| status::internal("an object was lost in conversion"))?;
                    out.push(self.unstored(&self.normalize(value)?));
                }
            }
        }
        Ok(out)
    }

    /// An entry, decoded, as it is served.
    pub(super) async fn decode(&self, entry: &Entry) -> Result<Value, Status> {
        let value: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
        match &self.converter {
            None => Ok(value),
            Some(converter) => {
                let served = converter.to_served(vec![value]).await?.pop();
                self.normalize(
                    served.ok_or_else(|| status::internal("the object was lost in conversion"))?,
                )
            }
        }
    }

    /// A value that a dry run would have stored, as it would be served then.
    pub(super) async fn as_if_stored(&self, value: Value) -> Result<Object, Status> {
        let value = match &self.converter {
            Some(converter) if converter.mark() == 0 => {
                let mut value = value;
                managed::expand_text_forms(&mut value);
                let stored = converter.to_stored(value).await?;
                let served = converter.to_served(vec![stored]).await?.pop();
                self.normalize(
                    served.ok_or_else(|| status::internal("the object was lost in conversion"))?,
                )?
            }
            _ => value,
        };
        Ok(self.unstored(&value))
    }

    /// A value that was not stored, as it is served.
    pub(super) fn unstored(&self, value: &Value) -> Object {
        let summary = Arc::new(Summary::of(value, &self.selectable));
        Object {
            bytes: served_bytes(value),
            summary,
        }
    }
}

/// Bytes to store for an object that is written outside the generic registry. Readers find its summary themselves.
pub fn payload(object: &Value) -> Payload {
    let (bytes, at) = encode(object);
    Payload {
        bytes,
        revision_at: Some(at),
        companion: None,
        ttl: None,
    }
}

/// The object with `kind` and `apiVersion` first.
fn served_bytes(value: &Value) -> Bytes {
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
                for (key, field) in metadata {
                    write_metadata_field(&mut out, key, field);
                }
                close(&mut out);
                out.push(b',');
            }
            field => write_field(&mut out, key, field),
        }
    }
    close(&mut out);
    out.into()
}

/// The object with `kind`, `apiVersion` and a place for the resourceVersion, and where that place is.
fn encode(value: &Value) -> (Bytes, u32) {
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
    for (key, field) in metadata.iter().filter(|(k, _)| *k != "resourceVersion") {
        write_metadata_field(&mut out, key, field);
    }
    close(&mut out);
    out.push(b',');
    let rest = |key: &str| !matches!(key, "kind" | "apiVersion" | "metadata");
    for (key, field) in fields.iter().filter(|(k, _)| rest(k)) {
        write_field(&mut out, key, field);
    }
    close(&mut out);
    (out.into(), at)
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

fn write_metadata_field(out: &mut Vec<u8>, key: &str, value: &Value) {
    if key != "managedFields" {
        return write_field(out, key, value);
    }
    out.extend_from_slice(b"\"managedFields\":");
    managed::write_text_forms(out, value, write_value);
    out.push(b',');
}

/// Ends an object: the comma after the last field becomes the brace.
fn close(out: &mut Vec<u8>) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = b'}',
        _ => out.push(b'}'),
    }
}
