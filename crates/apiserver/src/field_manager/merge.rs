//! Merges a configuration into an object without an owner, as mutating admission policies do.

use kubewright_merge::typed::{self, Duplicates};
use serde_json::Value;

use super::{FieldManager, TypeSchema};
use crate::registry::Shape;

impl FieldManager {
    /// Merges a configuration into an object of the same version, by the schema of that version. Nothing is removed, and the
    /// owners of fields stay as they are.
    ///
    /// # Errors
    ///
    /// Returns a message if the configuration does not fit the schema or has parts that would be replaced as a whole.
    ///
    /// ```
    /// use kubewright_apiserver::{FieldManager, registry::Shape};
    /// use kubewright_machinery::gvk::GroupVersionKind;
    /// use serde_json::json;
    ///
    /// let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
    /// let manager = FieldManager::new(&kind, Shape::Untyped, "", &[]);
    /// let object = |spec| json!({"kind": "Comet", "apiVersion": "sky.example.com/v1", "spec": spec});
    /// let merged = manager.merge(&object(json!({"years": 76})), &object(json!({"name": "Halley"})));
    /// assert_eq!(merged.unwrap(), object(json!({"years": 76, "name": "Halley"})));
    /// ```
    pub fn merge(&self, object: &Value, config: &Value) -> Result<Value, String> {
        let schema = self.schema_of(object);
        typed::validate(schema, config, Duplicates::Refused)
            .map_err(|e| format!("failed to convert patch object to typed object: {e}"))?;
        let atomics = typed::atomics(schema, config);
        if !atomics.is_empty() {
            let paths = atomics.join(", ");
            return Err(format!(
                "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {paths}"
            ));
        }
        typed::merge(schema, object, config).map_err(|e| format!("failed to merge patch: {e}"))
    }

    /// Returns the type of an object in its version.
    fn schema_of(&self, object: &Value) -> TypeSchema<'_> {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        if let Some(schema) = self.custom_schema(version) {
            return schema;
        }
        let (group, name) = version.split_once('/').unwrap_or(("", version));
        match kubewright_catalog::kind_type(group, name, &self.kind.kind) {
            Some(ty) if matches!(self.shape, Shape::Typed(_)) => TypeSchema::Object(ty),
            _ => TypeSchema::of(self.shape),
        }
    }
}
