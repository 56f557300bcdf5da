//! Patches, merges and field ownership of Kubernetes objects.
//!
//! | module | contents |
//! |---|---|
//! | [`json_patch`] | JSON patch (RFC 6902), with the limits and messages of kube-apiserver |
//! | [`strategic`] | strategic merge patch: apply, two-way and three-way diff |
//! | [`managed`] | `metadata.managedFields` after a write, and server-side apply with conflicts |
//! | [`fieldset`] | sets of field paths, and their encoding `FieldsV1` |
//! | [`typed`] | values and their schema: field sets, comparison, merge, removal |
//! | [`schema`] | the trait through which the crate reads the caller's type tables |
//!
//! JSON merge patch is in [`machinery`](kubewright_machinery::merge_patch), since clients need it too.
//!
//! Everything works on [`serde_json::Value`], does no I/O and reads no clock: the time of a write is an argument. No
//! input causes a panic, and nothing nests deeper than [`VALUE_DEPTH`](kubewright_machinery::limits::VALUE_DEPTH).
//!
//! # Example
//!
//! Two managers apply to one object; the second one conflicts with the first one about a field.
//!
//! ```
//! use kubewright_merge::managed::{Apply, ApplyError, Endpoint, OneVersion, apply};
//! use kubewright_machinery::time::Time;
//! use kubewright_merge::schema::Deduced;
//! use serde_json::json;
//!
//! let versions = OneVersion::default();
//! let endpoint = Endpoint {
//!     schema: Deduced,
//!     api_version: "example.com/v1",
//!     kind: "Widget",
//!     subresource: "",
//!     versions: &versions,
//! };
//! let empty = json!({"apiVersion": "example.com/v1", "kind": "Widget"});
//! let config = |size: u32| json!({
//!     "apiVersion": "example.com/v1", "kind": "Widget",
//!     "metadata": {"name": "w"}, "spec": {"size": size},
//! });
//!
//! let (mine, theirs) = (config(1), config(2));
//! let first = Apply {
//!     live: &empty, empty: &empty, patch: &mine, manager: "me", force: false, now: Time::from_unix(0, 0),
//! };
//! let live = apply(&first, &endpoint)?.object;
//! let second = Apply { live: &live, patch: &theirs, manager: "you", ..first };
//! let conflict = apply(&second, &endpoint).unwrap_err();
//! assert_eq!(
//!     conflict.to_string(),
//!     "Apply failed with 1 conflict: conflict with \"me\": .spec.size"
//! );
//! # Ok::<(), ApplyError>(())
//! ```

pub mod fieldset;
pub mod json_patch;
pub mod managed;
pub mod schema;
pub mod strategic;
pub mod typed;
