//! Resources: their description ([`ResourceSpec`]), the traits of their verbs, the generic registry that keeps objects in a
//! store ([`Generic`]), and the [`Registry`] of everything that a server serves.

mod custom;
mod draft;
mod fingerprint;
pub(crate) mod generic;
mod groups;
mod handlers;
mod items;
mod json_layout;
mod printed;
mod resource;
mod scaling;
mod spec;
mod table;
mod traits;
mod versions;

pub use crate::respond::Fields;
pub use custom::{Custom, UnknownFields};
pub use draft::Draft;
pub use fingerprint::Fingerprint;
pub(crate) use fingerprint::NoOp;
pub use generic::{
    BlockingPool, Converter, DryRun, Generic, Plain, Reservation, Strategy, StrategyOptions,
    payload, validate_metadata, validate_metadata_update,
};
pub use groups::{Group, Registry, RegistryBuilder};
pub use handlers::Handlers;
pub use items::{Items, ObjectList, PageStream, Pages};
pub use json_layout::JsonLayout;
pub use printed::Printed;
pub(crate) use resource::PatchTypes;
pub use resource::{
    Defaulter, DeleteWarning, FieldLabelCheck, Resource, Subresource, SubresourceKind,
};
pub use scaling::{Scalable, scale_handlers};
pub(crate) use spec::type_prefix;
pub use spec::{ResourceSpec, Shape};
pub use table::{RowOrder, Table};
pub use traits::{
    Change, Connect, Create, Delete, DeleteCollection, Deleted, Get, History, List, Update,
    Updated, Watch, WatchEvent, WatchStream,
};
pub use versions::{Equivalent, Versions};
