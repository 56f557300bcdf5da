//! Decodes, prunes and normalises objects by the shape of their type.
//!
//! The Go server decodes requests into structs and prints structs. What that does to an object is visible: unknown
//! fields vanish, types are enforced with certain words, zero values are left out or written in full. This crate does
//! the same to plain JSON values, driven by the tables of `kubewright-catalog`.
//!
//! | module | contents |
//! |---|---|
//! | `document` | [`Node`]: a parsed document that keeps order, repeated keys and the text of numbers |
//! | `json` | [`parse_json`]: JSON text to [`Node`] |
//! | [`yaml`] | YAML text to [`Node`], and values to YAML text |
//! | `typed` | [`decode_typed`]: a document into a type; [`normalize_typed`]: a value that was changed in memory |
//! | `untyped` | [`decode_untyped`], [`normalize_untyped`]: the same without a type, for custom resources |
//! | `problems` | [`Problem`]: what a strict decoder rejects, unknown and repeated fields |
//! | [`structural`] | the schemas of custom resources: compiled, pruning, defaults, validation |
//! | `type_meta` | [`read_type_meta`]: the type that a document claims to have |
//! | `encode` | [`encode`]: values to bytes as Go prints them |
//!
//! ```
//! use kubewright_schema::{decode_typed, parse_json};
//!
//! let config_map = kubewright_catalog::resource("", "v1", "configmaps").expect("built in").ty;
//! let text = br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","foo":1},"data":{}}"#;
//! let object = decode_typed(parse_json(text)?, config_map)?;
//! assert_eq!(object.value["metadata"]["name"], "a");
//! assert!(object.value.get("data").is_none());
//! assert_eq!(
//!     object.problems.to_string(),
//!     r#"strict decoding error: unknown field "metadata.foo""#
//! );
//!
//! let text = br#"{"kind":"ConfigMap","apiVersion":"v1","data":{"a":5}}"#;
//! assert_eq!(
//!     decode_typed(parse_json(text)?, config_map).unwrap_err().to_string(),
//!     "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod document;
mod encode;
mod json;
mod position;
mod problems;
mod recode;
pub mod structural;
mod type_meta;
mod typed;
mod untyped;
pub mod yaml;

pub use document::Node;
pub use encode::{encode, write_value};
pub use json::{SyntaxError, parse_json};
pub use problems::{Problem, Problems};
pub use type_meta::{TYPE_META_CONTEXT, read_type_meta};
pub use typed::{TypeError, Typed, decode_typed, normalize_typed};
pub use untyped::{decode_untyped, normalize_untyped, retype_numbers};
