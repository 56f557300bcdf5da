//! The schema of an object's type, as far as this crate needs it.
//!
//! Field ownership and apply depend on which maps and lists are one value and which merge by entry, and on the keys of
//! list items. The caller has that knowledge in tables; [`Schema`] is the small trait through which this
//! crate reads them. A schema value is a cheap handle to the type of one value, such as a reference into a table.
//!
//! It says nothing of validity beyond the JSON type, and nothing of defaults beyond those of list keys.

use serde_json::Value;

/// A handle to the type of a value.
///
/// ```
/// use kubewright_merge::schema::{Scalar, Schema, Shape};
/// use kubewright_merge::typed::{Duplicates, validate};
/// use serde_json::{Value, json};
///
/// /// An object with one field, `colour`.
/// #[derive(Clone, Copy)]
/// enum Widget {
///     Object,
///     Colour,
/// }
///
/// impl Schema for Widget {
///     fn shape(&self) -> Shape<Self> {
///         match self {
///             Widget::Object => Shape::Struct { atomic: false, element: None },
///             Widget::Colour => Shape::Scalar(Scalar::String),
///         }
///     }
///
///     fn field(&self, name: &str) -> Option<Self> {
///         (name == "colour").then_some(Widget::Colour)
///     }
///
///     fn key(&self, _: usize) -> Option<&str> {
///         None
///     }
///
///     fn key_default(&self, _: &str) -> Option<Value> {
///         None
///     }
/// }
///
/// assert!(validate(Widget::Object, &json!({"colour": "red"}), Duplicates::Refused).is_ok());
/// assert!(validate(Widget::Object, &json!({"colour": 5}), Duplicates::Refused).is_err());
/// assert!(validate(Widget::Object, &json!({"size": 1}), Duplicates::Refused).is_err());
/// ```
pub trait Schema: Copy {
    /// Returns the kind of value, and the way it merges.
    fn shape(&self) -> Shape<Self>;

    /// The field of that name. Asked of [`Shape::Struct`].
    fn field(&self, name: &str) -> Option<Self>;

    /// The name of the `index`th key field, or none after the last. Asked of a [`Shape::List`] that merges by key.
    fn key(&self, index: usize) -> Option<&str>;

    /// The value that stands in for a key field which an item leaves out, such as `"TCP"` for `protocol`. Asked of a
    /// [`Shape::List`] that merges by key.
    fn key_default(&self, key: &str) -> Option<Value>;

    /// Reports whether values of the type come from a decoder that enforces it, so that they need no check.
    fn is_enforced(&self) -> bool {
        false
    }
}

/// The kind of a value, and how it merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape<S> {
    /// A number, string or boolean.
    Scalar(Scalar),
    /// An object with named fields.
    Struct {
        /// The object is one value.
        atomic: bool,
        /// The type of fields that are not listed by name; `None` if they are not allowed.
        element: Option<S>,
    },
    /// An object whose keys are data.
    Map {
        /// The object is one value.
        atomic: bool,
        /// The type of its entries.
        item: S,
    },
    /// A list.
    List {
        /// The way the field merges.
        merge: ListMerge,
        /// The type of its items.
        item: S,
    },
    /// Anything, as one value.
    Untyped,
    /// Anything: objects merge by entry, lists are one value. The type of objects without a schema.
    Deduced,
}

/// The JSON type of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// A number.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of these, such as a number or a percentage.
    Any,
}

/// The way a list merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListMerge {
    /// The list is one value.
    Atomic,
    /// The list is a set of scalars.
    Set,
    /// The list is a map: items with the same key fields are the same item.
    Map,
}

/// The schema of objects that have none: [`Shape::Deduced`] all the way down.
///
/// ```
/// use kubewright_merge::{schema::Deduced, typed};
/// use serde_json::json;
///
/// let live = json!({"labels": {"a": "1"}, "ports": [80]});
/// let config = json!({"labels": {"b": "2"}, "ports": [443]});
/// let merged = typed::merge(Deduced, &live, &config)?;
/// assert_eq!(merged, json!({"labels": {"a": "1", "b": "2"}, "ports": [443]}));
/// # Ok::<(), typed::Problems>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deduced;

impl Schema for Deduced {
    fn shape(&self) -> Shape<Self> {
        Shape::Deduced
    }

    fn field(&self, _: &str) -> Option<Self> {
        None
    }

    fn key(&self, _: usize) -> Option<&str> {
        None
    }

    fn key_default(&self, _: &str) -> Option<Value> {
        None
    }
}
