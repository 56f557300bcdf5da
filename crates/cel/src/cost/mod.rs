//! The cost of an expression: estimated before it runs, and counted while it runs.
//!
//! Costs are those of the reference implementation to the unit, since they decide which CRDs are accepted: a unit for a
//! name or a selection, a tenth of a unit per character for reading strings, the product of both for nested loops.
//!
//! | file | contents |
//! |---|---|
//! | `ranges` | ranges of sizes and costs |
//! | `estimate` | the walk over the tree |
//! | `calls`, `library` | functions of the language, functions of Kubernetes |
//! | `runtime` | the counter |

mod calls;
mod estimate;
mod library;
mod ranges;
pub(crate) mod runtime;

pub use ranges::{CostEstimate, SizeEstimate};

pub(crate) use estimate::estimate;

/// The cost of reading a character.
pub(crate) const STRING_FACTOR: f64 = 0.1;
/// The cost of a character of a pattern, as a factor of the cost of reading the text.
pub(crate) const REGEX_FACTOR: f64 = 0.25;
/// The cost of creating a list.
pub(crate) const LIST_COST: u64 = 10;
/// The cost of creating a map.
pub(crate) const MAP_COST: u64 = 30;
/// The cost of creating a message.
pub(crate) const MESSAGE_COST: u64 = 40;
/// The cost of an authorization check, which allows two of them in an expression.
pub(crate) const CHECK_COST: u64 = 350_000;
