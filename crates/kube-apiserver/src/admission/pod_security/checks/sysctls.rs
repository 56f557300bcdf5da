//! Only kernel parameters that are private to a pod may be set.

use kubewright_machinery::json::Read;

use super::{Check, Pod, Violation, name};

pub(super) const CHECK: Check = Check {
    id: "sysctls",
    revisions: &[
        (0, check_1_0),
        (27, check_1_27),
        (29, check_1_29),
        (32, check_1_32),
    ],
    replaces: "",
};

/// The parameters that may be set, and the minor version since which.
const SAFE: [(u64, &str); 12] = [
    (0, "kernel.shm_rmid_forced"),
    (0, "net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.tcp_syncookies"),
    (0, "net.ipv4.ping_group_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_keepalive_time"),
    (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
];

fn check_1_0(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, 0)
}

fn check_1_27(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, 27)
}

fn check_1_29(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, 29)
}

fn check_1_32(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, 32)
}

fn check(pod: &Pod<'_>, minor: u64) -> Option<Violation> {
    let is_safe = |name: &str| {
        SAFE.iter()
            .any(|(since, safe)| *safe == name && *since <= minor)
    };
    let set = pod.security_context()["sysctls"].items().iter();
    let bad: Vec<&str> = set.map(name).filter(|name| !is_safe(name)).collect();
    (!bad.is_empty()).then(|| Violation::new("forbidden sysctls", bad.join(", ")))
}
