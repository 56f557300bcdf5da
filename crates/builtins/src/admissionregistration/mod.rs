//! The group `admissionregistration.k8s.io`.

pub(crate) mod expression;
pub(crate) mod policy;
pub(crate) mod policy_binding;
mod policy_match;
mod rule;
pub(crate) mod webhook_configuration;
