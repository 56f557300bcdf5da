//! [`Custom`]: the part of a custom resource that its schema decides.

use kubewright_protobuf::DeclaredType;
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
///
/// ```
/// use kubewright_apiserver::registry::{Custom, UnknownFields};
/// use serde_json::{Value, json};
///
/// /// Stars have the field `spec` and no other.
/// struct Stars;
///
/// impl Custom for Stars {
///     fn list_kind(&self) -> &str {
///         "StarList"
///     }
///
///     fn prune(&self, object: &mut Value, unknown: UnknownFields) -> Result<Vec<String>, String> {
///         let mut removed = Vec::new();
///         if let Some(fields) = object.as_object_mut() {
///             fields.retain(|name, _| {
///                 let known = ["apiVersion", "kind", "metadata", "spec"].contains(&name.as_str());
///                 if !known && unknown == UnknownFields::Report {
///                     removed.push(name.clone());
///                 }
///                 known
///             });
///         }
///         Ok(removed)
///     }
///
///     fn prune_mutated(&self, object: &mut Value) {
///         // Nothing is reported, so nothing can fail.
///         let _ = self.prune(object, UnknownFields::Ignore);
///     }
/// }
///
/// let mut star = json!({"kind": "Star", "spec": {}, "colour": "red"});
/// assert_eq!(Stars.prune(&mut star, UnknownFields::Report).unwrap(), ["colour"]);
/// assert_eq!(star, json!({"kind": "Star", "spec": {}}));
/// ```
pub trait Custom: Send + Sync {
    /// Returns the kind of a list of objects.
    fn list_kind(&self) -> &str;

    /// Returns the protobuf form of the objects, if they have one.
    fn protobuf(&self) -> Option<&DeclaredType> {
        None
    }

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
