//! Values and their schema: field sets, comparison, merging.
//!
//! - [`validate`]: checks that a value fits its schema.
//! - [`to_field_set`]: the fields that a value sets.
//! - [`compare`]: which fields were added, modified or removed.
//! - [`merge`]: merges one value into another, by the rules of the schema; [`covers`]: whether that changes nothing.
//! - [`atomics`]: the parts of a value that a merge replaces as a whole.
//! - [`remove_items`] and [`extract_items`]: a value without some fields, or with these alone.
//! - [`reconcile`]: a field set adjusted to a changed schema.
//!
//! All of them only read their input, and none depends on the meaning of an object.

mod adding;
mod atom;
mod atomics;
mod compare;
mod covering;
mod error;
mod field_set;
mod merging;
mod reconciling;
mod removing;
#[cfg(test)]
pub(crate) mod tests;
mod validation;

pub use atomics::atomics;
pub use compare::{Comparison, compare};
pub use covering::covers;
pub use error::{Problem, Problems};
pub use field_set::{to_field_set, to_named_field_set};
pub use merging::merge;
pub use reconciling::reconcile;
pub use removing::{extract_items, remove_items};
pub use validation::{Duplicates, validate};
