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
    (printer.cells)(
        &named(object),
        &PrintOptions {
            now_unix_seconds: NOW,
        },
    )
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
