//! Custom resources from Rust types.
//!
//! `kube::CustomResource` turns a struct into a kind. [`derive@Schema`] replaces `JsonSchema` or `KubeSchema` next to it and
//! supports what controller-gen's markers support. One type gives you the CustomResourceDefinition, a native
//! [`validate`](CustomKind::validate) with the answers of the server, and generated objects for tests.
//!
//! ```
//! # extern crate kubewright_resource as kubewright;
//! use kube::CustomResource;
//! use kubewright::{CustomKind, Schema};
//! use serde::{Deserialize, Serialize};
//!
//! /// The captain of a ship.
//! #[kubewright::defaults]
//! #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
//! #[kube(group = "crew.example.com", version = "v1", kind = "Captain", namespaced)]
//! #[kube(status = "CaptainStatus", shortname = "cap", category = "crew", selectable = ".spec.colour")]
//! #[kube(printcolumn(name = "Mates", type_ = "integer", json_path = ".spec.mates", priority = 1))]
//! #[schema(rule("self.mates <= self.ships.size() * 10", message = "too many mates", field_path = ".mates"))]
//! pub struct CaptainSpec {
//!     /// The name of the captain.
//!     #[schema(min_length = 1, max_length = 40, pattern = "^[A-Z]")]
//!     name: String,
//!     #[schema(default = 3, minimum = 0, maximum = 100)]
//!     mates: i32,
//!     #[schema(immutable, max_length = 20)]
//!     colour: String,
//!     #[schema(list_map_keys("name"), min_items = 1, max_items = 10)]
//!     ships: Vec<Ship>,
//!     #[serde(skip_serializing_if = "Option::is_none")]
//!     berth: Option<Berth>,
//! }
//!
//! #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
//! pub struct Ship {
//!     #[schema(max_length = 20)]
//!     name: String,
//! }
//!
//! /// Exactly one of these is set.
//! #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! pub enum Berth {
//!     Cabin { deck: i32 },
//!     Inn { address: String },
//! }
//!
//! #[derive(Schema, Clone, Debug, Serialize, Deserialize)]
//! pub struct CaptainStatus {
//!     #[schema(enum = ["Ashore", "Afloat"])]
//!     phase: Option<String>,
//! }
//!
//! // The CustomResourceDefinition, typed for a client and as JSON for a file.
//! let crd = Captain::custom_resource_definition()?;
//! assert_eq!(crd.metadata.name.as_deref(), Some("captains.crew.example.com"));
//! let manifest = Captain::manifest()?;
//! let spec = &manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
//! assert_eq!(spec["properties"]["mates"]["default"], 3);
//! assert_eq!(spec["properties"]["ships"]["x-kubernetes-list-type"], "map");
//!
//! // Validation as on the server, without a server.
//! let ships = vec![Ship { name: "Pequod".into() }];
//! let spec = CaptainSpec { name: "Ahab".into(), mates: 3, colour: "white".into(), ships, berth: None };
//! let ahab = Captain::new("ahab", spec);
//! assert!(ahab.validate(None).is_ok());
//! let mut changed = ahab.clone();
//! changed.spec.mates = 11;
//! changed.spec.colour = "black".into();
//! assert_eq!(
//!     changed.validate(Some(&ahab)).unwrap_err().message,
//!     "Captain.crew.example.com \"ahab\" is invalid: [spec.mates: Invalid value: too many mates, \
//!      spec.colour: Invalid value: \"black\": field is immutable]",
//! );
//! # Ok::<(), kubewright::CrdError>(())
//! ```
//!
//! # Attributes
//!
//! `#[schema(...)]` on a type, a field or a variant takes:
//!
//! | for | attributes |
//! |---|---|
//! | numbers | `minimum = 1`, `maximum = 9`, `exclusive_minimum`, `exclusive_maximum`, `multiple_of = 5` |
//! | strings | `min_length = 1`, `max_length = 9`, `pattern = "^a"`, `format = "uri"` |
//! | lists | `min_items = 1`, `max_items = 9`, `list_type = "set"`, `list_map_keys("name")`, `items(...)` for the schema of the items |
//! | maps, structs | `min_properties = 1`, `max_properties = 9`, `map_type = "atomic"`, `struct_type = "atomic"`, `values(...)` for the schema of the values |
//! | anything | `enum = [1, 2]`, `type = "string"`, `title = "..."`, `description = "..."`, `example = ...`, `external_docs(url = "...")`, `nullable`, `preserve_unknown_fields`, `int_or_string`, `embedded_resource`, `schemaless`, `as = "Type"` |
//! | rules | `rule = "self > 1"`, `rule("...", message = "...", message_expression = "...", reason = "FieldValueForbidden", field_path = ".a", optional_old_self)` |
//! | fields | `default = ...`, `default` for the default of serde, `required`, `optional`, `immutable` |
//! | structs | `exactly_one_of("a", "b")`, `at_most_one_of(...)`, `at_least_one_of(...)` |
//! | alternatives | `one_of = [{"required": ["a"]}, {"required": ["b"]}]`, `any_of = [...]`, `all_of = [...]`, `not = {...}` |
//! | other keywords | `extend("x-example" = 1)`: any keyword by its name in the schema; `null` removes one, as in `format = null` |
//!
//! `#[kubewright::defaults]` above the derives makes the defaults of the schema those of serde and of a derived `Default`; without
//! it, a field with `default = ...` must be an `Option` or have a default of serde.
//!
//! A field is required unless it is an `Option`, has a default, or is skipped by serde when it is empty. An `Option` is not
//! `nullable`: the server drops nulls. `#[serde(default)]` alone does not set a default in the schema, since the server would
//! then write it into every object. A `BTreeSet` is a list of type `set`. An enum without data is a string with a list of
//! allowed values; with data it is an object of which exactly one field is set, or with `#[serde(tag = "...")]` an object with a
//! tag field.
//!
//! For the whole kind, `#[kube(...)]` sets names, columns, selectable fields, subresources, deprecation and served versions;
//! `#[crd(...)]` adds `annotation("key", "value")`, `label("key", "value")`, `list_kind = "..."`, `status_subresource = false`, and for
//! the schema of the whole object `rule(...)`, `title = "..."`, `external_docs(...)`, `preserve_unknown_fields`, `metadata = {...}` and
//! `extend(...)`. [`CustomKind::custom_resource_definition`] has all of it; `crd()` of kube lacks what kube does not support.

