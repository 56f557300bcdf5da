//! The endpoints that are not resources: version, health, metrics, and the list of paths at the root.
//!
//! They make bytes and answers; which path leads to them is the server's business.

pub mod health;
pub mod metrics;
pub mod root;
pub mod version;

pub use health::{HealthChecks, Probe};
pub use metrics::Metrics;
pub use version::VersionInfo;
