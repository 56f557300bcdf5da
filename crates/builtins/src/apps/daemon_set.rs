//! Daemon sets, which count the generations of their template too.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    labels::LabelSelector,
};
use serde_json::Value;

use super::workload;
use crate::{
    KindRules, checks,
    core::pod,
    general,
    json::{Read, Write, same},
    meta,
};

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    validate_create,
    validate_update,
    validate_status_update,
    warnings_on_create: pod::warnings::spec_template,
    warnings_on_update,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn default(set: &mut Value) {
    let spec = set.field("spec");
    let strategy = spec.field("updateStrategy");
    strategy.put_if_blank("type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let rolling = strategy.field("rollingUpdate");
        rolling.put_if_unset("maxUnavailable", 1);
        rolling.put_if_unset("maxSurge", 0);
    }
    spec.put_if_unset("revisionHistoryLimit", 10);
    pod::default::template(spec.field("template"));
    // The generation of the template was a field in the past. It is an annotation now, which the creator owns.
    let generation = template_generation(set);
    put_template_generation(set, generation);
}

fn prepare_create(set: &mut Value) {
    general::drop_status_and_start_generation(set);
    let generation = template_generation(set).max(1);
    put_template_generation(set, generation);
}

fn prepare_update(new: &mut Value, old: &Value) {
    general::keep_status(new, old);
    let generation = template_generation(old);
    if !same(&new["spec"]["template"], &old["spec"]["template"]) {
        put_template_generation(new, generation.saturating_add(1));
        general::next_generation(new, old);
        return;
    }
    put_template_generation(new, generation);
    general::count_spec_changes(new, old);
}

/// The count is kept in an annotation, since the field left the API.
fn template_generation(set: &Value) -> i64 {
    set["metadata"]["annotations"][TEMPLATE_GENERATION]
        .text()
        .parse()
        .unwrap_or_default()
}

fn put_template_generation(set: &mut Value, generation: i64) {
    let annotations = set.field("metadata").field("annotations");
    annotations.put(TEMPLATE_GENERATION, generation.to_string());
}

fn validate_create(set: &Value) -> ErrorList {
    let mut errors = meta::validate(set, true, meta::subdomain);
    validate_spec(&set["spec"], &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    let path = Path::new("spec").child("selector");
    checks::immutable_selector(
        &new["spec"]["selector"],
        &old["spec"]["selector"],
        &path,
        &mut errors,
    );
    validate_spec(&new["spec"], &mut errors);
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    let counts = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    workload::validate_counts(&new["status"], &counts, &mut errors);
    workload::validate_collisions(new, old, &mut errors);
    errors
}

fn warnings_on_update(new: &Value, old: &Value) -> Vec<String> {
    match template_generation(new) == template_generation(old) {
        true => Vec::new(),
        false => pod::warnings::spec_template(new),
    }
}

fn validate_spec(spec: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    checks::selector(&spec["selector"], &path.child("selector"), errors);
    let labels = &spec["template"]["metadata"]["labels"];
    if let Ok(selector) = LabelSelector::from_label_selector(&spec["selector"])
        && !selector.matches(|key| labels.get(key).and_then(Value::as_str))
    {
        let path = path.child("template").child("metadata").child("labels");
        errors.push(field::invalid(
            &path,
            labels,
            "`selector` does not match template `labels`",
        ));
    }
    if spec["selector"].is_set() {
        workload::validate_not_empty(
            &spec["selector"],
            "daemonset",
            &path.child("selector"),
            errors,
        );
    }
    workload::validate_running_template(spec, "DaemonSet", &path, errors);
    checks::non_negative(
        &spec["minReadySeconds"],
        &path.child("minReadySeconds"),
        errors,
    );
    validate_strategy(
        &spec["updateStrategy"],
        &path.child("updateStrategy"),
        errors,
    );
    checks::non_negative(
        &spec["revisionHistoryLimit"],
        &path.child("revisionHistoryLimit"),
        errors,
    );
}

fn validate_strategy(strategy: &Value, path: &Path, errors: &mut ErrorList) {
    match strategy["type"].text() {
        "OnDelete" => return,
        "RollingUpdate" => {}
        other => {
            let mut error = field::not_supported(path, other, &["RollingUpdate", "OnDelete"]);
            error.value = Some(format!("{{\"Type\":\"{other}\",\"RollingUpdate\":null}}"));
            errors.push(error);
            return;
        }
    }
    let rolling = &strategy["rollingUpdate"];
    let path = path.child("rollingUpdate");
    let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
    let (unavailable_path, surge_path) = (path.child("maxUnavailable"), path.child("maxSurge"));
    checks::int_or_percent(unavailable, &unavailable_path, errors);
    checks::int_or_percent(surge, &surge_path, errors);
    workload::at_most_all(unavailable, &unavailable_path, errors);
    workload::at_most_all(surge, &surge_path, errors);
    match (
        workload::int_or_percent(unavailable) != 0,
        workload::int_or_percent(surge) != 0,
    ) {
        (true, true) => {
            let message = "may not be set when maxUnavailable is non-zero";
            errors.push(field::invalid(&surge_path, surge, message));
        }
        (false, false) => {
            errors.push(field::required(
                &unavailable_path,
                "cannot be 0 when maxSurge is 0",
            ));
        }
        _ => {}
    }
}
