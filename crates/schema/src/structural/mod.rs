//! Structural schemas: the compiled schemas of a CustomResourceDefinition, and their use in the server.
//!
//! A `JSONSchemaProps` document is checked ([`check_structural`]) and compiled ([`Structural::compile`]) once, when the
//! CustomResourceDefinition is written. Objects then go through these steps on every write:
//!
//! | step | module |
//! |---|---|
//! | metadata is decoded by its type, unknown fields go, embedded objects are coerced | `coerce` |
//! | unknown fields are dropped and reported | `prune` |
//! | `null` goes where it is not allowed; missing values get their defaults | `default` |
//! | values are validated | `validate`, `embedded`, `list_types`, `rules`; all of them on a whole object: `object` |
//!
//! Invariant: a schema nests no deeper than the document it came from, which is bounded by
//! [`DOCUMENT_DEPTH`](kubewright_machinery::limits::DOCUMENT_DEPTH), so every walk here is bounded too.
//!
//! ```
//! use kubewright_machinery::field::Path;
//! use kubewright_schema::structural::{Structural, apply_defaults, prune, validate};
//! use serde_json::json;
//!
//! let schema = Structural::compile(&json!({"type": "object", "properties": {
//!     "spec": {"type": "object", "properties": {
//!         "replicas": {"type": "integer", "default": 1, "maximum": 5},
//!     }},
//! }}))?;
//!
//! let mut object = json!({"spec": {"typo": true}});
//! prune(&mut object, &schema, None);
//! apply_defaults(&mut object, &schema)?;
//! assert_eq!(object, json!({"spec": {"replicas": 1}}));
//!
//! let errors = validate(&json!({"spec": {"replicas": 9}}), &schema, &Path::root());
//! assert_eq!(errors[0].field, "spec.replicas");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod coerce;
mod compile;
mod complete;
mod default;
mod embedded;
mod field_path;
mod formats;
mod invariants;
mod list_types;
mod model;
mod nested;
mod object;
mod pattern;
mod prune;
mod rules;
mod validate;

pub use coerce::{
    ConformOptions, coerce_value, conform, conform_metadata, decode_object_meta, refresh,
};
pub use compile::CompileError;
pub use default::{DefaultsTooLarge, apply_defaults, prune_nulls};
pub use embedded::validate_embedded;
pub use field_path::{FieldPathError, PathSyntax, find_field};
pub use formats::is_recognized_format;
pub use invariants::check_structural;
pub use list_types::validate_list_types;
pub use model::{Additional, Checks, Kind, ListType, Structural};
pub use nested::{nested_i64, nested_str};
pub use object::{
    ObjectRules, ScalePaths, StatusWrites, ValidationResult, default_status, prepare_for_create,
    prepare_for_status_update, prepare_for_update,
};
pub use pattern::Pattern;
pub use prune::{prune, prune_value};
pub use rules::{compile_rules, declared_schema, property_type};
pub use validate::{Old, validate, validate_update};

#[cfg(test)]
mod tests;
