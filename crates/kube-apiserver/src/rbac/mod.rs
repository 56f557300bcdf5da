//! RBAC: decisions, checks against escalation, and the policy of a new cluster.
//!
//! Decisions come from an [`index`] of the stored roles and bindings, which [`follow`] keeps equal to the store: a request that
//! begins after a write was answered sees that write. Rules themselves are compared in `kubewright-rbac`.

mod authorizer;
mod bootstrap;
mod escalation;
mod follow;
mod index;

pub use authorizer::Rbac;
pub(crate) use authorizer::allows;
pub(crate) use bootstrap::bootstrap;
pub(crate) use escalation::Escalation;
pub(crate) use follow::Policy;
