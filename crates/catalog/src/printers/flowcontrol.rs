//! Printers of the `flowcontrol.apiserver.k8s.io` group.

use kubewright_machinery::json::Read;
use std::cmp::Ordering;

use serde_json::Value;

use super::columns::{AGE, NAME, text};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "FlowSchema" => &FLOW_SCHEMA,
        "PriorityLevelConfiguration" => &PRIORITY_LEVEL_CONFIGURATION,
        _ => return None,
    })
}

static FLOW_SCHEMA: Printer = Printer {
    list_order: Some(by_precedence),
    ..Printer::new(
        &[
            NAME,
            text(
                "PriorityLevel",
                "The priority level of the requests that match.",
            ),
            text(
                "MatchingPrecedence",
                "Which schema is tried first; lower goes first.",
            ),
            text(
                "DistinguisherMethod",
                "How matching requests are told apart into flows.",
            ),
            AGE,
            text(
                "MissingPL",
                "Whether the priority level is missing or broken.",
            ),
        ],
        flow_schema,
    )
};

static PRIORITY_LEVEL_CONFIGURATION: Printer = Printer::new(
    &[
        NAME,
        text(
            "Type",
            "Whether requests of the level are limited or exempt.",
        ),
        text(
            "NominalConcurrencyShares",
            "The level's share of concurrent requests.",
        ),
        text("Queues", "How many queues the level has."),
        text("HandSize", "How many queues are dealt to each flow."),
        text(
            "QueueLengthLimit",
            "How many requests may wait in each queue.",
        ),
        AGE,
    ],
    priority_level_configuration,
);

fn flow_schema(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let method = &spec["distinguisherMethod"];
    let method = if method.is_object() {
        method["type"].text()
    } else {
        "<none>"
    };
    let dangling = fields::condition(&object["status"]["conditions"], "Dangling");
    row![
        fields::name(object),
        spec["priorityLevelConfiguration"]["name"].text(),
        spec["matchingPrecedence"].int(),
        method,
        age::of(object, options),
        dangling.map_or("?", |dangling| dangling["status"].text()),
    ]
}

fn by_precedence(left: &Value, right: &Value) -> Ordering {
    let key = |schema: &Value| schema["spec"]["matchingPrecedence"].int();
    key(left)
        .cmp(&key(right))
        .then_with(|| fields::name(left).cmp(fields::name(right)))
}

fn priority_level_configuration(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let limited = &object["spec"]["limited"];
    let queuing = &limited["limitResponse"]["queuing"];
    row![
        fields::name(object),
        object["spec"]["type"].text(),
        number_of(limited, "nominalConcurrencyShares"),
        number_of(queuing, "queues"),
        number_of(queuing, "handSize"),
        number_of(queuing, "queueLengthLimit"),
        age::of(object, options),
    ]
}

/// A number of a configuration, `<none>` if there is no such configuration.
fn number_of(configuration: &Value, field: &str) -> Value {
    if configuration.is_object() {
        configuration[field].int().into()
    } else {
        "<none>".into()
    }
}
