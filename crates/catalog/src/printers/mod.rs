//! Prints built-in kinds as rows of a `Table`, as the API server does: the columns of each kind, and a pure function
//! from the object to its cells.
//!
//! One file per API group; each maps a kind to a [`Printer`]. What a kind prints is decided by its group and kind
//! alone: all served versions of a kind print the same cells. Kinds without a special printer (roles, limit
//! ranges, custom resource definitions, ...) print as [`DEFAULT`].
//!
//! | module | contents |
//! |---|---|
//! | `columns` | constructors for column definitions |
//! | `fields` | reading JSON fields, where absent and mistyped fields count as zero values |
//! | `age` | ages and durations for people |
//! | `text` | labels, selectors, containers, quantities and shortened lists as text |
//! | one per API group | the printers |
//!
//! This is not the `Table` itself: row objects, list metadata, `includeObject` and the printer columns of custom
//! resources belong to the server. Printers always fill every column, the wide ones included, because the server
//! sends them all and clients choose by priority. No printer panics on malformed objects.
//!
//! ```
//! use kubewright_catalog::printers::{PrintOptions, printer};
//! use serde_json::json;
//!
//! let namespaces = printer("", "Namespace").expect("namespaces are built in");
//! let object = json!({
//!     "metadata": {"name": "web", "creationTimestamp": "2026-01-01T00:00:00Z"},
//!     "status": {"phase": "Active"},
//! });
//! let five_minutes_later = PrintOptions { now_unix_seconds: 1_767_225_900 };
//! assert_eq!((namespaces.cells)(&object, &five_minutes_later), [json!("web"), json!("Active"), json!("5m")]);
//! ```

mod admissionregistration;
mod age;
mod apiregistration;
mod apiserverinternal;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod columns;
mod coordination;
mod core;
mod discovery;
mod fields;
mod flowcontrol;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;
mod text;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use serde_json::Value;

/// One column of a printed kind, as `columnDefinitions` of a `Table` shows it.
///
/// ```
/// use kubewright_catalog::printers::printer;
///
/// let nodes = printer("", "Node").expect("nodes are built in");
/// let first = nodes.columns[0];
/// assert_eq!((first.name, first.format, first.priority), ("Name", "name", 0));
/// // `kubectl get nodes -o wide` shows more.
/// assert!(nodes.columns.iter().any(|column| column.name == "Internal-IP" && column.priority == 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// The OpenAPI type of the cells: `string`, `integer`, `boolean` or `date`. Cells do not always keep to it.
    pub ty: &'static str,
    /// `name` for columns that identify the object, else empty.
    pub format: &'static str,
    /// The description of the column.
    pub description: &'static str,
    /// The priority: 0 for columns that are always shown, 1 for those of wide output.
    pub priority: u8,
}

/// The inputs of cells besides the object.
#[derive(Clone, Copy, Debug)]
pub struct PrintOptions {
    /// The time to which ages are counted, in seconds since 1970.
    pub now_unix_seconds: i64,
}

/// The printer of a kind.
#[derive(Debug)]
pub struct Printer {
    /// The columns, in order.
    pub columns: &'static [Column],
    /// The cells of one object, in the order of the columns.
    pub cells: fn(&Value, &PrintOptions) -> Vec<Value>,
    /// The condition of an object's row, for kinds that have any: finished pods are marked completed.
    pub row_condition: Option<fn(&Value) -> Option<RowCondition>>,
    /// The fields that cells and condition read, as dotted paths that select everything below them; through a list they
    /// select in each item. A path that ends in `#` selects the keys of a map only. `None` if they are not declared.
    pub fields: Option<&'static [&'static str]>,
    /// The order of rows when a list is printed, for kinds that are not printed in list order (flow schemas).
    pub list_order: Option<fn(&Value, &Value) -> Ordering>,
}

/// A condition of a row; clients use it to set finished objects apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCondition {
    /// The type, `Completed`.
    pub ty: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// One word for the cause.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: &'static str,
}

/// The printer of kinds without a special one: name and time of creation.
pub static DEFAULT: Printer = Printer::new(
    &[
        columns::NAME,
        columns::date("Created At", "When the object was created."),
    ],
    created_at,
)
.reading(&["metadata.name", "metadata.creationTimestamp"]);

/// The printer of a built-in kind, for any served version of it; `None` for kinds that print as [`DEFAULT`].
///
/// The group of core kinds is the empty string. The `autoscaling` kind `Scale`, which only
/// subresources serve, is included.
pub fn printer(group: &str, kind: &str) -> Option<&'static Printer> {
    match group {
        "" => core::printer(kind),
        "admissionregistration.k8s.io" => admissionregistration::printer(kind),
        "apiregistration.k8s.io" => apiregistration::printer(kind),
        "apps" => apps::printer(kind),
        "autoscaling" => autoscaling::printer(kind),
        "batch" => batch::printer(kind),
        "certificates.k8s.io" => certificates::printer(kind),
        "coordination.k8s.io" => coordination::printer(kind),
        "discovery.k8s.io" => discovery::printer(kind),
        "events.k8s.io" => core::events::printer(kind),
        "flowcontrol.apiserver.k8s.io" => flowcontrol::printer(kind),
        "internal.apiserver.k8s.io" => apiserverinternal::printer(kind),
        "networking.k8s.io" => networking::printer(kind),
        "node.k8s.io" => node::printer(kind),
        "policy" => policy::printer(kind),
        "rbac.authorization.k8s.io" => rbac::printer(kind),
        "resource.k8s.io" => resource::printer(kind),
        "scheduling.k8s.io" => scheduling::printer(kind),
        "storage.k8s.io" => storage::printer(kind),
        "storagemigration.k8s.io" => storagemigration::printer(kind),
        _ => None,
    }
}

impl Printer {
    /// A printer without row conditions that keeps the order of lists.
    const fn new(
        columns: &'static [Column],
        cells: fn(&Value, &PrintOptions) -> Vec<Value>,
    ) -> Self {
        Self {
            columns,
            cells,
            row_condition: None,
            fields: None,
            list_order: None,
        }
    }

    /// Declares the fields that the printer reads, so that callers need not decode others.
    const fn reading(self, fields: &'static [&'static str]) -> Self {
        Self {
            fields: Some(fields),
            ..self
        }
    }
}

/// Builds a row from anything that is or becomes a JSON value.
macro_rules! row {
    ($($cell:expr),* $(,)?) => {
        vec![$(serde_json::Value::from($cell)),*]
    };
}
use row;

fn created_at(object: &Value, _: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        age::timestamp(&object["metadata"]["creationTimestamp"])
    ]
}
