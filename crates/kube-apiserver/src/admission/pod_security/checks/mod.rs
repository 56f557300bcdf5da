//! The checks of the Pod Security Standards: one file for each field or family of fields.
//!
//! Every file has a function that returns the [`Violation`] of a pod, and a [`Check`] for each level that uses it. A check
//! may have revisions; that of the highest version up to the asked one applies.

mod allow_privilege_escalation;
mod app_armor_profile;
mod capabilities;
mod host_namespaces;
mod host_path_volumes;
mod host_ports;
mod host_probes;
mod privileged;
mod proc_mount;
mod restricted_volumes;
mod run_as_non_root;
mod run_as_user;
mod se_linux_options;
mod seccomp_profile;
mod sysctls;
mod windows_host_process;

use std::fmt;

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::policy::{PodSecurityLevel, PodSecurityVersion, Standard};
use crate::pod_references;

/// The checks of the level `baseline`, sorted by their identifiers: violations are reported in this order.
const BASELINE: [Check; 12] = [
    app_armor_profile::CHECK,
    capabilities::BASELINE,
    host_namespaces::CHECK,
    host_path_volumes::CHECK,
    host_ports::CHECK,
    host_probes::CHECK,
    privileged::CHECK,
    proc_mount::BASELINE,
    se_linux_options::CHECK,
    seccomp_profile::BASELINE,
    sysctls::CHECK,
    windows_host_process::CHECK,
];

/// The checks that `restricted` adds.
const RESTRICTED: [Check; 7] = [
    allow_privilege_escalation::CHECK,
    capabilities::RESTRICTED,
    proc_mount::RESTRICTED,
    restricted_volumes::CHECK,
    run_as_non_root::CHECK,
    run_as_user::CHECK,
    seccomp_profile::RESTRICTED,
];

/// A pod, or the template of pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pod<'a> {
    pub(crate) metadata: &'a Value,
    pub(crate) spec: &'a Value,
}

/// A violation of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    reason: &'static str,
    detail: String,
}

/// The violations of a pod, in the order of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Violations(Vec<Violation>);

/// A check, in one or more revisions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    id: &'static str,
    /// The minor versions at which the revisions begin, ascending.
    revisions: &'static [(u64, Revision)],
    /// The identifier of the weaker check of `baseline` that this one makes superfluous.
    replaces: &'static str,
}

/// Returns the violation of a pod.
type Revision = fn(&Pod<'_>) -> Option<Violation>;

/// Returns the violations of a pod against a standard.
pub(crate) fn evaluate(standard: Standard, pod: &Pod<'_>) -> Violations {
    let restricted: &[Check] = match standard.level {
        PodSecurityLevel::Privileged => return Violations::default(),
        PodSecurityLevel::Baseline => &[],
        PodSecurityLevel::Restricted => &RESTRICTED,
    };
    let minor = match standard.version {
        PodSecurityVersion::Latest => u64::MAX,
        PodSecurityVersion::Minor(minor) => minor,
    };
    let is_replaced = |check: &&Check| {
        restricted
            .iter()
            .any(|strict| strict.replaces == check.id && strict.revision(minor).is_some())
    };
    let baseline = BASELINE.iter().filter(|check| !is_replaced(check));
    let checks = baseline.chain(restricted);
    Violations(
        checks
            .filter_map(|check| check.revision(minor))
            .filter_map(|revision| revision(pod))
            .collect(),
    )
}

impl Check {
    /// Returns the revision that applies at a minor version.
    fn revision(&self, minor: u64) -> Option<Revision> {
        let begun = self.revisions.iter().rev().find(|(from, _)| *from <= minor);
        begun.map(|(_, revision)| *revision)
    }
}

impl<'a> Pod<'a> {
    /// Returns the containers: those that initialize, the others, and the ephemeral ones.
    fn containers(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        pod_references::containers(self.spec)
    }

    /// Returns the names of the containers whose security context is such.
    fn containers_with(&self, is_bad: impl Fn(&Value) -> bool) -> Vec<&'a str> {
        self.containers()
            .filter(|container| is_bad(&container["securityContext"]))
            .map(name)
            .collect()
    }

    fn security_context(&self) -> &'a Value {
        &self.spec["securityContext"]
    }

    /// Reports whether the pod says that it runs on Windows.
    fn is_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Reports whether the pod has a user namespace of its own, in which root has no power over the host.
    fn has_own_users(&self) -> bool {
        self.spec["hostUsers"] == false
    }
}

impl Violation {
    fn new(reason: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { reason, detail }
    }
}

impl Violations {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the reasons without their details.
    pub(crate) fn reasons(&self) -> String {
        let reasons: Vec<&str> = self.0.iter().map(|violation| violation.reason).collect();
        reasons.join(", ")
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Violation { reason, detail }) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            match detail.is_empty() {
                true => write!(f, "{separator}{reason}")?,
                false => write!(f, "{separator}{reason} ({detail})")?,
            }
        }
        Ok(())
    }
}

/// Returns the name of a container or a volume.
fn name(item: &Value) -> &str {
    item["name"].text()
}

/// Returns the names in quotes, which are not escaped: `"a", "b"`.
fn quoted<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let quoted = names
        .into_iter()
        .map(|name| format!("\"{}\"", name.as_ref()));
    quoted.collect::<Vec<_>>().join(", ")
}

/// Returns the form of a word for a number of things.
fn plural(one: &'static str, more: &'static str, count: usize) -> &'static str {
    if count == 1 { one } else { more }
}

/// Returns `container "a"` or `containers "a", "b"`.
fn containers(names: &[&str]) -> String {
    let word = plural("container", "containers", names.len());
    format!("{word} {}", quoted(names))
}

/// Returns the pod and the containers that set a forbidden value, joined by "and"; `None` if none does.
fn setters(pod: bool, bad: &[&str]) -> Option<String> {
    match (pod, bad.is_empty()) {
        (false, true) => None,
        (true, true) => Some("pod".to_owned()),
        (false, false) => Some(containers(bad)),
        (true, false) => Some(format!("pod and {}", containers(bad))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn checks_are_sorted_and_their_revisions_ascend() {
        for checks in [&BASELINE[..], &RESTRICTED] {
            assert!(checks.is_sorted_by(|a, b| a.id < b.id), "{checks:?}");
            for check in checks {
                assert!(check.revisions.is_sorted_by(|a, b| a.0 < b.0), "{check:?}");
            }
        }
        for check in BASELINE {
            assert_eq!(check.replaces, "", "{}", check.id);
        }
        for check in RESTRICTED.iter().filter(|check| !check.replaces.is_empty()) {
            assert!(BASELINE.iter().any(|weak| weak.id == check.replaces));
        }
    }

    #[test]
    fn a_stricter_check_takes_the_place_of_the_weaker_one() {
        let spec = json!({
            "containers": [{"name": "c", "securityContext": {
                "capabilities": {"add": ["SYS_ADMIN"]}, "allowPrivilegeEscalation": false, "runAsNonRoot": true,
            }}],
        });
        let pod = Pod {
            metadata: &Value::Null,
            spec: &spec,
        };
        let reasons = |minor| {
            let standard = Standard {
                level: PodSecurityLevel::Restricted,
                version: PodSecurityVersion::Minor(minor),
            };
            evaluate(standard, &pod).reasons()
        };
        assert_eq!(reasons(18), "non-default capabilities");
        assert_eq!(reasons(21), "non-default capabilities, seccompProfile");
        assert_eq!(reasons(22), "unrestricted capabilities, seccompProfile");
    }
}
