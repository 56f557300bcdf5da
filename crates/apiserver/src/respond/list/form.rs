//! The items of a list: objects, their metadata, or rows of a table.

use std::sync::Arc;

use bytes::Bytes;
use kubewright_catalog::{
    generated::meta_v1::{PARTIAL_OBJECT_METADATA, TABLE_ROW},
    types::StructType,
};
use kubewright_machinery::Status;
use serde_json::{Value, json};

use super::super::{
    negotiate::Transform,
    object::{go_package, not_acceptable, write_partial},
    table::{Include, Rows, write_columns},
};
use crate::{
    object::Object,
    registry::{ObjectList, Resource, RowOrder, Shape},
    request::RequestContext,
};

/// The form of a list's items.
pub(super) enum Form {
    /// Objects. The prefix of their bytes is left out: list items of built-in types do not have a type.
    Objects {
        bare: Option<Bytes>,
        ty: Option<&'static StructType>,
    },
    /// Their metadata, as a version of `PartialObjectMetadata`.
    Partial(&'static str),
    /// Rows of a table.
    Rows(Rows),
}

impl Form {
    /// Returns the form that was negotiated.
    ///
    /// # Errors
    ///
    /// Fails with 406 if the client requests one object, and with 400 if `includeObject` is invalid.
    pub(super) fn new(
        cx: &RequestContext,
        transform: Transform,
        resource: &Resource,
    ) -> Result<Self, Status> {
        match transform {
            Transform::None => Ok(Self::Objects {
                bare: resource
                    .spec
                    .bare_items
                    .then(|| resource.spec.type_prefix()),
                ty: match resource.spec.shape {
                    Shape::Typed(ty) => Some(ty),
                    Shape::Untyped => None,
                },
            }),
            Transform::PartialList(version) => Ok(Self::Partial(version)),
            Transform::Table(version) => {
                let include = Include::parse(cx)?;
                let table = Arc::clone(&resource.table);
                Ok(Self::Rows(Rows::new(table, include, version)))
            }
            Transform::Partial(_) => {
                let list = match resource.custom {
                    Some(_) => "unstructured.UnstructuredList".to_owned(),
                    None => {
                        let package = go_package(&resource.spec.group_version.group);
                        format!("{package}.{}List", resource.spec.kind.kind)
                    }
                };
                Err(not_acceptable(format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{list})"
                )))
            }
        }
    }

    /// Appends an item as JSON.
    pub(super) fn write(&self, object: &Object, out: &mut Vec<u8>) {
        match self {
            Self::Objects {
                bare: Some(prefix), ..
            } if object.bytes.starts_with(prefix) => {
                out.push(b'{');
                out.extend_from_slice(&object.bytes[prefix.len()..]);
            }
            Self::Objects { .. } => out.extend_from_slice(&object.bytes),
            Self::Partial(version) => write_partial(out, &object.bytes, version),
            Self::Rows(rows) => rows.write(out, &object.bytes),
        }
    }

    /// Returns the type of an item, if it has one.
    pub(super) fn item_type(&self) -> Option<&'static StructType> {
        match self {
            Self::Objects { ty, .. } => *ty,
            Self::Partial(_) => Some(&PARTIAL_OBJECT_METADATA),
            Self::Rows(_) => Some(&TABLE_ROW),
        }
    }

    /// Returns the order of the items, if it is not that of the list.
    pub(super) fn order(&self) -> Option<RowOrder> {
        match self {
            Self::Rows(rows) => rows.order(),
            _ => None,
        }
    }
}

/// The fields of a list besides its items.
#[derive(Clone)]
pub(super) struct Head {
    pub(super) kind: String,
    pub(super) api_version: String,
    pub(super) metadata: Value,
    /// The column definitions of a table.
    pub(super) columns: Option<Value>,
}

impl Head {
    pub(super) fn new(form: &Form, resource: &Resource, list: &ObjectList) -> Self {
        let mut metadata = metadata(list);
        let (kind, api_version, columns) = match form {
            Form::Objects { .. } => {
                if resource.custom.is_some() && list.continue_token.is_empty() {
                    // Lists without a type always have a continue token, even an empty one.
                    metadata["continue"] = json!("");
                }
                (list_kind(resource), resource.spec.kind.api_version(), None)
            }
            Form::Partial(version) => (
                "PartialObjectMetadataList".to_owned(),
                format!("meta.k8s.io/{version}"),
                None,
            ),
            Form::Rows(rows) => (
                "Table".to_owned(),
                format!("meta.k8s.io/{}", rows.version()),
                Some(rows.columns()),
            ),
        };
        Self {
            kind,
            api_version,
            metadata,
            columns,
        }
    }

    /// Returns the name of the field that holds the items.
    pub(super) fn items(&self) -> &'static str {
        match self.columns {
            Some(_) => "rows",
            None => "items",
        }
    }

    /// Returns the fields as JSON without the items and the closing brace.
    pub(super) fn json(&self) -> Vec<u8> {
        let text = |text: &str| Value::from(text).to_string();
        let head = format!(
            "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{}",
            text(&self.kind),
            text(&self.api_version),
            self.metadata()
        );
        let mut out = head.into_bytes();
        if let Some(columns) = &self.columns {
            out.extend_from_slice(b",\"columnDefinitions\":");
            write_columns(&mut out, columns);
        }
        out
    }
}

impl Head {
    /// Returns the metadata as JSON, in the order of its type.
    fn metadata(&self) -> String {
        let fields = ["resourceVersion", "continue", "remainingItemCount"].map(|key| {
            let value = self.metadata.get(key)?;
            Some(format!("\"{key}\":{value}"))
        });
        let fields: Vec<String> = fields.into_iter().flatten().collect();
        format!("{{{}}}", fields.join(","))
    }
}

/// Returns the kind of a list of the objects themselves.
fn list_kind(resource: &Resource) -> String {
    match &resource.custom {
        Some(custom) => custom.list_kind().to_owned(),
        None => format!("{}List", resource.spec.kind.kind),
    }
}

fn metadata(list: &ObjectList) -> Value {
    let mut metadata = json!({});
    if !list.resource_version.is_empty() {
        metadata["resourceVersion"] = json!(list.resource_version);
    }
    if !list.continue_token.is_empty() {
        metadata["continue"] = json!(list.continue_token);
    }
    if let Some(remaining) = list.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    metadata
}
