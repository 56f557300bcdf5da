//! A Kubernetes API server as a tower service, over resources of your own.

pub mod admission;
pub mod auth;
pub mod body;
pub mod clock;
pub mod discovery;
pub mod endpoints;
pub mod managed;
pub mod object;
pub mod registry;
pub mod request;
pub mod respond;
pub mod serve;
pub mod server;
pub mod verbs;
