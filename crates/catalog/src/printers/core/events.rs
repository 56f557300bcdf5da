//! The printer of events, the same for core and for `events.k8s.io`, which names some fields differently.

use kubewright_machinery::json::Read;
use serde_json::Value;

use crate::printers::columns::{NAME, text};
use crate::printers::{PrintOptions, Printer, age, fields, row};

pub(super) static EVENT: Printer = Printer::new(
    &[
        text("Last Seen", "How long ago the event was last seen."),
        text("Type", "Whether the event is normal or a warning."),
        text("Reason", "One word for why the event happened."),
        text("Object", "The object the event is about."),
        text("Subobject", "The part of the object the event is about.").wide(),
        text(
            "Source",
            "The component that reported the event, and where it runs.",
        )
        .wide(),
        text("Message", "What happened, for people."),
        text("First Seen", "How long ago the event was first seen.").wide(),
        text("Count", "How many times the event was seen.").wide(),
        NAME.wide(),
    ],
    event,
)
.reading(&[
    "metadata.name",
    "metadata.creationTimestamp",
    "firstTimestamp",
    "deprecatedFirstTimestamp",
    "lastTimestamp",
    "deprecatedLastTimestamp",
    "eventTime",
    "series",
    "count",
    "deprecatedCount",
    "involvedObject",
    "regarding",
    "type",
    "reason",
    "message",
    "note",
    "source",
    "deprecatedSource",
    "reportingComponent",
    "reportingController",
    "reportingInstance",
]);

/// The printer of a kind of `events.k8s.io`.
pub(in crate::printers) fn printer(kind: &str) -> Option<&'static Printer> {
    (kind == "Event").then_some(&EVENT)
}

fn event(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let first_seen = match set_time(object, ["firstTimestamp", "deprecatedFirstTimestamp"]) {
        Some(first) => age::since(first, options),
        None => age::since(&object["eventTime"], options),
    };
    let series = &object["series"];
    let (last_seen, count) = if series.is_object() {
        (
            age::since(&series["lastObservedTime"], options),
            series["count"].int(),
        )
    } else {
        let last = set_time(object, ["lastTimestamp", "deprecatedLastTimestamp"]);
        let last_seen = last.map_or_else(|| first_seen.clone(), |last| age::since(last, options));
        match either(object, ["count", "deprecatedCount"]).int() {
            0 => (last_seen, 1),
            count => (last_seen, count),
        }
    };
    let about = either(object, ["involvedObject", "regarding"]);
    row![
        last_seen,
        object["type"].text(),
        object["reason"].text(),
        target(about),
        about["fieldPath"].text(),
        source(object),
        either(object, ["message", "note"]).text().trim(),
        first_seen,
        count,
        fields::name(object),
    ]
}

fn target(about: &Value) -> String {
    let kind = about["kind"].text().to_lowercase();
    match about["name"].text() {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let source = either(event, ["source", "deprecatedSource"]);
    let reporter = either(event, ["reportingComponent", "reportingController"]).text();
    let component = source["component"].text_or(reporter);
    match source["host"].text_or(event["reportingInstance"].text()) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}

/// The field by its core name or by its name in `events.k8s.io`.
fn either<'a>(event: &'a Value, [core, events]: [&str; 2]) -> &'a Value {
    match &event[core] {
        Value::Null => &event[events],
        field => field,
    }
}

fn set_time<'a>(event: &'a Value, names: [&str; 2]) -> Option<&'a Value> {
    let field = either(event, names);
    age::time(field).map(|_| field)
}
