//! A pod may not mount directories of its node.

use kubewright_machinery::json::Read;

use super::{Check, Pod, Violation, name, plural, quoted};

pub(super) const CHECK: Check = Check {
    id: "hostPathVolumes",
    revisions: &[(0, check)],
    replaces: "",
};

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = pod.spec["volumes"].items().iter();
    let bad: Vec<&str> = volumes
        .filter(|volume| volume["hostPath"].is_set())
        .map(name)
        .collect();
    (!bad.is_empty()).then(|| {
        let word = plural("volume", "volumes", bad.len());
        Violation::new("hostPath volumes", format!("{word} {}", quoted(bad)))
    })
}
