//! Selectors of devices, whose expressions must compile.

use kubewright_cel::compile_device_selector;
use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{admissionregistration::expression, json::Read};

/// The longest expression of a selector.
const MAX_EXPRESSION: usize = 10 * 1024;

/// Validates the selectors of every request of a claim's spec.
pub(super) fn validate_claim_spec(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let (devices, path) = (&spec["devices"], path.child("devices"));
    for (i, request) in devices["requests"].items().iter().enumerate() {
        let path = path.child("requests").index(i);
        validate(&request["exactly"], &path.child("exactly"), errors);
        for (j, alternative) in request["firstAvailable"].items().iter().enumerate() {
            validate(alternative, &path.child("firstAvailable").index(j), errors);
        }
    }
}

/// Validates the field `selectors` of a request or a class.
pub(super) fn validate(holder: &Value, path: &Path, errors: &mut ErrorList) {
    for (i, selector) in holder["selectors"].items().iter().enumerate() {
        let path = path.child("selectors").index(i).child("cel");
        if !selector["cel"].is_set() {
            errors.push(field::required(&path, ""));
            continue;
        }
        let (text, at) = (
            selector["cel"]["expression"].text(),
            path.child("expression"),
        );
        match text.len() > MAX_EXPRESSION {
            true => errors.push(field::too_long(&at, MAX_EXPRESSION)),
            false => expression::report(compile_device_selector(text), text, &at, errors),
        }
    }
}
