//! The columns that a definition declares.

use kubewright_apiserver::{clock::SharedClock, registry::Table};
use kubewright_catalog::printers;
use kubewright_machinery::{go, time::human_duration};
use kubewright_schema::normalize_untyped;
use serde_json::{Value, json};

use super::{definition::Column, jsonpath::JsonPath};

/// The columns of one version.
pub(super) struct Columns {
    columns: Vec<(Column, JsonPath)>,
    clock: SharedClock,
}

impl Columns {
    /// Those that are declared, or the age. One that is not understood ends them.
    pub(super) fn new(declared: &[Column], clock: SharedClock) -> Self {
        let age = Column {
            name: "Age".into(),
            ty: "date".into(),
            format: String::new(),
            description: description(1),
            priority: 0,
            json_path: ".metadata.creationTimestamp".into(),
        };
        let declared = if declared.is_empty() {
            std::slice::from_ref(&age)
        } else {
            declared
        };
        let columns = declared
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
                // As it is printed: without a fraction where there is none.
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

    fn cells(&self, object: &Value) -> Vec<Value> {
        let name = object["metadata"]["name"].clone();
        let rest = self.columns.iter().map(|(column, path)| {
            path.first(object)
                .map_or(Value::Null, |value| self.cell(column, value))
        });
        std::iter::once(name).chain(rest).collect()
    }
}

/// As Go prints it in a template.
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

/// What is said about a column that every kind has: its name, or when it was made.
fn description(i: usize) -> String {
    let column = printers::DEFAULT.columns.get(i);
    column
        .map(|column| column.description.to_owned())
        .unwrap_or_default()
}
