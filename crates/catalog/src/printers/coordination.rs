//! Printers of the `coordination.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, text};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "Lease" => &LEASE,
        "LeaseCandidate" => &LEASE_CANDIDATE,
        _ => return None,
    })
}

static LEASE: Printer = Printer::new(&[NAME, text("Holder", "Who holds the lease."), AGE], lease);

static LEASE_CANDIDATE: Printer = Printer::new(
    &[
        NAME,
        text("LeaseName", "The lease the candidate would hold."),
        text("BinaryVersion", "The version of the candidate's program."),
        text(
            "EmulationVersion",
            "The version the candidate behaves like.",
        ),
        AGE,
    ],
    lease_candidate,
);

fn lease(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        object["spec"]["holderIdentity"].text(),
        age::of(object, options)
    ]
}

fn lease_candidate(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    row![
        fields::name(object),
        spec["leaseName"].text(),
        spec["binaryVersion"].text(),
        spec["emulationVersion"].text(),
        age::of(object, options),
    ]
}
