//! [`Printed`]: the columns of the built-in kinds.

use kubewright_catalog::printers::{self, PrintOptions, Printer};
use serde_json::{Value, json};

use super::table::{RowOrder, Table};
use crate::{clock::SharedClock, respond::Fields};

/// The columns that kubectl shows of a built-in kind.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::{SystemClock, registry::{Printed, Table}};
/// use serde_json::json;
///
/// let scales = Printed::new("autoscaling", "Scale", Arc::new(SystemClock));
/// assert_eq!(scales.cells(&json!({"metadata": {"name": "web"}}))[0], "web");
/// ```
pub struct Printed {
    printer: &'static Printer,
    clock: SharedClock,
}

impl Printed {
    /// Returns the columns of a kind: name and age if it has no printer.
    pub fn new(group: &str, kind: &str, clock: SharedClock) -> Self {
        Self {
            printer: printers::printer(group, kind).unwrap_or(&printers::DEFAULT),
            clock,
        }
    }
}

impl Table for Printed {
    fn columns(&self) -> Value {
        let columns = self.printer.columns.iter().map(|column| {
            json!({
                "name": column.name,
                "type": column.ty,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            })
        });
        columns.collect()
    }

    fn fields(&self) -> Option<Fields> {
        let fields = self.printer.fields?;
        Some(Fields::new(fields.iter().copied()))
    }

    fn cells(&self, object: &Value) -> Vec<Value> {
        let options = PrintOptions {
            now_unix_seconds: self.clock.now().as_second(),
        };
        (self.printer.cells)(object, &options)
    }

    fn conditions(&self, object: &Value) -> Option<Value> {
        let condition = self.printer.row_condition?(object)?;
        Some(json!([{
            "type": condition.ty,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
        }]))
    }

    fn order(&self) -> Option<RowOrder> {
        self.printer.list_order
    }
}
