//! Printers of the `apiregistration.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, text};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    (kind == "APIService").then_some(&API_SERVICE)
}

static API_SERVICE: Printer = Printer::new(
    &[
        NAME,
        text(
            "Service",
            "The service behind the API, `Local` if this server serves it.",
        ),
        text("Available", "Whether the API can be reached."),
        AGE,
    ],
    api_service,
);

fn api_service(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let service = &object["spec"]["service"];
    let service = if service.is_object() {
        format!("{}/{}", service["namespace"].text(), service["name"].text())
    } else {
        "Local".to_owned()
    };
    row![
        fields::name(object),
        service,
        available(&object["status"]),
        age::of(object, options)
    ]
}

fn available(status: &Value) -> String {
    let Some(condition) = fields::condition(&status["conditions"], "Available") else {
        return "Unknown".to_owned();
    };
    match (condition["status"].text(), condition["reason"].text()) {
        (status @ "True", _) | (status, "") => status.to_owned(),
        (status, reason) => format!("{status} ({reason})"),
    }
}
