//! [`Rows`]: the table that `kubectl get` prints, built from typed objects.

use std::{marker::PhantomData, sync::Arc};

use kubewright_apiserver::registry::Table;
use serde_json::{Value, json};

use crate::storage::ServedKind;

/// A column of a table.
///
/// ```
/// use kubewright_extension_apiserver::Column;
///
/// let column = Column::new("Moons", "integer").description("Number of moons.").wide();
/// # let _ = column;
/// ```
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    ty: String,
    format: &'static str,
    description: String,
    priority: i32,
}

impl Column {
    /// Returns a column with an OpenAPI type: `string`, `integer`, `number`, `boolean` or `date`.
    pub fn new(name: impl Into<String>, ty: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ty: ty.into(),
            format: "",
            description: String::new(),
            priority: 0,
        }
    }

    /// Returns the column of names.
    pub fn name() -> Self {
        Self {
            format: "name",
            ..Self::new("Name", "string").description("The name, unique within the namespace.")
        }
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// Shows the column only with `kubectl get -o wide`.
    #[must_use]
    pub fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }
}

/// The table of a kind, for tables that printer columns cannot express.
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Planet")]
/// # pub struct PlanetSpec { days: u32 }
/// use kube::ResourceExt;
/// use kubewright_extension_apiserver::{Column, Rows};
/// use serde_json::{Value, json};
///
/// struct Years;
///
/// impl Rows<Planet> for Years {
///     fn columns(&self) -> Vec<Column> {
///         vec![Column::name(), Column::new("Year", "string")]
///     }
///
///     fn cells(&self, planet: &Planet) -> Vec<Value> {
///         vec![json!(planet.name_any()), json!(format!("{}d", planet.spec.days))]
///     }
/// }
/// ```
pub trait Rows<K>: Send + Sync + 'static {
    /// Returns the columns.
    fn columns(&self) -> Vec<Column>;

    /// Returns the cells of an object, in the order of the columns.
    fn cells(&self, object: &K) -> Vec<Value>;
}

/// Typed rows as a table of the server.
pub(crate) struct TypedRows<K: 'static> {
    rows: Arc<dyn Rows<K>>,
    columns: Value,
    width: usize,
    kind: PhantomData<fn() -> K>,
}

impl<K: 'static> TypedRows<K> {
    pub(crate) fn new(rows: Arc<dyn Rows<K>>) -> Self {
        let columns = rows.columns();
        let all = columns.iter().map(|column| {
            json!({
                "name": column.name,
                "type": column.ty,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            })
        });
        Self {
            width: columns.len(),
            columns: all.collect(),
            rows,
            kind: PhantomData,
        }
    }
}

impl<K: ServedKind> Table for TypedRows<K> {
    fn columns(&self) -> Value {
        self.columns.clone()
    }

    fn cells(&self, object: &Value) -> Vec<Value> {
        let mut cells = match serde_json::from_value::<K>(object.clone()) {
            Ok(object) => self.rows.cells(&object),
            Err(_) => vec![object["metadata"]["name"].clone()],
        };
        // A row must have as many cells as the table has columns.
        cells.resize(self.width, Value::Null);
        cells
    }
}
