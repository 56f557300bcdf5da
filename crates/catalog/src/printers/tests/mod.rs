//! The rows of each kind, for objects as a cluster would hold them.

mod any;
mod cluster;
mod network;
mod pods;
mod storage;
mod workloads;

use serde_json::{Value, json};

use super::{PrintOptions, printer};

/// The current time, to which all ages are counted: 2026-01-02T00:00:00Z.
const NOW: i64 = 1_767_312_000;

/// The row of an object that is named `it` and five minutes old.
fn cells(group: &str, kind: &str, object: Value) -> Vec<Value> {
    let printer = printer(group, kind).expect("the kind has a printer");
    let options = PrintOptions {
        now_unix_seconds: NOW,
    };
    let object = named(object);
    let cells = (printer.cells)(&object, &options);
    if let Some(fields) = printer.fields {
        let declared = select(&object, fields);
        let condition = |object| {
            printer
                .row_condition
                .and_then(|condition| condition(object))
        };
        assert_eq!((printer.cells)(&declared, &options), cells, "{fields:?}");
        assert_eq!(condition(&declared), condition(&object), "{fields:?}");
    }
    cells
}

/// Returns the declared fields of an object.
fn select(object: &Value, paths: &[&str]) -> Value {
    match object {
        Value::Array(items) => items.iter().map(|item| select(item, paths)).collect(),
        Value::Object(fields) => {
            let selected = fields.iter().filter_map(|(key, value)| {
                let below: Vec<&str> = paths
                    .iter()
                    .filter_map(|path| path.strip_prefix(key.as_str()))
                    .filter_map(|rest| match rest {
                        "" => Some(""),
                        rest => rest.strip_prefix('.'),
                    })
                    .collect();
                let value = match below[..] {
                    [] => return None,
                    ["#"] => value
                        .as_object()
                        .map(|map| map.keys().map(|key| (key.clone(), Value::Null)).collect())
                        .unwrap_or_default(),
                    _ if below.contains(&"") => value.clone(),
                    _ => select(value, &below),
                };
                Some((key.clone(), value))
            });
            Value::Object(selected.collect())
        }
        other => other.clone(),
    }
}

/// One cell of that row, by the name of its column.
fn cell(group: &str, kind: &str, column: &str, object: Value) -> Value {
    let columns = printer(group, kind)
        .expect("the kind has a printer")
        .columns;
    let index = columns
        .iter()
        .position(|each| each.name == column)
        .expect("there is the column");
    cells(group, kind, object).swap_remove(index)
}

fn named(mut object: Value) -> Value {
    object["metadata"]["name"] = json!("it");
    object["metadata"]["creationTimestamp"] = json!("2026-01-01T23:55:00Z");
    object
}

/// Asserts that a row reads as given, where the cells come as a JSON array.
#[track_caller]
fn assert_row(row: Vec<Value>, expected: Value) {
    assert_eq!(Value::Array(row), expected);
}
