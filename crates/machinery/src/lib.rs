//! Identities and metadata of the Kubernetes API, without I/O: names of kinds and resources, selectors, quantities,
//! field errors and the `Status` every failure ends in.
//!
//! | module | what it holds |
//! |---|---|
//! | [`gvk`] | `GroupVersion`, `GroupVersionKind`, `GroupVersionResource`, `ObjectKey` |
//! | [`status`] | [`Status`], and a constructor for every error the API server answers with |
//! | [`field`] | field paths and field errors, which add up to a 422 |
//!
//! ```
//! use kubewright_machinery::{gvk::GroupResource, status};
//!
//! let gone = status::not_found(&GroupResource::new("apps", "deployments"), "web");
//! assert_eq!(gone.code, 404);
//! assert_eq!(gone.message, r#"deployments.apps "web" not found"#);
//! ```

pub mod field;
pub mod gvk;
pub mod status;

pub use status::Status;
