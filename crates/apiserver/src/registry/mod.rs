//! Resources: what they are ([`resource`]), what they can do ([`traits`]), the generic one that keeps its objects in a
//! store ([`generic`]), and what sets kinds apart that are declared at run time ([`custom`]).

pub mod custom;
pub mod generic;
pub mod groups;
pub mod resource;
pub mod traits;

pub use custom::Custom;
pub use groups::{Group, Registry, RegistryBuilder};
pub use resource::{Handlers, Resource, Shape, Subresource, SubresourceKind};
pub use traits::*;
