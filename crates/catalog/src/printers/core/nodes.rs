//! Printers of nodes and of component statuses.

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
    let status = if fields::text(&healthy["status"]) == "True" {
        "Healthy"
    } else {
        "Unhealthy"
    };
    row![
        fields::name(object),
        status,
        fields::text(&healthy["message"]),
        fields::text(&healthy["error"]),
    ]
}

fn node(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let info = &object["status"]["nodeInfo"];
    let kernel = fields::text_or(&info["kernelVersion"], "<unknown>");
    let kernel = match fields::text(&info["architecture"]) {
        "" => kernel.to_owned(),
        architecture => format!("{kernel} ({architecture})"),
    };
    row![
        fields::name(object),
        status(object),
        roles(object),
        age::of(object, options),
        fields::text(&info["kubeletVersion"]),
        address(object, "InternalIP"),
        address(object, "ExternalIP"),
        fields::text_or(&info["osImage"], "<unknown>"),
        kernel,
        fields::text_or(&info["containerRuntimeVersion"], "<unknown>"),
    ]
}

fn status(node: &Value) -> String {
    let is_ready = |condition: &&Value| fields::text(&condition["type"]) == "Ready";
    let ready = fields::items(&node["status"]["conditions"])
        .iter()
        .rfind(is_ready);
    let mut status = match ready.map(|ready| fields::text(&ready["status"])) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if fields::flag(&node["spec"]["unschedulable"]) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(node: &Value) -> String {
    let roles: BTreeSet<&str> = fields::entries(&node["metadata"]["labels"])
        .into_iter()
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
    fields::items(&node["status"]["addresses"])
        .iter()
        .find(|address| fields::text(&address["type"]) == ty)
        .map_or("<none>", |address| fields::text(&address["address"]))
}
