//! Persistent volumes.

use serde_json::{Value, json};

use super::{pod, resources};
use crate::{
    KindRules, general,
    json::{Read, Write},
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update: general::keep_status,
    prepare_status_update,
    returns_deleted_object: true,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

/// Stamps a change of phase with the time it was written, where the writer did not.
pub fn stamp_phase_transition(new: &mut Value, old: &Value, now: &str) {
    let (before, after) = (&old["status"], &new["status"]);
    let untouched = !after["lastPhaseTransitionTime"].is_set()
        || after["lastPhaseTransitionTime"] == before["lastPhaseTransitionTime"];
    if before["phase"] != after["phase"] && untouched {
        new.field("status").put("lastPhaseTransitionTime", now);
    }
}

fn default(volume: &mut Value) {
    volume.field("status").put_if_blank("phase", "Pending");
    let spec = volume.field("spec");
    spec.put_if_blank("persistentVolumeReclaimPolicy", "Retain");
    spec.put_if_unset("volumeMode", "Filesystem");
    spec.with("capacity", resources::round_up);
    pod::default::volume_source(spec);
}

/// A new volume is pending since it was made.
fn prepare_create(volume: &mut Value) {
    let made = volume["metadata"]["creationTimestamp"].clone();
    volume.put("status", json!({"phase": "Pending"}));
    if made.is_set() {
        volume.field("status").put("lastPhaseTransitionTime", made);
    }
}

fn prepare_status_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    let time = &old["status"]["lastPhaseTransitionTime"];
    if old["status"]["phase"] == new["status"]["phase"] && time.is_set() {
        let time = time.clone();
        new.field("status").put_if_unset("lastPhaseTransitionTime", time);
    }
}
