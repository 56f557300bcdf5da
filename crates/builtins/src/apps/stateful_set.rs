//! Stateful sets.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::{Value, json};

use super::workload;
use crate::{
    KindRules, checks,
    core::{persistent_volume_claim, pod},
    general,
    json::{Read, Write, same},
    meta,
};

const UPDATABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];
const FIXED: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    validate_create,
    validate_update,
    validate_status_update,
    warnings_on_create: warnings,
    warnings_on_update,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn default(set: &mut Value) {
    let spec = set.field("spec");
    spec.put_if_blank("podManagementPolicy", "OrderedReady");
    let strategy = spec.field("updateStrategy");
    if strategy["type"].is_blank() {
        strategy.put("type", "RollingUpdate");
        strategy.field("rollingUpdate").object();
    }
    if strategy["type"] == "RollingUpdate" {
        strategy.with("rollingUpdate", |rolling| {
            rolling.put_if_unset("partition", 0);
        });
    }
    let retention = spec.field("persistentVolumeClaimRetentionPolicy");
    retention.put_if_blank("whenDeleted", "Retain");
    retention.put_if_blank("whenScaled", "Retain");
    spec.put_if_unset("replicas", 1);
    spec.put_if_unset("revisionHistoryLimit", 10);
    pod::default::template(spec.field("template"));
    spec.each("volumeClaimTemplates", |claim| {
        claim.put_if_blank("apiVersion", "v1");
        claim.put_if_blank("kind", "PersistentVolumeClaim");
        claim.field("status").put_if_blank("phase", "Pending");
        persistent_volume_claim::default_spec(claim.field("spec"));
    });
}

/// `maxUnavailable` is not on yet: it is dropped unless the old object has it.
fn drop_max_unavailable(set: &mut Value) {
    set.with("spec", |spec| {
        spec.with("updateStrategy", |s| {
            s.with("rollingUpdate", |r| r.forget("maxUnavailable"))
        });
    });
}

fn prepare_create(set: &mut Value) {
    general::drop_status_and_start_generation(set);
    drop_max_unavailable(set);
}

fn prepare_update(new: &mut Value, old: &Value) {
    if !old["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"].is_set() {
        drop_max_unavailable(new);
    }
    general::keep_status_and_count_spec_changes(new, old);
}

