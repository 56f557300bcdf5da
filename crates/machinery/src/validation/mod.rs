//! The rules that all objects share: names, metadata and label selectors.
//!
//! | module | checks |
//! |---|---|
//! | [`names`] | the formats of names, labels and paths |
//! | `meta` | an object's metadata, on create and on update |
//! | `metadata_fields` | single fields of metadata: labels, annotations, owners, finalizers, managed fields |
//! | `domain_path` | paths that begin with a domain |
//! | `label_selector` | label selectors within specs |
//!
//! All of it works on JSON values that have the right types already; a value of a wrong type counts as not set.

mod domain_path;
mod ip;
mod label_selector;
mod meta;
mod metadata_fields;
pub mod names;
mod owner;
#[cfg(test)]
mod tests;

pub use domain_path::validate_domain_prefixed_path;
pub use label_selector::{
    LabelSelectorOptions, has_invalid_values, validate_label_requirement, validate_label_selector,
};
pub use meta::{IMMUTABLE, validate_object_meta, validate_object_meta_update};
pub use metadata_fields::{
    MAX_ANNOTATIONS, validate_annotations, validate_builtin_finalizers, validate_field_manager,
    validate_finalizers, validate_labels, validate_managed_fields, validate_no_new_finalizers,
    validate_owner_references,
};

/// The part of a name that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameForm {
    /// A whole name.
    Whole,
    /// A `generateName`, to which more is appended.
    Prefix,
}

/// The scope of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Objects have a namespace.
    Namespaced,
    /// Objects have no namespace.
    Cluster,
}

impl From<bool> for Scope {
    /// Returns the scope of a kind by its field `namespaced`, as discovery has it.
    fn from(namespaced: bool) -> Self {
        match namespaced {
            true => Scope::Namespaced,
            false => Scope::Cluster,
        }
    }
}

/// A check of an object's name.
pub type NameCheck = fn(&str, NameForm) -> Vec<String>;
