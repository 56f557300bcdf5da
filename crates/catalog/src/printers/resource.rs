//! Printers of the `resource.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, integer, text};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "DeviceClass" | "ResourceClaimTemplate" => &NAME_AND_AGE,
        "DeviceTaintRule" => &DEVICE_TAINT_RULE,
        "ResourceClaim" => &RESOURCE_CLAIM,
        "ResourcePoolStatusRequest" => &RESOURCE_POOL_STATUS_REQUEST,
        "ResourceSlice" => &RESOURCE_SLICE,
        _ => return None,
    })
}

static NAME_AND_AGE: Printer = Printer::new(&[NAME, AGE], name_and_age);

static DEVICE_TAINT_RULE: Printer = Printer::new(
    &[
        NAME,
        text("Key", "The key of the taint put on devices."),
        text("Value", "The value of the taint."),
        text(
            "Effect",
            "What the taint does to claims that do not tolerate it.",
        ),
        text("TimeAdded", "How long ago the taint was added."),
        AGE,
    ],
    device_taint_rule,
);

static RESOURCE_CLAIM: Printer = Printer::new(
    &[
        NAME,
        text(
            "State",
            "Whether the claim is pending, allocated, reserved or deleted.",
        ),
        AGE,
    ],
    resource_claim,
);

static RESOURCE_POOL_STATUS_REQUEST: Printer = Printer::new(
    &[
        NAME,
        text("Driver", "The driver whose pools are asked about."),
        text("Total", "How many devices the pools have."),
        text("Available", "How many devices are free."),
        text("Allocated", "How many devices are in use."),
        text("Unavailable", "How many devices cannot be used."),
        text("Errors", "How many pools are not valid."),
        integer("Pools", "How many pools match."),
        text(
            "Status",
            "Whether the request is pending, complete or failed.",
        ),
        text("Completed", "How long ago the request was completed."),
    ],
    resource_pool_status_request,
);

static RESOURCE_SLICE: Printer = Printer::new(
    &[
        NAME,
        text(
            "Node",
            "The node that has the devices, if one node alone does.",
        ),
        text("Driver", "The driver that offers the devices."),
        text("Pool", "The pool the devices belong to."),
        AGE,
    ],
    resource_slice,
);

fn name_and_age(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![fields::name(object), age::of(object, options)]
}

fn device_taint_rule(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let taint = &object["spec"]["taint"];
    let time_added = if taint["timeAdded"].is_string() {
        age::since(&taint["timeAdded"], options)
    } else {
        String::new()
    };
    row![
        fields::name(object),
        taint["key"].text(),
        taint["value"].text(),
        taint["effect"].text(),
        time_added,
        age::of(object, options),
    ]
}

fn resource_claim(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let status = &object["status"];
    let is_allocated = status["allocation"].is_object();
    let is_reserved = is_allocated && !status["reservedFor"].items().is_empty();
    let state = match (fields::is_deleting(object), is_allocated, is_reserved) {
        (false, false, _) => "pending",
        (false, true, false) => "allocated",
        (false, true, true) => "allocated,reserved",
        (true, false, _) => "deleted",
        (true, true, false) => "deleted,allocated",
        (true, true, true) => "deleted,allocated,reserved",
    };
    row![fields::name(object), state, age::of(object, options)]
}

fn resource_pool_status_request(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let status = &object["status"];
    let pools = status["pools"].items();
    let pool_count = status["poolCount"].int();
    let outcome = status["conditions"].items().iter().find(|condition| {
        matches!(condition["type"].text(), "Complete" | "Failed")
            && condition["status"].text() == "True"
    });
    let (word, completed) = match outcome {
        Some(outcome) if outcome["type"].text() == "Failed" => ("Failed".to_owned(), None),
        Some(outcome) => {
            let is_cut_short = pool_count > pools.len() as i64;
            let word = match is_cut_short {
                true => format!("Complete ({}/{pool_count} pools)", pools.len()),
                false => "Complete".to_owned(),
            };
            (
                word,
                Some(age::since(&outcome["lastTransitionTime"], options)),
            )
        }
        None => ("Pending".to_owned(), None),
    };
    let is_counted = status.is_object() && word != "Failed";
    let counted = |count: i64| {
        if is_counted {
            count.to_string()
        } else {
            "-".to_owned()
        }
    };
    let devices = |field: &str| {
        pools
            .iter()
            .fold(0i64, |sum, pool| sum.saturating_add(pool[field].int()))
    };
    let errors = pools
        .iter()
        .filter(|pool| pool["validationError"].is_string())
        .count();
    row![
        fields::name(object),
        object["spec"]["driver"].text(),
        counted(devices("totalDevices")),
        counted(devices("availableDevices")),
        counted(devices("allocatedDevices")),
        counted(devices("unavailableDevices")),
        counted(errors as i64),
        pool_count,
        word,
        completed.unwrap_or_else(|| "<none>".to_owned()),
    ]
}

fn resource_slice(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    row![
        fields::name(object),
        spec["nodeName"].text(),
        spec["driver"].text(),
        spec["pool"]["name"].text(),
        age::of(object, options),
    ]
}
