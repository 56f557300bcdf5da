//! Printers of the `policy` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, integer, text};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    (kind == "PodDisruptionBudget").then_some(&POD_DISRUPTION_BUDGET)
}

static POD_DISRUPTION_BUDGET: Printer = Printer::new(
    &[
        NAME,
        text(
            "Min Available",
            "How many pods must stay available, as a number or a share.",
        ),
        text(
            "Max Unavailable",
            "How many pods may be unavailable, as a number or a share.",
        ),
        integer(
            "Allowed Disruptions",
            "How many pods may be disrupted right now.",
        ),
        AGE,
    ],
    pod_disruption_budget,
);

fn pod_disruption_budget(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    row![
        fields::name(object),
        number_or_share(&spec["minAvailable"]),
        number_or_share(&spec["maxUnavailable"]),
        object["status"]["disruptionsAllowed"].int(),
        age::of(object, options),
    ]
}

fn number_or_share(field: &Value) -> String {
    match field {
        Value::String(share) => share.clone(),
        Value::Number(number) => number.to_string(),
        _ => "N/A".to_owned(),
    }
}
