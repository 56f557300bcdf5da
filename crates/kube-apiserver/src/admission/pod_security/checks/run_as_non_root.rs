//! Containers do not run as root. Since 1.35 this is not asked of pods with users of their own.

use super::{Check, Pod, Violation, containers, setters};

pub(super) const CHECK: Check = Check {
    id: "runAsNonRoot",
    revisions: &[(0, check), (35, check_with_users_of_the_host)],
    replaces: "",
};

const REASON: &str = "runAsNonRoot != true";

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let of_pod = &pod.security_context()["runAsNonRoot"];
    let bad = pod.containers_with(|context| context["runAsNonRoot"] == false);
    if let Some(setters) = setters(*of_pod == false, &bad) {
        let detail = format!("{setters} must not set securityContext.runAsNonRoot=false");
        return Some(Violation::new(REASON, detail));
    }
    if *of_pod == true {
        return None;
    }
    let silent = pod.containers_with(|context| context["runAsNonRoot"].is_null());
    (!silent.is_empty()).then(|| {
        let containers = containers(&silent);
        let detail = format!("pod or {containers} must set securityContext.runAsNonRoot=true");
        Violation::new(REASON, detail)
    })
}

fn check_with_users_of_the_host(pod: &Pod<'_>) -> Option<Violation> {
    match pod.has_own_users() {
        true => None,
        false => check(pod),
    }
}
