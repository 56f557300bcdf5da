//! Volume attachments.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameForm, names},
};
use serde_json::Value;

use super::csi_node::validate_driver_name;
use crate::{
    KindRules, checks, general,
    json::{Read, same},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    prepare_create: general::drop_status,
    prepare_update: general::keep_status,
    prepare_status_update: general::keep_metadata_and_spec,
    validate_create,
    validate_update,
    validate_status_update: validate_update,
    allow_unconditional_update: false,
    returns_deleted_object: true,
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};

fn validate_create(attachment: &Value) -> ErrorList {
    let mut errors = meta::validate(attachment, false, meta::subdomain);
    let (spec, path) = (&attachment["spec"], Path::new("spec"));
    validate_driver_name(
        spec["attacher"].text(),
        &path.child("attacher"),
        &mut errors,
    );
    let (inline, name) = (
        &spec["source"]["inlineVolumeSpec"],
        &spec["source"]["persistentVolumeName"],
    );
    let source_path = path.child("source");
    let message = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline.is_set(), name.is_set()) {
        (false, false) => errors.push(field::required(&source_path, message)),
        (true, true) => errors.push(field::forbidden(&source_path, message)),
        (false, true) if name.is_blank() => {
            let path = source_path.child("persistentVolumeName");
            errors.push(field::required(
                &path,
                "must specify non empty persistentVolumeName",
            ));
        }
        _ => {}
    }
    let node = spec["nodeName"].text();
    let found = names::name_is_dns_subdomain(node, NameForm::Whole);
    checks::messages(node, found, &path.child("nodeName"), &mut errors);
    if name.is_set() {
        let found = names::name_is_dns_subdomain(name.text(), NameForm::Whole);
        let path = Path::new("spec.source.persistentVolumeName");
        checks::messages(name.text(), found, &path, &mut errors);
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(validate_create(new));
    if !same(&new["spec"], &old["spec"]) {
        let (spec, path) = (&new["spec"], Path::new("spec"));
        // Under its Go names, unless it has a whole volume inside.
        errors.push(match spec["source"]["inlineVolumeSpec"].is_set() {
            true => field::invalid(&path, spec, "field is immutable"),
            false => field::invalid_raw(&path, shown(spec), "field is immutable"),
        });
    }
    errors
}

fn shown(spec: &Value) -> String {
    format!(
        "{{\"Attacher\":{},\"Source\":{{\"PersistentVolumeName\":{},\"InlineVolumeSpec\":null}},\"NodeName\":{}}}",
        spec["attacher"], spec["source"]["persistentVolumeName"], spec["nodeName"]
    )
}
