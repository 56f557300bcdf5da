//! No container is privileged.

use super::{Check, Pod, Violation, containers};

pub(super) const CHECK: Check = Check {
    id: "privileged",
    revisions: &[(0, check)],
    replaces: "",
};

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let bad = pod.containers_with(|context| context["privileged"] == true);
    (!bad.is_empty()).then(|| {
        let containers = containers(&bad);
        Violation::new(
            "privileged",
            format!("{containers} must not set securityContext.privileged=true"),
        )
    })
}
