//! Probes and lifecycle handlers may only call the pod itself.

use std::collections::BTreeSet;

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::{Check, Pod, Violation, containers, name, plural, quoted};

pub(super) const CHECK: Check = Check {
    id: "hostProbesAndHostLifecycle",
    revisions: &[(34, check)],
    replaces: "",
};

/// The paths to the handlers of a container.
const HANDLERS: [&[&str]; 5] = [
    &["livenessProbe"],
    &["readinessProbe"],
    &["startupProbe"],
    &["lifecycle", "postStart"],
    &["lifecycle", "preStop"],
];

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let bad: BTreeSet<&str> = pod
        .containers()
        .filter(|container| hosts(container).next().is_some())
        .map(name)
        .collect();
    if bad.is_empty() {
        return None;
    }
    let bad: Vec<&str> = bad.into_iter().collect();
    let hosts: BTreeSet<&str> = pod.containers().flat_map(hosts).collect();
    let (one, more) = ("probe or lifecycle host", "probe or lifecycle hosts");
    let detail = format!(
        "{} {} {} {}",
        containers(&bad),
        plural("uses", "use", bad.len()),
        plural(one, more, hosts.len()),
        quoted(hosts)
    );
    Some(Violation::new(one, detail))
}

/// Returns the hosts that the handlers of a container call.
fn hosts(container: &Value) -> impl Iterator<Item = &str> {
    let handlers = HANDLERS
        .iter()
        .map(move |path| path.iter().fold(container, |value, part| &value[*part]));
    let hosts = handlers
        .flat_map(|handler| ["httpGet", "tcpSocket"].map(|action| handler[action]["host"].text()));
    hosts.filter(|host| !host.is_empty())
}
