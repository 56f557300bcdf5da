//! Pods and containers must not run as processes of a Windows host.

use serde_json::Value;

use super::{Check, Pod, Violation, setters};

pub(super) const CHECK: Check = Check {
    id: "windowsHostProcess",
    revisions: &[(0, check)],
    replaces: "",
};

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let is_bad = |context: &Value| context["windowsOptions"]["hostProcess"] == true;
    let bad = pod.containers_with(is_bad);
    let setters = setters(is_bad(pod.security_context()), &bad)?;
    let detail = format!("{setters} must not set securityContext.windowsOptions.hostProcess=true");
    Some(Violation::new("hostProcess", detail))
}
