//! Identities and metadata of the Kubernetes API, without I/O: names of kinds and resources, selectors, quantities,
//! times, validation, and the `Status` every failure ends in.
//!
//! Objects are `serde_json::Value`s here. Nothing asks a clock, draws random numbers or talks to a server: time and
//! chance are arguments. No input makes anything panic, recurse deeply or take more than its own size in memory.
//!
//! | module | what it holds |
//! |---|---|
//! | [`gvk`] | `GroupVersion`, `GroupVersionKind`, `GroupVersionResource`, `ObjectKey` |
//! | [`version`] | the order of API versions, stable before beta before alpha |
//! | [`scheme`] | which Rust type stands for which kind |
//! | [`rest_mapper`] | from kinds to resources and back |
//! | [`generate_name`](mod@generate_name) | names from `generateName` |
//! | [`labels`], [`fields`] | label and field selectors |
//! | [`quantity`] | `500m`, `1536Mi` |
//! | [`time`] | points in time, durations and ages |
//! | [`calendar`] | dates from days and back |
//! | [`json`] | reading and writing decoded objects, with Go's zero values |
//! | [`go`] | text as Go prints it: quoting, `%v`, floats, JSON, base64 |
//! | [`limits`] | the depth to which documents and values may nest |
//! | [`validation`] | the rules for names, metadata and label selectors |
//! | [`field`] | field paths and field errors, which add up to a 422 |
//! | [`status`] | [`Status`], and a constructor for every error the API server answers with |
//!
//! # Selecting
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
//! # Counting
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
//! # Refusing
//!
//! ```
//! use kubewright_machinery::{
//!     field::Path,
//!     gvk::{GroupKind, GroupResource},
//!     status,
//!     validation::{names, validate_object_meta},
//! };
//! use serde_json::json;
//!
//! let meta = json!({"name": "a.b", "namespace": "shop"});
//! let errors = validate_object_meta(&meta, true, names::name_is_dns_label, &Path::new("metadata"));
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
pub mod field;
pub mod fields;
pub mod generate_name;
pub mod go;
pub mod gvk;
pub mod json;
pub mod labels;
pub mod limits;
pub mod quantity;
pub mod rest_mapper;
pub mod scheme;
pub mod status;
pub mod time;
pub mod validation;
pub mod version;

pub use status::Status;
