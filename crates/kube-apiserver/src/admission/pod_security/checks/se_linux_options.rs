//! The SELinux type must be one of those for containers; user and role must not be set.

use std::collections::BTreeSet;

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::{Check, Pod, Violation, plural, quoted, setters};

pub(super) const CHECK: Check = Check {
    id: "seLinuxOptions",
    revisions: &[(0, check_1_0), (31, check_1_31)],
    replaces: "",
};

/// The types that may be chosen; the last one since 1.31.
const TYPES: [&str; 5] = [
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
];

fn check_1_0(pod: &Pod<'_>) -> Option<Violation> {
    let [types @ .., _] = &TYPES;
    check(pod, types)
}

fn check_1_31(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, &TYPES)
}

fn check(pod: &Pod<'_>, types: &[&str]) -> Option<Violation> {
    let is_bad_type = |options: &Value| !types.contains(&options["type"].text());
    let is_bad = |context: &Value| {
        let options = &context["seLinuxOptions"];
        is_bad_type(options) || !options["user"].is_blank() || !options["role"].is_blank()
    };
    let bad = pod.containers_with(is_bad);
    let setters = setters(is_bad(pod.security_context()), &bad)?;
    let of_containers = pod
        .containers()
        .map(|container| &container["securityContext"]);
    let options = std::iter::once(pod.security_context()).chain(of_containers);
    let options: Vec<&Value> = options.map(|context| &context["seLinuxOptions"]).collect();
    let mut found = Vec::new();
    let bad_types = options.iter().filter(|options| is_bad_type(options));
    let bad_types: BTreeSet<&str> = bad_types.map(|options| options["type"].text()).collect();
    if !bad_types.is_empty() {
        let word = plural("type", "types", bad_types.len());
        found.push(format!("{word} {}", quoted(bad_types)));
    }
    for field in ["user", "role"] {
        if options.iter().any(|options| !options[field].is_blank()) {
            found.push(format!("{field} may not be set"));
        }
    }
    let detail = format!(
        "{setters} set forbidden securityContext.seLinuxOptions: {}",
        found.join("; ")
    );
    Some(Violation::new("seLinuxOptions", detail))
}
