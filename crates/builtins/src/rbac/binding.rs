//! Role bindings and cluster role bindings.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameForm, names},
};
use serde_json::Value;

use super::GROUP;
use crate::{
    KindRules, checks,
    go_json::Writer,
    json::{Read, Write},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    validate_create: |binding| validate(binding, true),
    validate_update: |new, old| validate_update(new, old, true),
    allow_create_on_update: true,
    ..KindRules::GENERAL
};

pub(crate) static CLUSTER_RULES: KindRules = KindRules {
    validate_create: |binding| validate(binding, false),
    validate_update: |new, old| validate_update(new, old, false),
    ..RULES
};

fn default(binding: &mut Value) {
    binding.field("roleRef").put_if_blank("apiGroup", GROUP);
    binding.each("subjects", |subject| {
        if subject["kind"] == "User" || subject["kind"] == "Group" {
            subject.put_if_blank("apiGroup", GROUP);
        }
    });
}

fn validate(binding: &Value, namespaced: bool) -> ErrorList {
    let mut errors = meta::validate(binding, namespaced, meta::path_name);
    let (role, path) = (&binding["roleRef"], Path::new("roleRef"));
    if role["apiGroup"] != GROUP {
        let group = role["apiGroup"].text();
        errors.push(field::not_supported(
            &path.child("apiGroup"),
            group,
            &[GROUP],
        ));
    }
    let known: &[&str] = match namespaced {
        true => &["Role", "ClusterRole"],
        false => &["ClusterRole"],
    };
    let kind = role["kind"].text();
    if !known.contains(&kind) {
        errors.push(field::not_supported(&path.child("kind"), kind, known));
    }
    match role["name"].text() {
        "" => errors.push(field::required(&path.child("name"), "")),
        name => {
            let found = names::is_path_segment_name(name);
            checks::messages(name, found, &path.child("name"), &mut errors);
        }
    }
    for (i, subject) in binding["subjects"].items().iter().enumerate() {
        validate_subject(
            subject,
            namespaced,
            &Path::new("subjects").index(i),
            &mut errors,
        );
    }
    errors
}

fn validate_update(new: &Value, old: &Value, namespaced: bool) -> ErrorList {
    let mut errors = meta::common(new, old, namespaced);
    errors.extend(validate(new, namespaced));
    errors.extend(meta::validate_update(new, old));
    if new["roleRef"] != old["roleRef"] {
        let role = &new["roleRef"];
        let mut text = Writer::new();
        text.put("APIGroup", &role["apiGroup"]);
        text.put("Kind", &role["kind"]);
        text.put("Name", &role["name"]);
        let path = Path::new("roleRef");
        errors.push(field::invalid_raw(
            &path,
            text.finish(),
            "cannot change roleRef",
        ));
    }
    errors
}

fn validate_subject(subject: &Value, namespaced: bool, path: &Path, errors: &mut ErrorList) {
    let (kind, name, group) = (
        subject["kind"].text(),
        subject["name"].text(),
        subject["apiGroup"].text(),
    );
    if name.is_empty() {
        errors.push(field::required(&path.child("name"), ""));
    }
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                let found = names::name_is_dns_subdomain(name, NameForm::Whole);
                checks::messages(name, found, &path.child("name"), errors);
            }
            if !group.is_empty() {
                errors.push(field::not_supported(&path.child("apiGroup"), group, &[""]));
            }
            if !namespaced && subject["namespace"].is_blank() {
                errors.push(field::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(field::not_supported(
                    &path.child("apiGroup"),
                    group,
                    &[GROUP],
                ));
            }
        }
        _ => {
            let known = ["ServiceAccount", "User", "Group"];
            errors.push(field::not_supported(&path.child("kind"), kind, &known));
        }
    }
}
