//! The parts of `/proc` that are masked by default stay masked. Since 1.35 `baseline` does not ask for it of pods with users of
//! their own.

use std::collections::BTreeSet;

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::{Check, Pod, Violation, containers, quoted};

pub(super) const BASELINE: Check = Check {
    id: "procMount",
    revisions: &[(0, check), (35, check_with_users_of_the_host)],
    replaces: "",
};

pub(super) const RESTRICTED: Check = Check {
    id: "procMount_restricted",
    revisions: &[(35, check)],
    replaces: BASELINE.id,
};

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let bad = pod.containers_with(|context| bad_type(context).is_some());
    if bad.is_empty() {
        return None;
    }
    let types: BTreeSet<&str> = pod
        .containers()
        .filter_map(|container| bad_type(&container["securityContext"]))
        .collect();
    let detail = format!(
        "{} must not set securityContext.procMount to {}",
        containers(&bad),
        quoted(types)
    );
    Some(Violation::new("procMount", detail))
}

fn check_with_users_of_the_host(pod: &Pod<'_>) -> Option<Violation> {
    match pod.has_own_users() {
        true => None,
        false => check(pod),
    }
}

fn bad_type(context: &Value) -> Option<&str> {
    let mount = &context["procMount"];
    (mount.is_set() && mount != "Default").then(|| mount.text())
}