// The derive refers to `::kubewright`; inside this crate that is the crate itself.
extern crate self as kubewright;

mod crd;
mod custom_kind;
pub mod generate;
mod node;
mod subresource;
mod validator;
mod versions;
mod well_known;

pub use crd::CrdError;
pub use custom_kind::CustomKind;
pub use kubewright_derive::{Schema, defaults};
pub use subresource::subresource_manifest;
pub use validator::Validator;
pub use versions::{
    ConversionError, Counterexample, SameAsHub, Versions, VersionsError, round_trip,
};

/// Used by the code that the derive generates. Not part of the public API.
#[doc(hidden)]
pub mod __derive {
    pub use crate::well_known::{Probe, ViaJsonSchema, ViaWellKnown};
    pub use crate::{crd::CrdBuilder, custom_kind::CustomKind, node::Node, validator::Validator};
    pub use schemars::{JsonSchema, Schema as JsonSchemaDocument, SchemaGenerator};
    pub use serde_json::json;

    /// Returns the value of a default.
    ///
    /// # Panics
    ///
    /// Panics if the default does not have the type of its field.
    pub fn default_from_json<T: serde::de::DeserializeOwned>(
        value: serde_json::Value,
        position: &str,
    ) -> T {
        serde_json::from_value(value).unwrap_or_else(|e| {
            let ty = std::any::type_name::<T>();
            panic!("{position}: the default is not a {ty}: {e}")
        })
    }
}
