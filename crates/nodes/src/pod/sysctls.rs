//! Kernel parameters of pods, and those that a kubelet allows.

use std::collections::BTreeMap;

use kubewright_scheduler::PodRejection;
use serde::Deserialize;

use super::plan::Plan;

/// The parameters that are safe to set, with the values of a new pod.
const SAFE: [(&str, &str); 12] = [
    ("kernel.shm_rmid_forced", "0"),
    ("net.ipv4.ip_local_port_range", "32768\t60999"),
    ("net.ipv4.ip_local_reserved_ports", ""),
    ("net.ipv4.ip_unprivileged_port_start", "0"),
    ("net.ipv4.ping_group_range", "0\t2147483647"),
    ("net.ipv4.tcp_fin_timeout", "60"),
    ("net.ipv4.tcp_keepalive_intvl", "75"),
    ("net.ipv4.tcp_keepalive_probes", "9"),
    ("net.ipv4.tcp_keepalive_time", "7200"),
    ("net.ipv4.tcp_rmem", "4096\t131072\t6291456"),
    ("net.ipv4.tcp_syncookies", "1"),
    ("net.ipv4.tcp_wmem", "4096\t16384\t4194304"),
];

/// A kernel parameter that a pod sets.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Sysctl {
    name: String,
    value: String,
}

impl Plan {
    /// Returns the files of kernel parameters: paths and texts.
    pub(crate) fn sysctl_files(&self) -> impl Iterator<Item = (String, String)> {
        let mut values: BTreeMap<String, &str> = SAFE
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect();
        for Sysctl { name, value } in self.sysctls() {
            values.insert(normalized(name), value);
        }
        let files = values.into_iter();
        files.map(|(name, value)| (path(&name), format!("{value}\n")))
    }

    /// Returns the reason to reject the pod if it sets a parameter that its node does not allow.
    pub(crate) fn forbidden_sysctl(&self) -> Option<PodRejection> {
        let message = self.sysctls().iter().find_map(|Sysctl { name, .. }| {
            let name = normalized(name);
            if !SAFE.iter().any(|(safe, _)| *safe == name) {
                return Some(format!("{name:?} not allowlisted"));
            }
            let shared = match name.starts_with("net.") {
                true => self.spec.host_network.then_some("Net"),
                false => self.spec.host_ipc.then_some("IPC"),
            };
            shared.map(|kind| format!("{name:?} not allowed with host {kind} enabled"))
        });
        message.map(|message| PodRejection {
            reason: "SysctlForbidden".to_owned(),
            message: format!("forbidden sysctl: {message}"),
        })
    }
}

/// Returns the name of a parameter with dots as separators. A name whose first separator is a slash has the two swapped.
fn normalized(name: &str) -> String {
    match name.find(['.', '/']) {
        Some(at) if name[at..].starts_with('/') => swapped(name),
        _ => name.to_owned(),
    }
}

/// Returns the path of the file of a parameter.
pub(crate) fn path(name: &str) -> String {
    format!("/proc/sys/{}", swapped(&normalized(name)))
}

fn swapped(name: &str) -> String {
    let swap = |character| match character {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    name.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_parameters_have_dots_or_slashes() {
        for name in ["kernel.shm_rmid_forced", "kernel/shm_rmid_forced"] {
            assert_eq!(path(name), "/proc/sys/kernel/shm_rmid_forced");
        }
        for name in ["net.ipv4.conf.eth0/1.mtu", "net/ipv4/conf/eth0.1/mtu"] {
            assert_eq!(normalized(name), "net.ipv4.conf.eth0/1.mtu");
        }
    }
}
