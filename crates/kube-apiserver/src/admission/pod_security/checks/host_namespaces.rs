//! A pod may not share the network, the processes or the IPC of its node.

use super::{Check, Pod, Violation};

pub(super) const CHECK: Check = Check {
    id: "hostNamespaces",
    revisions: &[(0, check)],
    replaces: "",
};

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let shared: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .into_iter()
        .filter(|field| pod.spec[*field] == true)
        .map(|field| format!("{field}=true"))
        .collect();
    (!shared.is_empty()).then(|| Violation::new("host namespaces", shared.join(", ")))
}
