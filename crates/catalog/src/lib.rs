//! Facts about the built-in kinds of Kubernetes: resources, verbs, columns, and the shape of every type.

pub mod resource;
pub mod types;
