//! Printers of namespaces and what configures them: config maps, secrets, service accounts, resource quotas.

use kubewright_machinery::json::Read;
use serde_json::Value;

use crate::printers::columns::{AGE, NAME, text};
use crate::printers::text::quantity;
use crate::printers::{PrintOptions, Printer, age, fields, row};

pub(super) static CONFIG_MAP: Printer = Printer::new(
    &[
        NAME,
        text("Data", "How many entries the object holds."),
        AGE,
    ],
    config_map,
)
.reading(&[
    "metadata.name",
    "metadata.creationTimestamp",
    "data.#",
    "binaryData.#",
]);

pub(super) static NAMESPACE: Printer = Printer::new(
    &[
        NAME,
        text("Status", "Whether the namespace is active or going away."),
        AGE,
    ],
    namespace,
)
.reading(&[
    "metadata.name",
    "metadata.creationTimestamp",
    "status.phase",
]);

pub(super) static RESOURCE_QUOTA: Printer = Printer::new(
    &[
        NAME,
        text(
            "Request",
            "What is used and allowed, for requests and for counts of objects.",
        ),
        text("Limit", "What is used and allowed, for limits."),
        AGE,
    ],
    resource_quota,
)
.reading(&["metadata.name", "metadata.creationTimestamp", "status"]);

pub(super) static SECRET: Printer = Printer::new(
    &[
        NAME,
        text(
            "Type",
            "What kind of secret it is, for programs that handle secrets.",
        ),
        text("Data", "How many entries the object holds."),
        AGE,
    ],
    secret,
)
.reading(&[
    "metadata.name",
    "metadata.creationTimestamp",
    "type",
    "data.#",
]);

pub(super) static SERVICE_ACCOUNT: Printer = Printer::new(&[NAME, AGE], service_account)
    .reading(&["metadata.name", "metadata.creationTimestamp"]);

fn config_map(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let entries = fields::count(&object["data"]) + fields::count(&object["binaryData"]);
    row![fields::name(object), entries, age::of(object, options)]
}

fn namespace(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        object["status"]["phase"].text(),
        age::of(object, options)
    ]
}

fn resource_quota(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let status = &object["status"];
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, _) in fields::text_entries(&status["hard"]) {
        let column = if resource.starts_with("limits.") {
            &mut limits
        } else {
            &mut requests
        };
        let used = quantity(&status["used"][resource]);
        let hard = quantity(&status["hard"][resource]);
        column.push(format!("{resource}: {used}/{hard}"));
    }
    row![
        fields::name(object),
        requests.join(", "),
        limits.join(", "),
        age::of(object, options)
    ]
}

fn secret(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        object["type"].text(),
        fields::count(&object["data"]),
        age::of(object, options),
    ]
}

fn service_account(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![fields::name(object), age::of(object, options)]
}
