//! Decodes, prunes and normalises objects by the shape of their type.
//!
//! The Go server decodes requests into structs and prints structs. What that does to an object is visible: unknown
//! fields vanish, types are enforced with certain words, zero values are left out or written in full. This crate does
//! the same to plain JSON values, driven by the tables of `kubewright-catalog`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`document`] | [`Node`]: a parsed document that keeps order, repeated keys and the text of numbers |
//! | [`json`], [`yaml`] | the two notations: text to [`Node`] |
//! | [`typed`] | [`decode_typed`]: a document into a type; [`normalize_typed`]: a value that was changed in memory |
//! | [`untyped`] | [`decode_untyped`], [`normalize_untyped`]: the same without a type, as custom resources are |
//! | [`problems`] | problems that a strict decoder rejects: unknown and repeated fields |
//! | [`structural`] | the schemas of custom resources: compiled, pruning, defaults, validation |
//! | `type_meta` | what a document claims to be |
//! | [`encode`](mod@encode) | values to bytes as Go prints them, with a place for the resource version |
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

pub mod document;
pub mod encode;
pub mod json;
pub mod problems;
mod recode;
pub mod structural;
mod type_meta;
pub mod typed;
pub mod untyped;
pub mod yaml;

pub use document::Node;
pub use encode::encode;
pub use json::{SyntaxError, parse_json};
pub use problems::{Problem, Problems};
pub use type_meta::{TYPE_META_CONTEXT, read_type_meta};
pub use typed::{TypeError, Typed, decode_typed, normalize_typed};
pub use untyped::{decode_untyped, normalize_untyped, retype_numbers};
pub use yaml::{Yaml, YamlError, parse_yaml};
