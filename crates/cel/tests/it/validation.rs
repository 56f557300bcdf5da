//! Schemas with rules and objects, with recordings of Kubernetes 1.36.3's CRD validator.

use kubewright_cel::limits::RUNTIME_COST_BUDGET;
use kubewright_cel::{Extent, Ratcheting, Schema, Validator};

use crate::golden::recorded;

#[test]
fn every_result_is_that_of_the_real_server() {
    let recorded = recorded("validation.json");
    let cases = recorded["cases"].as_array().expect("there are cases");
    assert!(cases.len() > 40);
    for case in cases {
        let name = &case["name"];
        let schema = Schema::from_json(&case["schema"]);
        let budget = match case["budget"].as_i64() {
            None | Some(0) => RUNTIME_COST_BUDGET,
            Some(budget) => budget,
        };
        let extent = match case["root"] == true {
            true => Extent::Resource,
            false => Extent::Value,
        };
        let (mut errors, mut warnings, remaining) = match Validator::new(&schema, extent) {
            None => (Vec::new(), Vec::new(), budget),
            Some(validator) => {
                let ratcheting = match case["ratchet"] == true {
                    true => Ratcheting::Enabled,
                    false => Ratcheting::Disabled,
                };
                let outcome = validator.validate(&case["new"], case.get("old"), budget, ratcheting);
                let errors = outcome.errors.iter().map(ToString::to_string).collect();
                (errors, outcome.warnings, outcome.remaining_budget)
            }
        };
        errors.sort();
        warnings.sort();
        assert_eq!(serde_json::json!(errors), case["errors"], "{name}: errors");
        assert_eq!(
            serde_json::json!(warnings),
            case["warnings"],
            "{name}: warnings"
        );
        assert_eq!(case["remaining"], remaining, "{name}: budget");
    }
}
