//! Ingresses.

use serde_json::Value;

use crate::{KindRules, general, json::Read};

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

pub(crate) static RULES: KindRules = KindRules {
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    warnings_on_create,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn warnings_on_create(ingress: &Value) -> Vec<String> {
    let annotated = ingress["metadata"]["annotations"][CLASS_ANNOTATION].is_set();
    if annotated && !ingress["spec"]["ingressClassName"].is_set() {
        return vec![format!(
            "annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
        )];
    }
    Vec::new()
}
