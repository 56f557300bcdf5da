//! [`Custom`]: the part of a custom resource that its schema decides.

use serde_json::Value;

/// The schema of a custom resource. Its objects are plain JSON.
pub trait Custom: Send + Sync {
    /// Returns the kind of a list of objects.
    fn list_kind(&self) -> &str;

    /// Decodes the metadata of an object that was just parsed or patched, and removes unknown fields; of an object of another
    /// kind it decodes the metadata only. Returns the paths of unknown fields if `track` is set.
    ///
    /// # Errors
    ///
    /// Returns the message for the client if the metadata does not fit its type.
    fn prune(&self, object: &mut Value, track: bool) -> Result<Vec<String>, String>;
}
