//! Pods and containers must not run as user 0. Since 1.35 pods in a user namespace may.

use super::{Check, Pod, Violation, setters};

pub(super) const CHECK: Check = Check {
    id: "runAsUser",
    revisions: &[(23, check), (35, check_with_users_of_the_host)],
    replaces: "",
};

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let bad = pod.containers_with(|context| context["runAsUser"] == 0);
    let setters = setters(pod.security_context()["runAsUser"] == 0, &bad)?;
    let detail = format!("{setters} must not set runAsUser=0");
    Some(Violation::new("runAsUser=0", detail))
}

fn check_with_users_of_the_host(pod: &Pod<'_>) -> Option<Violation> {
    match pod.has_own_users() {
        true => None,
        false => check(pod),
    }
}
