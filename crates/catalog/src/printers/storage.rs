//! Printers of the `storage.k8s.io` group. Storage capacities print as the default.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, boolean, integer, text};
use super::text::or_none;
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "CSIDriver" => &CSI_DRIVER,
        "CSINode" => &CSI_NODE,
        "StorageClass" => &STORAGE_CLASS,
        "VolumeAttachment" => &VOLUME_ATTACHMENT,
        "VolumeAttributesClass" => &VOLUME_ATTRIBUTES_CLASS,
        _ => return None,
    })
}

static CSI_DRIVER: Printer = Printer::new(
    &[
        NAME,
        boolean(
            "AttachRequired",
            "Whether volumes are attached to a node before mounting.",
        ),
        boolean(
            "PodInfoOnMount",
            "Whether the driver receives information about the pod when mounting.",
        ),
        boolean(
            "StorageCapacity",
            "Whether pods are scheduled by the capacity the driver reports.",
        ),
        text(
            "TokenRequests",
            "The audiences of the tokens the driver gets when mounting.",
        ),
        boolean(
            "RequiresRepublish",
            "Whether the driver is called again from time to time.",
        ),
        text("Modes", "The kinds of volumes the driver supports."),
        AGE,
    ],
    csi_driver,
);

static CSI_NODE: Printer = Printer::new(
    &[
        NAME,
        integer("Drivers", "How many drivers are installed on the node."),
        AGE,
    ],
    csi_node,
);

static STORAGE_CLASS: Printer = Printer::new(
    &[
        NAME,
        text("Provisioner", "Who makes volumes of the class."),
        text(
            "ReclaimPolicy",
            "What becomes of a volume when its claim is gone.",
        ),
        text(
            "VolumeBindingMode",
            "Whether claims are bound at once or when first used.",
        ),
        text(
            "AllowVolumeExpansion",
            "Whether volumes of the class can grow.",
        ),
        AGE,
    ],
    storage_class,
);

static VOLUME_ATTACHMENT: Printer = Printer::new(
    &[
        NAME,
        text("Attacher", "The driver that attaches the volume.").named(),
        text("PV", "The persistent volume to attach."),
        text("Node", "The node to attach the volume to."),
        boolean("Attached", "Whether the volume is attached."),
        AGE,
    ],
    volume_attachment,
);

static VOLUME_ATTRIBUTES_CLASS: Printer = Printer::new(
    &[
        NAME,
        text("DriverName", "The driver that understands the attributes."),
        AGE,
    ],
    volume_attributes_class,
);

fn csi_driver(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let audiences: Vec<&str> = spec["tokenRequests"]
        .items()
        .iter()
        .map(|request| request["audience"].text())
        .collect();
    let tokens = if audiences.is_empty() {
        "<unset>".to_owned()
    } else {
        audiences.join(",")
    };
    let modes = spec["volumeLifecycleModes"]
        .texts()
        .collect::<Vec<_>>()
        .join(",");
    row![
        fields::name(object),
        spec["attachRequired"].as_bool().unwrap_or(true),
        spec["podInfoOnMount"].flag(),
        spec["storageCapacity"].flag(),
        tokens,
        spec["requiresRepublish"].flag(),
        or_none(modes),
        age::of(object, options),
    ]
}

fn csi_node(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        fields::count(&object["spec"]["drivers"]),
        age::of(object, options)
    ]
}

fn storage_class(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let is_default = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ]
    .into_iter()
    .any(|key| fields::annotation(object, key) == Some("true"));
    let name = fields::name(object);
    let name = if is_default {
        format!("{name} (default)")
    } else {
        name.to_owned()
    };
    row![
        name,
        object["provisioner"].text(),
        object["reclaimPolicy"].as_str().unwrap_or("Delete"),
        object["volumeBindingMode"].as_str().unwrap_or("Immediate"),
        object["allowVolumeExpansion"].flag(),
        age::of(object, options),
    ]
}

fn volume_attachment(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    row![
        fields::name(object),
        spec["attacher"].text(),
        spec["source"]["persistentVolumeName"].text(),
        spec["nodeName"].text(),
        object["status"]["attached"].flag(),
        age::of(object, options),
    ]
}

fn volume_attributes_class(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        object["driverName"].text(),
        age::of(object, options)
    ]
}
