//! The outline of a version: spec, status, and the schema of the whole object.
//!
//! kube's derive generates a root type with a required `spec`. Where a CRD does not require one, or has other fields next to the
//! metadata, `no_spec` is used: the fields next to the metadata are one struct, in which the spec is an `Option`. So an object
//! without a spec can be read and written back; the price is that the spec of such an object is
//! `object.spec.spec`.

use serde_json::{Map, Value};

use super::{
    definition::Version,
    keywords::{properties, strings, without_the_obvious},
    types::{Types, into_object},
};

/// The fields that every object has.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The parts of a version's schema.
#[derive(Debug)]
pub(super) struct Outline {
    /// The schema of the whole object, without its fields.
    pub(super) root: Map<String, Value>,
    /// The schema of the metadata.
    pub(super) metadata: Option<Value>,
    /// The schema of the spec, or of all fields next to the metadata.
    pub(super) spec: Map<String, Value>,
    pub(super) status: Option<Map<String, Value>>,
    /// Set if the fields are next to the metadata.
    pub(super) flat: bool,
}

/// The types of an outline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roots {
    pub(super) spec: usize,
    pub(super) status: Option<usize>,
}

impl Outline {
    pub(super) fn of(version: &Version) -> Self {
        let schema = version.schema.as_ref();
        let mut root = schema.map(|schema| schema.root.clone()).unwrap_or_default();
        without_the_obvious(&mut root);
        let mut own = into_object(root.remove("properties").unwrap_or_default());
        let metadata = own.get("metadata").cloned();
        own.retain(|name, _| !OF_EVERY_OBJECT.contains(&name.as_str()));
        let status = own.remove("status").map(into_object);
        let required = strings(root.get("required")).any(|name| name == "spec");
        let is_object = |schema: &Value| {
            schema["type"] == "object"
                || schema.as_object().is_some_and(|s| properties(s).is_some())
        };
        let flat = !(required && own.len() == 1 && own.get("spec").is_some_and(is_object));
        let spec = match flat {
            false => into_object(own.remove("spec").unwrap_or_default()),
            true => {
                let mut fields = root.clone();
                fields.remove("description");
                fields.insert("type".to_owned(), Value::from("object"));
                fields.insert("properties".to_owned(), Value::Object(own));
                fields
            }
        };
        Self {
            root,
            metadata,
            spec,
            status,
            flat,
        }
    }

    /// Collects descriptions, before types are created.
    pub(super) fn collect(&self, types: &mut Types) {
        types.collect(&self.spec);
        if let Some(status) = &self.status {
            types.collect(status);
        }
    }

    /// Creates the types.
    pub(super) fn make(&self, types: &mut Types) -> Roots {
        // Fields next to the metadata add no word to the path.
        let spec: &[String] = if self.flat { &[] } else { &["spec".to_owned()] };
        let status = self.status.as_ref();
        Roots {
            spec: types.root(&self.spec, spec),
            status: status.map(|status| types.root(status, &["status".to_owned()])),
        }
    }
}
