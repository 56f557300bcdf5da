//! Processes may not gain more privileges than their parent, for instance by a set-user-ID file.

use super::{Check, Pod, Violation, containers};

pub(super) const CHECK: Check = Check {
    id: "allowPrivilegeEscalation",
    revisions: &[(8, check), (25, check_unless_windows)],
    replaces: "",
};

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let bad = pod.containers_with(|context| context["allowPrivilegeEscalation"] != false);
    (!bad.is_empty()).then(|| {
        let containers = containers(&bad);
        Violation::new(
            "allowPrivilegeEscalation != false",
            format!("{containers} must set securityContext.allowPrivilegeEscalation=false"),
        )
    })
}

fn check_unless_windows(pod: &Pod<'_>) -> Option<Violation> {
    match pod.is_windows() {
        true => None,
        false => check(pod),
    }
}
