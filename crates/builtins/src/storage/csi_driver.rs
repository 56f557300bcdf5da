//! CSI drivers.

use serde_json::{Value, json};

use crate::{
    KindRules, general,
    json::{Read, Write, same},
};

const TOKENS_IN_SECRETS: &str = "spec.tokenRequests is set but spec.serviceAccountTokenInSecrets is not; consider setting spec.serviceAccountTokenInSecrets to true for enhanced security, or false to maintain current behavior";

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_update: general::count_spec_changes,
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
