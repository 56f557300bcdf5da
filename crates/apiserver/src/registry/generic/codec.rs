//! Between values and stored bytes.
//!
//! Stored bytes begin with `kind` and `apiVersion`, so that a list can leave them out by slicing, and the resourceVersion is
//! the first field of `metadata`, to be spliced in at commit.

use std::sync::Arc;

use bytes::Bytes;
use kubewright_machinery::{Status, status};
use kubewright_schema::{encode::write_value, normalize_typed};
use kubewright_store::{Entry, Payload};
use serde_json::{Map, Value};

use super::{
    super::resource::{Shape, type_prefix},
    Generic,
    metadata::metadata_mut,
};
use crate::object::{Object, Summary};

/// Between the stored form of an object and the one that is served, where a kind is served under two names.
pub trait Converter: Send + Sync {
    /// Served to stored.
    fn to_stored(&self, object: Value) -> Result<Value, Status>;
    /// Stored to served.
    fn to_served(&self, object: Value) -> Result<Value, Status>;
}

impl Generic {
    /// The object in its canonical form: fields in, zero values out, as the type says.
    pub(super) fn normalize(&self, mut object: Value) -> Result<Value, Status> {
        // A field of the past that was never stored.
        metadata_mut(&mut object).remove("selfLink");
        match self.shape {
            Shape::Typed(ty) => normalize_typed(object, ty).map_err(status::internal),
            Shape::Untyped => Ok(object),
        }
    }

    /// Bytes to store.
    pub(super) fn encode(&self, object: &Value) -> Result<Payload, Status> {
        let summary = Arc::new(Summary::of(object, &self.selectable));
        let ttl = self.strategy.time_to_live(object);
        let (bytes, at) = match &self.converter {
            None => encode(object),
            Some(converter) => encode(&converter.to_stored(object.clone())?),
        };
        Ok(Payload {
            bytes,
            revision_at: Some(at),
            companion: Some(summary),
            ttl,
        })
    }

    /// An entry as it is served.
    pub(super) fn object(&self, entry: &Entry) -> Result<Object, Status> {
        match &self.converter {
            None => Ok(Object::from_entry(entry, &self.selectable)),
            Some(_) => {
                let value = self.decode(entry)?;
                Ok(self.unstored(&value))
            }
        }
    }

    /// An entry, decoded, as it is served.
    pub(super) fn decode(&self, entry: &Entry) -> Result<Value, Status> {
        let value: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
        match &self.converter {
            None => Ok(value),
            Some(converter) => self.normalize(converter.to_served(value)?),
        }
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
    let mut out = Vec::with_capacity(512);
    let empty = Map::new();
    let fields = value.as_object().unwrap_or(&empty);
    write_type(&mut out, fields);
    for (key, field) in fields
        .iter()
        .filter(|(k, _)| *k != "kind" && *k != "apiVersion")
    {
        write_field(&mut out, key, field);
    }
    close(&mut out);
    out.into()
}

/// The object with `kind`, `apiVersion` and a place for the resourceVersion, and where that place is.
fn encode(value: &Value) -> (Bytes, u32) {
    let mut out = Vec::with_capacity(1024);
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
        write_field(&mut out, key, field);
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

/// Ends an object: the comma after the last field becomes the brace.
fn close(out: &mut Vec<u8>) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = b'}',
        _ => out.push(b'}'),
    }
}