fn validate_create(set: &Value) -> ErrorList {
    let mut errors = meta::validate(set, true, meta::label);
    validate_spec(&set["spec"], true, &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    validate_spec(&new["spec"], false, &mut errors);
    let mut munged = new["spec"].clone();
    for name in UPDATABLE {
        general::copy(&mut munged, &old["spec"], name);
    }
    if !same(&munged, &old["spec"]) {
        errors.push(field::forbidden(&Path::new("spec"), FIXED));
    }
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    let status = &new["status"];
    let counts = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    workload::validate_counts(status, &counts, &mut errors);
    let parts = [
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ];
    workload::validate_parts(status, &parts, &mut errors);
    workload::validate_available(
        status,
        "cannot be greater than status.readyReplicas",
        &mut errors,
    );
    errors.extend(meta::validate_update(new, old));
    workload::validate_collisions(new, old, &mut errors);
    errors
}

fn warnings(set: &Value) -> Vec<String> {
    let mut warnings = pod::warnings::spec_template(set);
    let limit = &set["spec"]["revisionHistoryLimit"];
    if limit.int() < 0 {
        warnings.push("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".to_owned());
    }
    warnings
}

fn warnings_on_update(new: &Value, old: &Value) -> Vec<String> {
    match new["metadata"]["generation"] == old["metadata"]["generation"] {
        true => Vec::new(),
        false => warnings(new),
    }
}

fn validate_spec(spec: &Value, new: bool, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let policy = spec["podManagementPolicy"].text();
    let policy_path = path.child("podManagementPolicy");
    match policy {
        "" => errors.push(field::required(&policy_path, "")),
        "OrderedReady" | "Parallel" => {}
        _ => errors.push(field::invalid_str(
            &policy_path,
            policy,
            "must be 'OrderedReady' or 'Parallel'",
        )),
    }
    validate_strategy(
        &spec["updateStrategy"],
        &path.child("updateStrategy"),
        errors,
    );
    let retention = path.child("persistentVolumeClaimRetentionPolicy");
    for name in ["whenDeleted", "whenScaled"] {
        let value = &spec["persistentVolumeClaimRetentionPolicy"][name];
        checks::one_of_if_set(value, &["Retain", "Delete"], &retention.child(name), errors);
    }
    if new {
        for (i, claim) in spec["volumeClaimTemplates"].items().iter().enumerate() {
            let path = path.child("volumeClaimTemplates").index(i).child("spec");
            persistent_volume_claim::validate_spec(&claim["spec"], &path, errors);
        }
    }
    for name in ["replicas", "minReadySeconds"] {
        checks::non_negative(&spec[name], &path.child(name), errors);
    }
    checks::non_negative(
        &spec["ordinals"]["start"],
        &path.child("ordinals.start"),
        errors,
    );
    if new && !spec["serviceName"].is_blank() {
        checks::dns_label(
            spec["serviceName"].text(),
            &path.child("serviceName"),
            errors,
        );
    }
    workload::validate_selector(spec, "statefulset", &path, errors);
    if workload::is_readable(spec, "", &path, errors) {
        workload::validate_match(spec, &path, errors);
        let template_path = path.child("template");
        let template = with_claims(spec);
        pod::validate::template(&template, &template_path, errors);
        pod::validate::template_metadata(&template, &template_path, errors);
    }
    workload::validate_always(spec, "StatefulSet", &path.child("template"), errors);
}

/// Returns the template with the volumes of the claims.
fn with_claims(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    let pod = template.field("spec");
    pod.forget("subdomain");
    pod.forget("hostname");
    let claims = spec["volumeClaimTemplates"].items();
    if claims.is_empty() {
        return template;
    }
    let claimed = |name: &Value| claims.iter().any(|c| c["metadata"]["name"] == *name);
    let mut volumes: Vec<Value> = claims
        .iter()
        .map(|c| {
            let name = &c["metadata"]["name"];
            json!({"name": name, "persistentVolumeClaim": {"claimName": name}})
        })
        .collect();
    let own = pod["volumes"]
        .items()
        .iter()
        .filter(|v| !claimed(&v["name"]));
    volumes.extend(own.cloned());
    pod.put("volumes", volumes);
    template
}

fn validate_strategy(strategy: &Value, path: &Path, errors: &mut ErrorList) {
    let rolling = &strategy["rollingUpdate"];
    let rolling_path = path.child("rollingUpdate");
    match strategy["type"].text() {
        "" => errors.push(field::required(path, "")),
        "OnDelete" if rolling.is_set() => {
            let text = format!(
                "{{\"Partition\":{},\"MaxUnavailable\":{}}}",
                rolling["partition"].int(),
                rolling["maxUnavailable"]
            );
            let message = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push(field::invalid_raw(&rolling_path, text, message));
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            checks::non_negative(
                &rolling["partition"],
                &rolling_path.child("partition"),
                errors,
            );
            let unavailable = &rolling["maxUnavailable"];
            if unavailable.is_set() {
                let path = rolling_path.child("maxUnavailable");
                checks::int_or_percent(unavailable, &path, errors);
                if workload::int_or_percent(unavailable) == 0 {
                    errors.push(field::invalid(&path, unavailable, "cannot be 0"));
                }
                workload::at_most_all(unavailable, &path, errors);
            }
        }
        other => {
            let text = format!("{{\"Type\":\"{other}\",\"RollingUpdate\":null}}");
            errors.push(field::invalid_raw(
                path,
                text,
                "must be 'RollingUpdate' or 'OnDelete'",
            ));
        }
    }
}
