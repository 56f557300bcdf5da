//! Facts about the built-in kinds of Kubernetes: resources, verbs, columns, and the shape of every type.
//!
//! One pinned release ([`RELEASE`]) is the source; `cargo xtask codegen` reads it and writes the tables. The crate
//! holds facts, no behaviour: what a server does with them is elsewhere.
//!
//! | module | contents |
//! |---|---|
//! | [`types`] | the vocabulary of shapes: [`StructType`](types::StructType), [`Field`](types::Field), [`Type`](types::Type) |
//! | [`resource`](mod@resource) | the vocabulary of discovery: groups, versions, resources, subresources |
//! | [`generated`] | the tables themselves: one module per package of types, and the resources |
//! | [`field_labels`] | the fields that selectors may name |
//! | `lookup` | resources and types by name |
//! | [`printers`] | columns and cells of each kind, as tables show them |
//!
//! ```
//! use kubewright_catalog::types::{ListType, Type};
//!
//! let pods = kubewright_catalog::resource("", "v1", "pods").expect("pods are built in");
//! assert_eq!((pods.kind, pods.short_names), ("Pod", &["po"][..]));
//!
//! let Some(Type::Struct(spec)) = pods.ty.field("spec").map(|spec| spec.ty) else { panic!() };
//! let containers = spec.field("containers").expect("pods have containers");
//! assert_eq!(containers.list, ListType::Map(&["name"]));
//! ```

mod declare;
pub mod field_labels;
#[rustfmt::skip]
pub mod generated;
mod lookup;
pub mod printers;
pub mod resource;
pub mod types;
mod unserved;

pub use generated::RELEASE;
pub use lookup::{by_kind, groups, kind_type, resource, struct_type};
pub use unserved::{home_group, is_known_kind};
