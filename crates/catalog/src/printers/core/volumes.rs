//! Printers of persistent volumes and the claims on them.

use kubewright_machinery::json::Read;
use serde_json::Value;

use crate::printers::columns::{AGE, NAME, text};
use crate::printers::text::quantity;
use crate::printers::{Column, PrintOptions, Printer, age, fields, row};

pub(super) static PERSISTENT_VOLUME: Printer = Printer::new(
    &[
        NAME,
        text("Capacity", "How much the volume holds."),
        text(
            "Access Modes",
            "The ways in which the volume can be mounted.",
        ),
        text(
            "Reclaim Policy",
            "What becomes of the volume when its claim is gone.",
        ),
        text(
            "Status",
            "Whether the volume is available, bound to a claim or released by it.",
        ),
        text("Claim", "The claim the volume is bound to."),
        STORAGE_CLASS,
        VOLUME_ATTRIBUTES_CLASS,
        text("Reason", "One word for why the volume is in its state."),
        AGE,
        VOLUME_MODE,
    ],
    persistent_volume,
);

pub(super) static PERSISTENT_VOLUME_CLAIM: Printer = Printer::new(
    &[
        NAME,
        text(
            "Status",
            "Whether the claim is pending, bound to a volume or lost.",
        ),
        text("Volume", "The volume the claim is bound to."),
        text("Capacity", "How much the volume holds."),
        text(
            "Access Modes",
            "The ways in which the volume can be mounted.",
        ),
        STORAGE_CLASS,
        VOLUME_ATTRIBUTES_CLASS,
        AGE,
        VOLUME_MODE,
    ],
    persistent_volume_claim,
);

const STORAGE_CLASS: Column = text("StorageClass", "The storage class of the volume.");
const VOLUME_ATTRIBUTES_CLASS: Column = text(
    "VolumeAttributesClass",
    "The volume attributes class of the volume.",
);
const VOLUME_MODE: Column = text(
    "VolumeMode",
    "Whether the volume is a file system or a raw block device.",
)
.wide();

fn persistent_volume(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let claim = &spec["claimRef"];
    let claim = if claim.is_object() {
        format!("{}/{}", claim["namespace"].text(), claim["name"].text())
    } else {
        String::new()
    };
    row![
        fields::name(object),
        quantity(&spec["capacity"]["storage"]),
        access_modes(&spec["accessModes"]),
        spec["persistentVolumeReclaimPolicy"].text(),
        phase(object),
        claim,
        storage_class(object),
        or_unset(&spec["volumeAttributesClassName"]),
        status["reason"].text(),
        age::of(object, options),
        or_unset(&spec["volumeMode"]),
    ]
}

fn persistent_volume_claim(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let volume = spec["volumeName"].text();
    let (capacity, modes) = match volume {
        "" => (String::new(), String::new()),
        _ => (
            quantity(&status["capacity"]["storage"]),
            access_modes(&status["accessModes"]),
        ),
    };
    row![
        fields::name(object),
        phase(object),
        volume,
        capacity,
        modes,
        storage_class(object),
        or_unset(&spec["volumeAttributesClassName"]),
        age::of(object, options),
        or_unset(&spec["volumeMode"]),
    ]
}

fn access_modes(modes: &Value) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes: Vec<&str> = SHORT
        .into_iter()
        .filter(|(mode, _)| modes.texts().any(|each| each == *mode))
        .map(|(_, short)| short)
        .collect();
    modes.join(",")
}

fn phase(object: &Value) -> &str {
    if fields::is_deleting(object) {
        "Terminating"
    } else {
        object["status"]["phase"].text()
    }
}

fn storage_class(object: &Value) -> &str {
    fields::annotation(object, "volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| object["spec"]["storageClassName"].text())
}

fn or_unset(field: &Value) -> &str {
    field.as_str().unwrap_or("<unset>")
}
