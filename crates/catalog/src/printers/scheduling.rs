//! Printers of the `scheduling.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, boolean, integer, text};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "PodGroup" => &POD_GROUP,
        "PriorityClass" => &PRIORITY_CLASS,
        "Workload" => &WORKLOAD,
        _ => return None,
    })
}

static POD_GROUP: Printer = Printer::new(
    &[
        NAME,
        text(
            "Policy",
            "Whether the pods of the group are scheduled together or one by one.",
        ),
        text(
            "Workload",
            "The workload whose template the group is made from.",
        ),
        text("Status", "Whether the group is scheduled."),
        AGE,
    ],
    pod_group,
);

static PRIORITY_CLASS: Printer = Printer::new(
    &[
        NAME,
        integer(
            "Value",
            "The priority of pods of the class; higher goes first.",
        ),
        boolean(
            "Global-Default",
            "Whether pods that name no class get this one.",
        ),
        AGE,
        text(
            "PreemptionPolicy",
            "Whether pods of the class may displace others.",
        ),
    ],
    priority_class,
);

static WORKLOAD: Printer = Printer::new(&[NAME, AGE], workload);

fn pod_group(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let policy = if spec["schedulingPolicy"]["gang"].is_object() {
        "Gang"
    } else {
        "Basic"
    };
    let template = &spec["podGroupTemplateRef"];
    let workload = if template.is_object() {
        template["workload"]["workloadName"].text()
    } else {
        "<none>"
    };
    row![
        fields::name(object),
        policy,
        workload,
        pod_group_status(&object["status"]),
        age::of(object, options),
    ]
}

fn pod_group_status(status: &Value) -> &str {
    let last = |ty: &str| {
        status["conditions"]
            .items()
            .iter()
            .rfind(|condition| condition["type"].text() == ty)
    };
    if let Some(disruption) = last("DisruptionTarget") {
        return disruption["reason"].text();
    }
    match last("PodGroupScheduled").map(|scheduled| scheduled["status"].text()) {
        Some("True") => "Scheduled",
        Some(_) => "Unschedulable",
        None => "Pending",
    }
}

fn priority_class(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        object["value"].int(),
        object["globalDefault"].flag(),
        age::of(object, options),
        object["preemptionPolicy"].text(),
    ]
}

fn workload(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![fields::name(object), age::of(object, options)]
}
