//! Printers of the `apps` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, CONTAINERS, IMAGES, NAME, SELECTOR, integer, text};
use super::text::{containers, labels, selector, selector_string};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "ControllerRevision" => &CONTROLLER_REVISION,
        "DaemonSet" => &DAEMON_SET,
        "Deployment" => &DEPLOYMENT,
        "ReplicaSet" => &REPLICA_SET,
        "StatefulSet" => &STATEFUL_SET,
        _ => return None,
    })
}

static CONTROLLER_REVISION: Printer = Printer::new(
    &[
        NAME,
        text("Controller", "The object this is a revision of."),
        text("Revision", "The number of the revision."),
        AGE,
    ],
    controller_revision,
);

static DAEMON_SET: Printer = Printer::new(
    &[
        NAME,
        integer("Desired", "How many nodes should run the pod."),
        integer("Current", "How many of those nodes run the pod."),
        integer("Ready", "How many nodes run a pod that is ready."),
        integer(
            "Up-to-date",
            "How many nodes run a pod made from the current template.",
        ),
        integer(
            "Available",
            "How many nodes run a pod that has been ready for long enough.",
        ),
        text(
            "Node Selector",
            "The labels of the nodes that should run the pod.",
        ),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    daemon_set,
)
.reading(&[
    "metadata.name",
    "metadata.creationTimestamp",
    "spec.selector",
    "spec.template.spec.nodeSelector",
    "spec.template.spec.containers.name",
    "spec.template.spec.containers.image",
    "status",
]);

static DEPLOYMENT: Printer = Printer::new(
    &[
        NAME,
        text("Ready", "How many replicas are ready, of how many wanted."),
        text(
            "Up-to-date",
            "How many replicas are made from the current template.",
        ),
        text(
            "Available",
            "How many replicas have been ready for long enough.",
        ),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    deployment,
)
.reading(&[
    "metadata.name",
    "metadata.creationTimestamp",
    "spec.replicas",
    "spec.selector",
    "spec.template.spec.containers.name",
    "spec.template.spec.containers.image",
    "status.readyReplicas",
    "status.updatedReplicas",
    "status.availableReplicas",
]);

static REPLICA_SET: Printer = Printer::new(
    &[
        NAME,
        integer("Desired", "How many replicas are wanted."),
        integer("Current", "How many replicas there are."),
        integer("Ready", "How many replicas are ready."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    replica_set,
)
.reading(&[
    "metadata.name",
    "metadata.creationTimestamp",
    "spec.replicas",
    "spec.selector",
    "spec.template.spec.containers.name",
    "spec.template.spec.containers.image",
    "status.replicas",
    "status.readyReplicas",
]);

static STATEFUL_SET: Printer = Printer::new(
    &[
        NAME,
        text("Ready", "How many replicas are ready, of how many wanted."),
        AGE,
        CONTAINERS,
        IMAGES,
    ],
    stateful_set,
)
.reading(&[
    "metadata.name",
    "metadata.creationTimestamp",
    "spec.replicas",
    "spec.template.spec.containers.name",
    "spec.template.spec.containers.image",
    "status.readyReplicas",
]);

fn controller_revision(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        controller(object),
        object["revision"].int(),
        age::of(object, options),
    ]
}

fn controller(object: &Value) -> String {
    let owners = object["metadata"]["ownerReferences"].items();
    let Some(owner) = owners.iter().find(|owner| owner["controller"].flag()) else {
        return "<none>".to_owned();
    };
    let kind = match owner["apiVersion"].text().split_once('/') {
        Some((group, _)) if !group.is_empty() => {
            format!("{}.{group}", owner["kind"].text())
        }
        _ => owner["kind"].text().to_owned(),
    };
    match (kind.to_lowercase().as_str(), owner["name"].text()) {
        ("", name) => name.to_owned(),
        (kind, name) => format!("{kind}/{name}"),
    }
}

fn daemon_set(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let pod = &spec["template"]["spec"];
    let (names, images) = containers(&pod["containers"]);
    row![
        fields::name(object),
        status["desiredNumberScheduled"].int(),
        status["currentNumberScheduled"].int(),
        status["numberReady"].int(),
        status["updatedNumberScheduled"].int(),
        status["numberAvailable"].int(),
        labels(&pod["nodeSelector"]),
        age::of(object, options),
        names,
        images,
        selector(&spec["selector"]),
    ]
}

fn deployment(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]["spec"]["containers"]);
    row![
        fields::name(object),
        ready_of_wanted(object),
        status["updatedReplicas"].int(),
        status["availableReplicas"].int(),
        age::of(object, options),
        names,
        images,
        selector_string(&spec["selector"]).unwrap_or_else(|| "<invalid>".to_owned()),
    ]
}

fn replica_set(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]["spec"]["containers"]);
    row![
        fields::name(object),
        spec["replicas"].int(),
        status["replicas"].int(),
        status["readyReplicas"].int(),
        age::of(object, options),
        names,
        images,
        selector(&spec["selector"]),
    ]
}

fn stateful_set(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (names, images) = containers(&object["spec"]["template"]["spec"]["containers"]);
    row![
        fields::name(object),
        ready_of_wanted(object),
        age::of(object, options),
        names,
        images
    ]
}

fn ready_of_wanted(object: &Value) -> String {
    let ready = object["status"]["readyReplicas"].int();
    format!("{ready}/{}", object["spec"]["replicas"].int())
}
