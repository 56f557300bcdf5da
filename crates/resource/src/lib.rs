//! Custom resources from Rust types: a type is all that an author writes.
//!
//! `kube::CustomResource` makes a kind of a struct. [`derive@Schema`] takes the place of `JsonSchema` or `KubeSchema` beside
//! it and knows what controller-gen's markers know. Out of one definition come the CRD, a native
//! [`validate`](CustomKind::validate) that says what the server would say, and objects for tests.
//!
//! ```
//! # extern crate kubewright_resource as kubewright;
//! use kube::CustomResource;
//! use kubewright::{CustomKind, Schema};
//! use serde::{Deserialize, Serialize};
//!
//! /// The captain of a ship.
//! #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
//! #[kube(group = "crew.example.com", version = "v1", kind = "Captain", namespaced)]
//! #[kube(status = "CaptainStatus", shortname = "cap", category = "crew", selectable = ".spec.colour")]
//! #[kube(printcolumn(name = "Mates", type_ = "integer", json_path = ".spec.mates", priority = 1))]
//! #[schema(rule("self.mates <= self.ships.size() * 10", message = "too many mates", field_path = ".mates"))]
//! pub struct CaptainSpec {
//!     /// What the captain is called.
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
//! /// One of these, and never two: one field each.
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
//! // The definition, to be written to a server or a file.
//! let definition = Captain::definition();
//! assert_eq!(definition.metadata.name.as_deref(), Some("captains.crew.example.com"));
//! let spec = &Captain::manifest()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
//! assert_eq!(spec["properties"]["mates"]["default"], 3);
//! assert_eq!(spec["properties"]["ships"]["x-kubernetes-list-type"], "map");
//!
//! // The verdict of the server, without one.
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
//! ```
//!
//! # What can be written
//!
//! On a type, a field or a variant, in `#[schema(...)]`:
//!
//! | for | written |
//! |---|---|
//! | numbers | `minimum = 1`, `maximum = 9`, `exclusive_minimum`, `exclusive_maximum`, `multiple_of = 5` |
//! | texts | `min_length = 1`, `max_length = 9`, `pattern = "^a"`, `format = "uri"` |
//! | lists | `min_items = 1`, `max_items = 9`, `list_type = "set"`, `list_map_keys("name")`, `items(...)` for what is in them |
//! | maps, structs | `min_properties = 1`, `max_properties = 9`, `map_type = "atomic"`, `struct_type = "atomic"`, `values(...)` |
//! | anything | `enum = [1, 2]`, `type = "string"`, `title = "..."`, `description = "..."`, `example = ...`, `external_docs(url = "...")`, `nullable`, `preserve_unknown_fields`, `int_or_string`, `embedded_resource`, `schemaless`, `as = "Type"` |
//! | rules | `rule = "self > 1"`, `rule("...", message = "...", message_expression = "...", reason = "FieldValueForbidden", field_path = ".a", optional_old_self)` |
//! | fields | `default = ...`, `default` for what serde takes, `required`, `optional`, `immutable` |
//! | structs | `exactly_one_of("a", "b")`, `at_most_one_of(...)`, `at_least_one_of(...)` |
//! | alternatives | `one_of = [{"required": ["a"]}, {"required": ["b"]}]`, `any_of = [...]`, `all_of = [...]`, `not = {...}` |
//! | all else | `extend("x-example" = 1)`: keywords as the schema has them; `null` takes one away, as in `format = null` |
//!
//! A field is required unless it is an `Option`, has a default, or is skipped by serde when it is empty. An `Option` is not
//! `nullable`: the server drops nulls. `#[serde(default)]` alone is no default of the schema, as the server would write it
//! into every object. A `BTreeSet` is a list of type `set`. An enum without data is a text out of a list; with data it is
//! one field out of several, or with `#[serde(tag = "...")]` an object with a tag.
//!
//! Of the whole kind, `#[kube(...)]` has names, columns, selectable fields, subresources, deprecation and served versions;
//! `#[crd(...)]` adds `annotation("key", "value")`, `label("key", "value")`, `list_kind = "..."`, `status_subresource = false`, and of the
//! whole object `rule(...)`, `title = "..."`, `external_docs(...)`, `preserve_unknown_fields`, `metadata = {...}` and `extend(...)`.
//! [`CustomKind::definition`] has all of it; `crd()` of kube alone lacks what kube has no word for.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`definition`] | [`CustomKind`]: the CRD, validation |
//! | [`judge`] | [`Judge`]: the verdict of the server, without one |
//! | [`versions`] | [`Versions`]: several versions of a kind, conversion, round trips |
//! | [`generate`] | [`Generator`]: objects out of a schema |
//! | `node` | schemas while they are made |

// What the derive writes begins with `::kubewright`; here that is this crate.
extern crate self as kubewright;

pub mod definition;
pub mod generate;
pub mod judge;
mod node;
pub mod versions;

pub use definition::CustomKind;
pub use generate::Generator;
pub use judge::Judge;
pub use kubewright_derive::Schema;
pub use versions::{SameAsHub, Versions, round_trip};

/// What the code that the derive writes calls. No part of the API.
#[doc(hidden)]
pub mod __derive {
    pub use crate::{
        definition::{Amended, CustomKind},
        judge::Judge,
        node::Node,
    };
    pub use schemars::{JsonSchema, Schema as JsonSchemaDocument, SchemaGenerator};
    pub use serde_json::json;
}
