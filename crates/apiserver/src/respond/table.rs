//! Tables: the rows that `kubectl get` prints.

use kubewright_machinery::{
    Status,
    field::{self, Path},
    status,
};
use serde_json::{Value, json};

use crate::{
    object::Object,
    registry::{Resource, Table},
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

/// Returns a table of one object.
pub(super) fn of_object(
    cx: &RequestContext,
    resource: &Resource,
    object: &Object,
    version: &str,
) -> Result<Value, Status> {
    let include = Include::parse(cx)?;
    let value = object.to_value()?;
    let revision = &value["metadata"]["resourceVersion"];
    let metadata = if revision.is_null() {
        json!({})
    } else {
        json!({"resourceVersion": revision})
    };
    let table = resource.table_of(&cx.info.subresource);
    Ok(json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": metadata,
        "columnDefinitions": table.columns(),
        "rows": [row(table, value, include, version)],
    }))
}

/// Returns the row of an object.
pub(super) fn row(table: &dyn Table, value: Value, include: Include, version: &str) -> Value {
    let cells = table.cells(&value);
    let conditions = table.conditions(&value);
    let object = match include {
        Include::None => Value::Null,
        Include::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": value["metadata"],
        }),
        Include::Object => value,
    };
    let mut row = json!({"cells": cells, "object": object});
    if let Some(conditions) = conditions {
        row["conditions"] = conditions;
    }
    row
}
