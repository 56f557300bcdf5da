//! RBAC without a server: rules, and the policy of a new cluster.
//!
//! | module | contents |
//! |---|---|
//! | `rule` | [`PolicyRule`]: which requests a rule allows, and its text in messages |
//! | `cover` | [`uncovered`]: the part of some rules that others do not grant; [`compact`] makes it readable |
//! | `aggregate` | [`aggregate`](fn@aggregate): the rules of roles that are made of others |
//! | `reconcile` | [`reconcile_role`], [`reconcile_binding`]: an object with what the policy requires added |
//! | `permission`, `refusal`, `advice` | [`Permission`]: what a request needs, found by `refusal` in messages; [`Advice`]: the rules to add, ready to paste |
//! | `policy` | [`policy`](fn@policy): the objects that a cluster has from the start |
//!
//! ```
//! use kubewright_rbac::{PolicyRule, ResourceRequest};
//!
//! let rule: PolicyRule = serde_json::from_str(
//!     r#"{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/status"]}"#,
//! )?;
//! let request = ResourceRequest { verb: "get", resource: "pods", name: "web", ..ResourceRequest::default() };
//! assert!(rule.allows(&request));
//! assert!(!rule.allows(&ResourceRequest { subresource: "log", ..request }));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod advice;
mod aggregate;
mod cover;
mod generated;
mod held;
mod permission;
mod policy;
mod reconcile;
mod refusal;
mod rule;

pub use advice::Advice;
pub use aggregate::{AggregatedRole, aggregate};
pub use cover::{Uncovered, compact, uncovered};
pub use permission::Permission;
pub use policy::{PolicyKind, PolicyObject, policy};
pub use reconcile::{Reconciled, reconcile_binding, reconcile_role};
pub use rule::{PolicyRule, ResourceRequest};

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";
