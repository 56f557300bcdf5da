//! The group `rbac.authorization.k8s.io`.

pub(crate) mod binding;
pub(crate) mod role;

pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
