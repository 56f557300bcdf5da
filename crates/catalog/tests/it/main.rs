//! The tables hold together: names are unique, references resolve, and known facts are there.

mod field_labels;
mod resources;
mod types;
