//! Endpoints that are not resources: version, health, metrics, documents, and the list of paths at `/`.
//!
//! They return bytes and responses; the server routes paths to them.

pub(crate) mod documents;
pub(crate) mod health;
pub(crate) mod metrics;
pub(crate) mod root;
pub(crate) mod version;

pub use documents::Document;
pub use health::{HealthChecks, Probe};
pub use metrics::{Metrics, ObjectCount};
pub use version::VersionInfo;
