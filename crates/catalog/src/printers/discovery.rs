//! Printers of the `discovery.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, text};
use super::text::shortened;
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    (kind == "EndpointSlice").then_some(&ENDPOINT_SLICE)
}

static ENDPOINT_SLICE: Printer = Printer::new(
    &[
        NAME,
        text(
            "AddressType",
            "Whether the addresses are IPv4, IPv6 or domain names.",
        ),
        text(
            "Ports",
            "The ports of every endpoint in the slice, cut short.",
        ),
        text(
            "Endpoints",
            "The addresses of the endpoints in the slice, cut short.",
        ),
        AGE,
    ],
    endpoint_slice,
);

fn endpoint_slice(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let ports: Vec<String> = object["ports"].items().iter().map(port).collect();
    let addresses: Vec<String> = object["endpoints"]
        .items()
        .iter()
        .flat_map(|endpoint| endpoint["addresses"].texts())
        .map(str::to_owned)
        .collect();
    row![
        fields::name(object),
        object["addressType"].text(),
        shortened(&ports),
        shortened(&addresses),
        age::of(object, options),
    ]
}

fn port(port: &Value) -> String {
    match (port["port"].as_i64(), port["name"].as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "*".to_owned(),
    }
}
