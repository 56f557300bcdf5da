//! Tables: the rows that `kubectl get` prints.

use std::sync::Arc;

use kubewright_machinery::{
    Status,
    field::{self, Path},
    status,
};
use kubewright_schema::write_value;
use serde_json::Value;

use super::{
    fields::{self, Fields},
    object::write_metadata,
    scan,
};
use crate::{
    registry::{Resource, RowOrder, Table},
    request::RequestContext,
};

/// The part of an object that its row includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Include {
    None,
    Metadata,
    Object,
}

impl Include {
    pub(super) fn parse(cx: &RequestContext) -> Result<Self, Status> {
        match cx.query.first("includeObject").unwrap_or("") {
            "None" => Ok(Self::None),
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => {
                let text = "must be 'Metadata', 'Object', 'None', or empty";
                let error = field::invalid_str(&Path::new("includeObject"), other, text);
                Err(status::bad_request(format!(
                    "Unable to convert to Table as requested: {error}"
                )))
            }
        }
    }
}

/// Writes the rows of objects. Only the fields that the columns need are decoded.
pub(super) struct Rows {
    table: Arc<dyn Table>,
    /// The fields that the columns need; `None` is all.
    fields: Option<Fields>,
    include: Include,
    version: &'static str,
}

impl Rows {
    pub(super) fn new(table: Arc<dyn Table>, include: Include, version: &'static str) -> Self {
        Self {
            fields: table.fields(),
            table,
            include,
            version,
        }
    }

    pub(super) fn version(&self) -> &'static str {
        self.version
    }

    pub(super) fn columns(&self) -> Value {
        self.table.columns()
    }

    pub(super) fn order(&self) -> Option<RowOrder> {
        self.table.order()
    }

    /// Appends the row of an encoded object.
    pub(super) fn write(&self, out: &mut Vec<u8>, object: &[u8]) {
        let (value, metadata) = match &self.fields {
            Some(fields) => fields.decode_with_metadata(object),
            None => (fields::decode_all(object), scan::member(object, "metadata")),
        };
        out.extend_from_slice(b"{\"cells\":[");
        for (i, cell) in self.table.cells(&value).iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            write_value(out, cell);
        }
        out.push(b']');
        if let Some(conditions) = self.table.conditions(&value) {
            out.extend_from_slice(b",\"conditions\":");
            write_value(out, &conditions);
        }
        out.extend_from_slice(b",\"object\":");
        match self.include {
            Include::None => out.extend_from_slice(b"null"),
            Include::Metadata => write_metadata(out, metadata, self.version),
            Include::Object => out.extend_from_slice(object),
        }
        out.push(b'}');
    }

    /// Appends a table of one encoded object, with column definitions or with null in their place.
    pub(super) fn write_table(&self, out: &mut Vec<u8>, object: &[u8], columns: Columns) {
        let metadata = scan::member(object, "metadata").unwrap_or_default();
        out.extend_from_slice(b"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/");
        out.extend_from_slice(self.version.as_bytes());
        out.extend_from_slice(b"\",\"metadata\":{");
        if let Some(revision) = scan::member(metadata, "resourceVersion") {
            out.extend_from_slice(b"\"resourceVersion\":");
            out.extend_from_slice(revision);
        }
        out.extend_from_slice(b"},\"columnDefinitions\":");
        match columns {
            Columns::Defined => write_columns(out, &self.columns()),
            Columns::Null => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"rows\":[");
        self.write(out, object);
        out.extend_from_slice(b"]}");
    }
}

/// Appends column definitions, with their fields in the order of the type.
pub(super) fn write_columns(out: &mut Vec<u8>, columns: &Value) {
    out.push(b'[');
    for (i, column) in columns.as_array().into_iter().flatten().enumerate() {
        out.extend_from_slice(if i > 0 { &b",{"[..] } else { b"{" });
        let fields = ["name", "type", "format", "description", "priority"];
        let fields = fields
            .iter()
            .filter_map(|key| Some((key, column.get(key)?)));
        for (i, (key, value)) in fields.enumerate() {
            out.extend_from_slice(if i > 0 { &b",\""[..] } else { b"\"" });
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(b"\":");
            write_value(out, value);
        }
        out.push(b'}');
    }
    out.push(b']');
}

/// The column definitions of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    Defined,
    Null,
}

/// Returns a table of one object.
pub(super) fn of_object(
    cx: &RequestContext,
    resource: &Resource,
    object: &[u8],
    version: &'static str,
) -> Result<Vec<u8>, Status> {
    let include = Include::parse(cx)?;
    let table = resource.table_of(&cx.info.subresource).clone();
    let mut out = Vec::with_capacity(1024);
    Rows::new(table, include, version).write_table(&mut out, object, Columns::Defined);
    Ok(out)
}
