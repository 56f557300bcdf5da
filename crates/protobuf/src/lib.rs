//! Converts JSON to protobuf and back, by the shape of the type.
//!
//! Clients written in Go send and ask for protobuf for every built-in type. This crate turns the JSON value of an
//! object into the bytes that the Go server would write for it, and such bytes into a JSON value, driven by the
//! tables of `kubewright-catalog`. There are no generated message structs: a type costs one row per field.
//!
//! | module | contents |
//! |---|---|
//! | `encode` | [`encode()`]: an object to bytes; [`encode_watch_event`]: a frame of a watch |
//! | `transcode` | [`Transcoder`]: the JSON text of objects to bytes, without a tree of values |
//! | `decode` | [`decode()`]: bytes to an object |
//! | `declared` | [`DeclaredType`]: a kind that is not built in, declared by its fields |
//! | `error` | [`EncodeError`], [`DecodeError`], with the messages of the Go server |
//! | `input` | the JSON to encode: a tree of values, or a text that is cut into tokens |
//! | `layout` | the tables compiled for the wire: fields by number and by name |
//! | `wire` | varints, tags and lengths: reading forwards, writing backwards |
//!
//! Bytes are an envelope: [`MAGIC`], then a message that names the kind and holds the object
//! (`runtime.Unknown`). Kinds that have no protobuf form, custom resources and `Table` among them, are
//! [`EncodeError::NoType`]; a server declares the form of its own kinds as [`DeclaredType`].
//!
//! ```
//! use serde_json::json;
//!
//! let object = json!({
//!     "kind": "ConfigMap", "apiVersion": "v1",
//!     "metadata": {"name": "colours"},
//!     "data": {"sky": "blue"},
//! });
//! let bytes = kubewright_protobuf::encode(&object)?;
//! assert!(bytes.starts_with(&kubewright_protobuf::MAGIC));
//!
//! let decoded = kubewright_protobuf::decode(&bytes, ("v1", "ConfigMap"))?;
//! assert_eq!((&*decoded.api_version, &*decoded.kind), ("v1", "ConfigMap"));
//! assert_eq!(decoded.value["data"], object["data"]);
//!
//! // A decoded value is complete, not normal: `kubewright_schema::normalize_typed` leaves out what Go leaves out.
//! assert_eq!(
//!     kubewright_protobuf::decode(b"{}", ("v1", "ConfigMap")).unwrap_err().to_string(),
//!     "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod declared;
mod decode;
mod encode;
mod error;
mod input;
mod layout;
mod transcode;
mod wire;

pub use declared::{DeclareError, DeclaredType, MessageField, MessageType, ValueType};
pub use decode::{Decoded, decode, decode_versions};
pub use encode::{encode, encode_watch_event};
pub use error::{DecodeError, EncodeError};
pub use transcode::{ListType, ObjectType, Transcoder};

/// The four bytes before every envelope.
pub const MAGIC: [u8; 4] = *b"k8s\0";
