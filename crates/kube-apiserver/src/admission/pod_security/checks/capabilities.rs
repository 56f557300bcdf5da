//! The capabilities of a container: `baseline` allows the default set, `restricted` drops all and allows to bind low ports.

use std::collections::BTreeSet;

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::{Check, Pod, Violation, containers, quoted};

pub(super) const BASELINE: Check = Check {
    id: "capabilities_baseline",
    revisions: &[(0, check_default)],
    replaces: "",
};

pub(super) const RESTRICTED: Check = Check {
    id: "capabilities_restricted",
    revisions: &[(22, check_dropped), (25, check_dropped_unless_windows)],
    replaces: BASELINE.id,
};

/// The capabilities of the default set that may be added.
const DEFAULT: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

fn check_default(pod: &Pod<'_>) -> Option<Violation> {
    added_others(pod, &DEFAULT).map(|detail| Violation::new("non-default capabilities", detail))
}

fn check_dropped(pod: &Pod<'_>) -> Option<Violation> {
    let drops_all = |context: &Value| {
        context["capabilities"]["drop"]
            .texts()
            .any(|name| name == "ALL")
    };
    let keeping = pod.containers_with(|context| !drops_all(context));
    let kept = (!keeping.is_empty()).then(|| {
        let containers = containers(&keeping);
        format!("{containers} must set securityContext.capabilities.drop=[\"ALL\"]")
    });
    let added = added_others(pod, &["NET_BIND_SERVICE"]);
    let details: Vec<String> = kept.into_iter().chain(added).collect();
    (!details.is_empty()).then(|| Violation::new("unrestricted capabilities", details.join("; ")))
}

fn check_dropped_unless_windows(pod: &Pod<'_>) -> Option<Violation> {
    match pod.is_windows() {
        true => None,
        false => check_dropped(pod),
    }
}

/// Describes the containers that add other capabilities than these.
fn added_others(pod: &Pod<'_>, allowed: &[&str]) -> Option<String> {
    let is_other = |name: &&str| !allowed.contains(name);
    let adds_other = |context: &Value| context["capabilities"]["add"].texts().any(|n| is_other(&n));
    let bad = pod.containers_with(adds_other);
    let names: BTreeSet<&str> = pod
        .containers()
        .flat_map(|container| container["securityContext"]["capabilities"]["add"].texts())
        .filter(is_other)
        .collect();
    (!bad.is_empty()).then(|| {
        format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&bad),
            quoted(names)
        )
    })
}
