//! Structural schemas: the compiled schemas of a CustomResourceDefinition, and their use in the server.
//!
//! A `JSONSchemaProps` document is checked ([`check_structural`]) and compiled ([`Structural::compile`]) once, when the
//! definition is written. Objects then pass through it on every write, in this order:
//!
//! | step | module |
//! |---|---|
//! | metadata is decoded by its type, unknown fields go, embedded objects are coerced | [`coerce`] |
//! | unknown fields are dropped and reported | [`prune`] |
//! | `null` goes where it is not allowed; missing values get their defaults | [`default`] |
//! | values are validated | [`validate`], [`embedded`], [`list_types`], [`rules`]; all of them on a whole object: [`object`] |
//!
//! Invariant: a schema nests no deeper than the document it came from, which is bounded by
//! [`DOCUMENT_DEPTH`](kubewright_machinery::limits::DOCUMENT_DEPTH), so every walk here is bounded too.

pub mod coerce;
mod compile;
mod complete;
pub mod default;
pub mod embedded;
pub mod field_path;
mod formats;
mod invariants;
pub mod list_types;
mod model;
pub mod nested;
pub mod object;
mod pattern;
pub mod prune;
pub mod rules;
pub mod validate;

pub use compile::CompileError;
pub use formats::is_recognized_format;
pub use invariants::check_structural;
pub use model::{Additional, Checks, Kind, ListType, Structural};
pub use pattern::Pattern;

#[cfg(test)]
mod tests;
