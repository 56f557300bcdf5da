//! IP addresses, which record the object that holds a service address.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{IMMUTABLE, names},
};
use serde_json::Value;

use crate::{
    KindRules, checks,
    json::{Read, same},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    validate_create,
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate_create(new));
        errors.extend(meta::validate_update(new, old));
        let path = Path::new("spec").child("parentRef");
        let (after, before) = (&new["spec"]["parentRef"], &old["spec"]["parentRef"]);
        if !same(after, before) {
            let text = |name: &str| Value::from(after[name].text());
            let shown = format!(
                "{{\"Group\":{},\"Resource\":{},\"Namespace\":{},\"Name\":{}}}",
                text("group"),
                text("resource"),
                text("namespace"),
                text("name")
            );
            errors.push(field::invalid_raw(&path, shown, IMMUTABLE));
        }
        errors
    },
    ..KindRules::GENERAL
};

/// The name is the address, in its canonical form.
fn validate_create(address: &Value) -> ErrorList {
    let mut errors = meta::validate(address, false, |name, _| names::is_ip(name));
    let (parent, path) = (
        &address["spec"]["parentRef"],
        Path::new("spec").child("parentRef"),
    );
    if !parent.is_set() {
        errors.push(field::required(&path, ""));
        return errors;
    }
    if !parent["group"].is_blank() {
        checks::dns_subdomain(parent["group"].text(), &path.child("group"), &mut errors);
    }
    for name in ["resource", "name"] {
        match parent[name].text() {
            "" => errors.push(field::required(&path.child(name), "")),
            text => {
                let found = names::is_path_segment_name(text);
                checks::messages(text, found, &path.child(name), &mut errors);
            }
        }
    }
    let namespace = parent["namespace"].text();
    let found = names::is_path_segment_name(namespace);
    checks::messages(namespace, found, &path.child("namespace"), &mut errors);
    errors
}
