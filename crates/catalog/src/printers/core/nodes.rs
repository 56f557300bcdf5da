//! Printers of nodes and of component statuses.

use kubewright_machinery::json::Read;
use std::collections::BTreeSet;

use serde_json::Value;

use crate::printers::columns::{AGE, NAME, text};
use crate::printers::text::or_none;
use crate::printers::{PrintOptions, Printer, age, fields, row};

pub(super) static COMPONENT_STATUS: Printer = Printer::new(
    &[
        NAME,
        text("Status", "Whether the component is healthy."),
        text("Message", "What the health check answered."),
        text("Error", "Why the health check failed."),
    ],
    component_status,
);

pub(super) static NODE: Printer = Printer::new(
    &[
        NAME,
        text(
            "Status",
            "Whether the node is ready, and whether it takes new pods.",
        ),
        text("Roles", "The roles of the node, from its labels."),
        AGE,
        text("Version", "The version of the node's kubelet."),
        text("Internal-IP", "The first internal address of the node.").wide(),
        text("External-IP", "The first external address of the node.").wide(),
        text("OS-Image", "The operating system the node runs.").wide(),
        text(
            "Kernel-Version",
            "The kernel the node runs, and its architecture.",
        )
        .wide(),
        text(
            "Container-Runtime",
            "The container runtime of the node and its version.",
        )
        .wide(),
    ],
    node,
);

fn component_status(object: &Value, _: &PrintOptions) -> Vec<Value> {
    let Some(healthy) = fields::condition(&object["conditions"], "Healthy") else {
        return row![fields::name(object), "Unknown", "", ""];
    };
    let status = if healthy["status"].text() == "True" {
        "Healthy"
    } else {
        "Unhealthy"
    };
    row![
        fields::name(object),
        status,
        healthy["message"].text(),
        healthy["error"].text(),
    ]
}

fn node(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let info = &object["status"]["nodeInfo"];
    let kernel = info["kernelVersion"].text_or("<unknown>");
    let kernel = match info["architecture"].text() {
        "" => kernel.to_owned(),
        architecture => format!("{kernel} ({architecture})"),
    };
    row![
        fields::name(object),
        status(object),
        roles(object),
        age::of(object, options),
        info["kubeletVersion"].text(),
        address(object, "InternalIP"),
        address(object, "ExternalIP"),
        info["osImage"].text_or("<unknown>"),
        kernel,
        info["containerRuntimeVersion"].text_or("<unknown>"),
    ]
}

fn status(node: &Value) -> String {
    let is_ready = |condition: &&Value| condition["type"].text() == "Ready";
    let ready = node["status"]["conditions"].items().iter().rfind(is_ready);
    let mut status = match ready.map(|ready| ready["status"].text()) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if node["spec"]["unschedulable"].flag() {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(node: &Value) -> String {
    let roles: BTreeSet<&str> = fields::text_entries(&node["metadata"]["labels"])
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role),
                None => (key == "kubernetes.io/role").then_some(value),
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    or_none(roles.into_iter().collect::<Vec<_>>().join(","))
}

fn address<'a>(node: &'a Value, ty: &str) -> &'a str {
    node["status"]["addresses"]
        .items()
        .iter()
        .find(|address| address["type"].text() == ty)
        .map_or("<none>", |address| address["address"].text())
}
