//! The printer columns of a CRD.

use kubewright_apiserver::{
    SharedClock,
    registry::{Fields, Table},
};
use kubewright_catalog::printers;
use kubewright_machinery::{go, time::human_duration};
use kubewright_schema::normalize_untyped;
use serde_json::{Value, json};

use crate::{definition::Column, jsonpath::JsonPath};

/// The columns of one version.
pub(crate) struct Columns {
    columns: Vec<(Column, JsonPath)>,
    clock: SharedClock,
}

impl Columns {
    /// Returns the columns of a version, or only the age if it has none. A column that cannot be parsed ends the list.
    pub(crate) fn new(printed: &[Column], clock: SharedClock) -> Self {
        let age = Column {
            name: "Age".into(),
            ty: "date".into(),
            format: String::new(),
            description: description(1),
            priority: 0,
            json_path: ".metadata.creationTimestamp".into(),
        };
        let printed = if printed.is_empty() {
            std::slice::from_ref(&age)
        } else {
            printed
        };
        let columns = printed
            .iter()
            .map_while(|column| Some((column.clone(), JsonPath::parse(&column.json_path)?)));
        Self {
            columns: columns.collect(),
            clock,
        }
    }

    fn cell(&self, column: &Column, value: &Value) -> Value {
        match (column.ty.as_str(), value) {
            ("string", value) => print(value).into(),
            ("integer", Value::Number(n)) if n.is_f64() => {
                json!(n.as_f64().unwrap_or_default() as i64)
            }
            ("number", Value::Number(n)) => {
                let mut float = json!(n.as_f64().unwrap_or_default());
                // An integral number is printed without a fraction.
                normalize_untyped(&mut float);
                float
            }
            ("integer", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
            ("date", Value::String(text)) => match text.parse::<jiff::Timestamp>() {
                Ok(time) => {
                    let seconds = self.clock.now().as_second() - time.as_second();
                    human_duration(seconds).into()
                }
                Err(_) => "<invalid>".into(),
            },
            _ => Value::Null,
        }
    }
}

impl Table for Columns {
    fn columns(&self) -> Value {
        let name = json!({
            "name": "Name", "type": "string", "format": "name", "description": description(0), "priority": 0,
        });
        let rest = self.columns.iter().map(|(column, _)| {
            let description = match column.description.as_str() {
                "" => format!(
                    "Custom resource definition column (in JSONPath format): {}",
                    column.json_path
                ),
                text => text.to_owned(),
            };
            json!({
                "name": column.name,
                "type": column.ty,
                "format": column.format,
                "description": description,
                "priority": column.priority,
            })
        });
        std::iter::once(name).chain(rest).collect()
    }

    fn fields(&self) -> Option<Fields> {
        let paths = self.columns.iter().map(|(_, path)| path.field());
        let Some(paths) = paths.collect::<Option<Vec<String>>>() else {
            return Some(Fields::all());
        };
        let name = std::iter::once("metadata.name");
        Some(Fields::new(name.chain(paths.iter().map(String::as_str))))
    }

    fn cells(&self, object: &Value) -> Vec<Value> {
        let name = object["metadata"]["name"].clone();
        let rest = self.columns.iter().map(|(column, path)| {
            path.first(object)
                .map_or(Value::Null, |value| self.cell(column, value))
        });
        std::iter::once(name).chain(rest).collect()
    }
}

/// Formats a value as a Go template does.
fn print(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<no value>".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) if n.is_f64() => go::float(n.as_f64().unwrap_or_default()),
        Value::Number(n) => n.to_string(),
        other => go::json(other),
    }
}

/// Returns the description of a column of every kind: the name or the age.
fn description(i: usize) -> String {
    let column = printers::DEFAULT.columns.get(i);
    column
        .map(|column| column.description.to_owned())
        .unwrap_or_default()
}
