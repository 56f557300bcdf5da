//! CSI drivers.

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::{Value, json};

use crate::{
    KindRules, checks, general,
    json::{Read, Write, same},
    meta,
};

const TOKENS_IN_SECRETS: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_update: general::count_spec_changes,
    validate_create,
    validate_update,
    warnings_on_create,
    warnings_on_update,
    allow_unconditional_update: false,
    returns_deleted_object: true,
    ..KindRules::GENERAL
};

fn default(driver: &mut Value) {
    let spec = driver.field("spec");
    spec.put_if_unset("attachRequired", true);
    spec.put_if_unset("podInfoOnMount", false);
    spec.put_if_unset("storageCapacity", false);
    spec.put_if_unset("fsGroupPolicy", "ReadWriteOnceWithFSType");
    spec.put_if_blank("volumeLifecycleModes", json!(["Persistent"]));
    spec.put_if_unset("requiresRepublish", false);
    spec.put_if_unset("seLinuxMount", false);
}

fn warnings_on_create(driver: &Value) -> Vec<String> {
    let spec = &driver["spec"];
    if !spec["tokenRequests"].is_blank() && !spec["serviceAccountTokenInSecrets"].is_set() {
        return vec![TOKENS_IN_SECRETS.to_owned()];
    }
    Vec::new()
}

fn warnings_on_update(new: &Value, old: &Value) -> Vec<String> {
    if same(&new["spec"]["tokenRequests"], &old["spec"]["tokenRequests"]) {
        return Vec::new();
    }
    warnings_on_create(new)
}

fn validate_create(driver: &Value) -> ErrorList {
    let mut errors = meta::validate(driver, false, meta::subdomain);
    validate_spec(&driver["spec"], &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(meta::validate_update(new, old));
    validate_spec(&new["spec"], &mut errors);
    for (name, shown) in [
        ("attachRequired", "attachedRequired"),
        ("volumeLifecycleModes", "volumeLifecycleModes"),
    ] {
        let path = Path::new("spec").child(shown);
        checks::immutable(&new["spec"][name], &old["spec"][name], &path, &mut errors);
    }
    errors
}

fn validate_spec(spec: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let known = ["File", "None", "ReadWriteOnceWithFSType"];
    checks::one_of_if_set(
        &spec["fsGroupPolicy"],
        &known,
        &path.child("fsGroupPolicy"),
        errors,
    );
    let mut audiences = BTreeSet::new();
    for (i, request) in spec["tokenRequests"].items().iter().enumerate() {
        if !audiences.insert(request["audience"].text()) {
            let path = path.child("tokenRequests").index(i).child("audience");
            errors.push(field::duplicate(&path, &request["audience"]));
        }
        let seconds = &request["expirationSeconds"];
        let path = path
            .child("tokenRequests")
            .index(i)
            .child("expirationSeconds");
        if seconds.is_set() && seconds.int() < 600 {
            let message = "may not specify a duration less than 10 minutes";
            errors.push(field::invalid(&path, seconds, message));
        }
    }
    for mode in spec["volumeLifecycleModes"].items() {
        let path = path.child("volumeLifecycleModes");
        checks::one_of_if_set(mode, &["Persistent", "Ephemeral"], &path, errors);
    }
    let period = &spec["nodeAllocatableUpdatePeriodSeconds"];
    if period.is_set() && period.int() < 10 {
        let path = path.child("nodeAllocatableUpdatePeriodSeconds");
        errors.push(field::invalid(
            &path,
            period,
            "must be greater than or equal to 10 seconds",
        ));
    }
    let secrets = &spec["serviceAccountTokenInSecrets"];
    if secrets.is_set() && spec["tokenRequests"].is_blank() {
        let path = path.child("serviceAccountTokenInSecrets");
        let message = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.push(field::invalid(&path, secrets, message));
    }
}
