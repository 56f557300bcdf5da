//! Printers of the `storagemigration.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{NAME, text};
use super::{Column, PrintOptions, Printer, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    (kind == "StorageVersionMigration").then_some(&STORAGE_VERSION_MIGRATION)
}

static STORAGE_VERSION_MIGRATION: Printer = Printer::new(
    &[
        Column { format: "", ..NAME },
        text("Resource", "The resource whose objects are rewritten."),
        text("Status", "Whether the migration runs, failed or succeeded."),
    ],
    storage_version_migration,
);

fn storage_version_migration(object: &Value, _: &PrintOptions) -> Vec<Value> {
    let migrated = &object["spec"]["resource"];
    let resource = migrated["resource"].text();
    let resource = match migrated["group"].text() {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    };
    let status = object["status"]["conditions"]
        .items()
        .iter()
        .filter(|condition| condition["status"].text() == "True")
        .map(|condition| condition["type"].text())
        .rfind(|ty| matches!(*ty, "Running" | "Failed" | "Succeeded"));
    row![fields::name(object), resource, status.unwrap_or("Unknown")]
}
