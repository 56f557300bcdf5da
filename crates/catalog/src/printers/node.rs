//! Printers of the `node.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, text};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    (kind == "RuntimeClass").then_some(&RUNTIME_CLASS)
}

static RUNTIME_CLASS: Printer = Printer::new(
    &[
        NAME,
        text(
            "Handler",
            "The runtime configuration that handles pods of the class.",
        ),
        AGE,
    ],
    runtime_class,
);

fn runtime_class(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        object["handler"].text(),
        age::of(object, options)
    ]
}
