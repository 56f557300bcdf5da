//! [`Custom`]: the part of a custom resource that its schema decides.

use serde_json::Value;

/// The treatment of unknown fields, which are removed in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// Their paths are returned.
    Report,
    /// Nothing.
    Ignore,
}

/// The schema of a custom resource. Its objects are plain JSON.
pub trait Custom: Send + Sync {
    /// Returns the kind of a list of objects.
    fn list_kind(&self) -> &str;

    /// Decodes the metadata of an object that was just parsed or patched, and removes unknown fields; of an object of another
    /// kind it decodes the metadata only. Returns the paths of the unknown fields that are to be reported.
    ///
    /// # Errors
    ///
    /// Returns the message for the client if the metadata does not fit its type.
    fn prune(&self, object: &mut Value, unknown: UnknownFields) -> Result<Vec<String>, String>;

    /// Removes unknown fields, and metadata that does not fit its type, from an object that admission has changed. Nulls stay, and
    /// validation rejects those that are not allowed.
    fn prune_mutated(&self, object: &mut Value);
}
