//! Pod disruption budgets.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{KindRules, apps::workload, checks, conditions, general, json::Read, meta};

pub(crate) static RULES: KindRules = KindRules {
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    validate_create,
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, true);
        errors.extend(validate_create(new));
        errors
    },
    validate_status_update,
    allow_unconditional_update: false,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

/// The kind checks its spec alone; names only have to fit into a path.
fn validate_create(budget: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let (spec, path) = (&budget["spec"], Path::new("spec"));
    if spec["minAvailable"].is_set() && spec["maxUnavailable"].is_set() {
        let text = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            spec["minAvailable"],
            crate::go_json::selector(&spec["selector"]),
            spec["maxUnavailable"],
            spec["unhealthyPodEvictionPolicy"],
        );
        let message = "minAvailable and maxUnavailable cannot be both set";
        errors.push(field::invalid_raw(&path, text, message));
    }
    for name in ["minAvailable", "maxUnavailable"] {
        if spec[name].is_set() {
            checks::int_or_percent(&spec[name], &path.child(name), &mut errors);
            workload::at_most_all(&spec[name], &path.child(name), &mut errors);
        }
    }
    checks::selector(&spec["selector"], &path.child("selector"), &mut errors);
    let known = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = "unhealthyPodEvictionPolicy";
    checks::one_of_if_set(&spec[policy], &known, &path.child(policy), &mut errors);
    if errors.is_empty() {
        errors = meta::validate_general(budget, true, meta::path_segment);
    }
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    let counts = [
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    ];
    let path = Path::new("status").child("conditions");
    conditions::validate(&new["status"]["conditions"], &path, &mut errors);
    workload::validate_counts(&new["status"], &counts, &mut errors);
    errors
}
