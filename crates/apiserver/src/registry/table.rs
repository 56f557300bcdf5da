//! The tables that `kubectl get` shows.

use serde_json::Value;

use crate::respond::Fields;

/// The columns of `kubectl get`.
///
/// ```
/// use kubewright_apiserver::registry::Table;
/// use serde_json::{Value, json};
///
/// struct Comets;
///
/// impl Table for Comets {
///     fn columns(&self) -> Value {
///         json!([{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}])
///     }
///
///     fn cells(&self, comet: &Value) -> Vec<Value> {
///         vec![comet["metadata"]["name"].clone()]
///     }
/// }
///
/// assert_eq!(Comets.cells(&json!({"metadata": {"name": "halley"}})), ["halley"]);
/// ```
pub trait Table: Send + Sync {
    /// Returns the column definitions in the form of the API.
    fn columns(&self) -> Value;

    /// Returns the fields that the columns and conditions need, so that nothing else is decoded. `None`, the default, is every
    /// field except the managed fields.
    fn fields(&self) -> Option<Fields> {
        None
    }

    /// Returns the cells of an object, in the order of the columns.
    fn cells(&self, object: &Value) -> Vec<Value>;

    /// Returns the conditions of the row, which clients use to grey it out.
    fn conditions(&self, _object: &Value) -> Option<Value> {
        None
    }

    /// Returns the order of the rows, if it differs from that of the list. Sorting needs all objects in memory.
    fn order(&self) -> Option<RowOrder> {
        None
    }
}

/// Compares two objects by their position in a table.
pub type RowOrder = fn(&Value, &Value) -> std::cmp::Ordering;
