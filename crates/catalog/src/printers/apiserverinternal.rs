//! Printers of the `internal.apiserver.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, text};
use super::text::shortened;
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    (kind == "StorageVersion").then_some(&STORAGE_VERSION)
}

static STORAGE_VERSION: Printer = Printer::new(
    &[
        NAME,
        text(
            "CommonEncodingVersion",
            "The version all servers store, if they agree on one.",
        ),
        text(
            "StorageVersions",
            "The version each server stores, cut short.",
        ),
        AGE,
    ],
    storage_version,
);

fn storage_version(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let status = &object["status"];
    let versions: Vec<String> = status["storageVersions"]
        .items()
        .iter()
        .map(|version| {
            let server = version["apiServerID"].text();
            format!("{server}={}", version["encodingVersion"].text())
        })
        .collect();
    row![
        fields::name(object),
        status["commonEncodingVersion"]
            .as_str()
            .unwrap_or("<unset>"),
        shortened(&versions),
        age::of(object, options),
    ]
}
