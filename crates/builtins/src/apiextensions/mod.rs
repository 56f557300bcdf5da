//! The group `apiextensions.k8s.io`: CustomResourceDefinitions.

mod approval;
mod conversion;
pub(crate) mod custom_resource_definition;
mod defaults;
mod extensions;
mod hoisted;
mod print;
mod rules;
mod schema;
mod spec;

pub use approval::{Approval, approval, is_protected_group};
