//! Resources: what they are ([`resource`]), what they can do ([`traits`]), and the generic one that keeps its objects in a
//! store ([`generic`]).

pub mod generic;
pub mod groups;
pub mod resource;
pub mod traits;

pub use groups::{Group, Registry, RegistryBuilder};
pub use resource::{Handlers, Resource, Shape, Subresource, SubresourceKind};
pub use traits::*;
