//! Formats parts of objects: labels, selectors, containers, quantities and shortened lists.

use kubewright_machinery::quantity::Quantity;
use kubewright_machinery::{json::Read, labels::LabelSelector};
use serde_json::Value;

use super::fields::text_entries;

/// The number of entries that a shortened list shows.
const SHOWN: usize = 3;

/// Formats labels as `a=1,b=2`, or `<none>` if there are none.
pub(super) fn labels(field: &Value) -> String {
    let labels: Vec<String> = text_entries(field)
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    or_none(labels.join(","))
}

/// A label selector as `a=1,b in (2,3)`, `<none>` if it is empty or absent, `<error>` if it has no meaning.
pub(super) fn selector(field: &Value) -> String {
    LabelSelector::format_label_selector(field)
}

/// A label selector in its string form, empty if it is empty or absent, `None` if it has no meaning.
pub(super) fn selector_string(field: &Value) -> Option<String> {
    Some(LabelSelector::from_label_selector(field).ok()?.to_string())
}

/// The names and the images of containers, each joined by commas.
pub(super) fn containers(field: &Value) -> (String, String) {
    let column = |key: &str| {
        field
            .items()
            .iter()
            .map(|container| container[key].text())
            .collect::<Vec<_>>()
            .join(",")
    };
    (column("name"), column("image"))
}

/// A quantity in canonical form, zero if it is absent or unreadable.
pub(super) fn quantity(field: &Value) -> String {
    quantity_if_set(field).unwrap_or_else(|| "0".to_owned())
}

/// A quantity in canonical form, if there is one.
pub(super) fn quantity_if_set(field: &Value) -> Option<String> {
    let quantity: Quantity = match field {
        Value::String(string) => string.parse().ok()?,
        Value::Number(number) => number.to_string().parse().ok()?,
        _ => return None,
    };
    Some(quantity.to_string())
}

/// The first three entries and how many more there are; `<unset>` if there is nothing to show.
pub(super) fn shortened(entries: &[String]) -> String {
    let shown = entries[..entries.len().min(SHOWN)].join(",");
    match entries.len().saturating_sub(SHOWN) {
        0 if shown.is_empty() => "<unset>".to_owned(),
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

/// The string, or `<none>` if it is empty.
pub(super) fn or_none(string: String) -> String {
    if string.is_empty() {
        "<none>".to_owned()
    } else {
        string
    }
}
