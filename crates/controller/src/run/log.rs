//! Log lines of runs.

use kubewright_ledger::LogLine;
use serde_json::{Map, Value};

use super::record::Record;

/// The longest message that is kept.
const MAX_MESSAGE: usize = 2048;

/// The longest value of a field that is kept.
const MAX_VALUE: usize = 512;

/// The number of fields that are kept of a line.
const MAX_FIELDS: usize = 16;

/// Adds a line to the log of the run that the current task belongs to; outside a run nothing happens.
///
/// A subscriber calls it for the events that it writes, so that `kubewright why` and the console can show the lines of a run.
/// Programs that start with `kubewright_operator::main` have one.
///
/// ```
/// use kubewright_controller::note_log_line;
///
/// note_log_line("INFO", "shop::captain", "created the ship", serde_json::Map::new);
/// ```
pub fn note_log_line(
    level: &str,
    target: &str,
    message: &str,
    fields: impl FnOnce() -> Map<String, Value>,
) {
    let Some(record) = Record::current() else {
        return;
    };
    record.line(|| LogLine {
        time: record.now(),
        level: level.to_owned(),
        target: target.to_owned(),
        message: message.chars().take(MAX_MESSAGE).collect(),
        fields: fields().into_iter().take(MAX_FIELDS).map(cut).collect(),
    });
}

/// Cuts the text of a field. Nested values, which a subscriber rarely has, are kept as text.
fn cut((name, value): (String, Value)) -> (String, Value) {
    let text = match value {
        Value::String(text) => text,
        Value::Array(_) | Value::Object(_) => value.to_string(),
        short => return (name, short),
    };
    let text: String = text.chars().take(MAX_VALUE).collect();
    (name, text.into())
}
