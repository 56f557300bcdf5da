//! Identities and metadata of the Kubernetes API, without I/O: names of kinds and resources, selectors, quantities,
//! times, validation, and the `Status` of every failure.
//!
//! Objects are `serde_json::Value`s. Nothing here reads a clock, draws random numbers or talks to a server: times and
//! random numbers are arguments. No input causes a panic, deep recursion, or memory use beyond its own size.
//!
//! | module | contents |
//! |---|---|
//! | [`gvk`] | `GroupVersion`, `GroupVersionKind`, `GroupVersionResource`, `ObjectKey` |
//! | [`version`] | API versions and their order: stable before beta before alpha |
//! | [`scheme`] | Rust types and the kinds they represent |
//! | [`rest_mapper`] | mapping of kinds to resources and back |
//! | [`merge_patch`] | JSON merge patch (RFC 7386): apply, two-way and three-way diff |
//! | [`generate_name`](mod@generate_name) | names from `generateName` |
//! | [`labels`], [`fields`] | label and field selectors |
//! | [`quantity`] | `500m`, `1536Mi` |
//! | [`time`] | points in time, durations and ages |
//! | [`calendar`] | conversion between dates and days |
//! | [`json`] | reading and writing decoded objects, with Go's zero values |
//! | [`scan`] | the ends of values in encoded JSON |
//! | [`go`] | text as Go prints it: quoting, `%v`, floats, JSON, base64 |
//! | [`cron`] | cron schedules |
//! | [`limits`] | the depth and size that documents and values may have |
//! | [`validation`] | the rules for names, metadata and label selectors |
//! | [`field`] | field paths and field errors, which add up to a 422 |
//! | [`status`] | [`Status`], and a constructor for every error that the API server returns |
//!
//! # Selectors
//!
//! ```
//! use kubewright_machinery::labels::LabelSelector;
//! use serde_json::json;
//!
//! let pod = json!({"metadata": {"name": "web-1", "labels": {"app": "web", "tier": "front"}}});
//! let selector = LabelSelector::parse("tier in (front, back),!canary")?;
//! assert!(selector.matches(|key| pod["metadata"]["labels"][key].as_str()));
//! assert_eq!(selector.to_string(), "!canary,tier in (back,front)");
//! # Ok::<(), kubewright_machinery::labels::SelectorError>(())
//! ```
//!
//! # Quantities
//!
//! ```
//! use kubewright_machinery::quantity::Quantity;
//!
//! let memory = Quantity::parse("1.5Gi")?;
//! assert_eq!(memory.to_string(), "1536Mi");
//! assert_eq!((&memory + &Quantity::parse("512Mi")?).to_string(), "2Gi");
//! assert!(Quantity::parse("100m")? < Quantity::parse("0.2")?);
//! # Ok::<(), kubewright_machinery::quantity::QuantityError>(())
//! ```
//!
//! # Errors
//!
//! ```
//! use kubewright_machinery::{
//!     field::Path,
//!     gvk::{GroupKind, GroupResource},
//!     status,
//!     validation::{Scope, names, validate_object_meta},
//! };
//! use serde_json::json;
//!
//! let meta = json!({"name": "a.b", "namespace": "shop"});
//! let errors = validate_object_meta(&meta, Scope::Namespaced, names::name_is_dns_label, &Path::new("metadata"));
//! let refused = status::invalid(&GroupKind::new("", "Service"), "a.b", &errors);
//! assert_eq!(refused.code, 422);
//! assert_eq!(
//!     refused.message,
//!     r#"Service "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots"#
//! );
//!
//! let gone = status::not_found(&GroupResource::new("apps", "deployments"), "web");
//! assert_eq!(gone.message, r#"deployments.apps "web" not found"#);
//! ```

pub mod calendar;
pub mod cron;
mod deletion;
pub mod field;
pub mod fields;
pub mod generate_name;
pub mod go;
pub mod gvk;
pub mod json;
mod keyed_items;
pub mod labels;
pub mod limits;
pub mod merge_patch;
pub mod quantity;
pub mod rest_mapper;
pub mod scan;
pub mod scheme;
pub mod status;
pub mod time;
pub mod validation;
pub mod version;

pub use deletion::PropagationPolicy;
pub use keyed_items::KeyedItems;
pub use status::object::Status;
