//! The group `flowcontrol.apiserver.k8s.io`.

pub(crate) mod flow_schema;
pub(crate) mod priority_level_configuration;

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{checks, json::Read};

/// Validates that conditions have distinct types.
fn validate_condition_types(status: &Value, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, condition) in status["conditions"].items().iter().enumerate() {
        let path = Path::new("status").child("conditions").index(i);
        let path = path.child("type");
        if !seen.insert(condition["type"].text()) {
            errors.push(field::duplicate(&path, &condition["type"]));
        }
        checks::required(&condition["type"], &path, errors);
    }
}
