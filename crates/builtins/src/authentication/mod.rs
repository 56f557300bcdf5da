//! The group `authentication.k8s.io`.

pub mod token_request;
