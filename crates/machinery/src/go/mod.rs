//! Text as Go prints and reads it.
//!
//! Kubernetes is written in Go, and its messages, field paths and stored objects hold text that Go's standard library
//! formatted. Clients compare that text, so this module reproduces it exactly. Every crate uses these functions instead
//! of formatting values itself.
//!
//! | Go | here |
//! |---|---|
//! | `strconv.Quote`, `%q` | [`quote`], [`quote_all`] |
//! | `%v` of a decoded value | [`display`], [`display_map`] |
//! | `%#v` of a decoded value | [`syntax`] |
//! | `%T` of a decoded value | [`type_name`] |
//! | `%v` of a float | [`float`], [`float_without_exponent`] |
//! | `json.Marshal` | [`json`](fn@json), [`json_of`], [`JsonStyle`] |
//! | `encoding/base64` | [`base64`] |
//! | `errors.NewAggregate` | [`aggregate`](fn@aggregate) |
//!
//! Go's times and durations are in [`time`](crate::time).
//!
//! ```
//! use kubewright_machinery::go;
//! use serde_json::json;
//!
//! assert_eq!(go::quote("tab\there"), r#""tab\there""#);
//! assert_eq!(go::display(&json!({"b": [1, null], "a": 1e6})), "map[a:1e+06 b:[1 <nil>]]");
//! assert_eq!(go::json(&json!({"a": "<&>"})), r#"{"a":"\u003c\u0026\u003e"}"#);
//! ```

mod aggregate;
pub mod base64;
mod float;
mod json;
mod printable;
mod quote;
mod value;

pub use aggregate::aggregate;
pub use float::{float, float_without_exponent, write_float, write_json_float};
pub use json::{JsonStyle, TextSink, json, json_of};
pub use quote::{is_print, quote, quote_all, quote_byte};
pub use value::{display, display_map, syntax, type_name};
