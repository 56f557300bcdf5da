//! [`Draft`]: an object on its way to the store.

use kubewright_merge::managed::ManagedFields;
use serde_json::Value;

/// An object that is being written.
///
/// The managed fields of a *new* object are kept separate from its value: nothing reads them before the object is
/// encoded, and encoding them straight to text saves a tree of JSON values that is as large as the object. Those of a
/// changed object are in `value`, where they are compared with the stored ones.
///
/// ```
/// use kubewright_apiserver::registry::Draft;
/// use serde_json::json;
///
/// let draft = Draft::from(json!({"metadata": {"name": "halley"}}));
/// assert_eq!(draft.into_value()["metadata"]["name"], "halley");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The object. If it is new, it has no `metadata.managedFields`.
    pub value: Value,
    /// The managed fields of a new object, sorted.
    pub(crate) managed: Option<ManagedFields>,
    /// The name that the client gave a new object, or an empty string. Validating plugins see it even if the object was renamed.
    pub(crate) given_name: String,
}

impl Draft {
    /// Moves the managed fields of a new object out of its value, where plugins that show the object to others put them.
    pub(crate) fn take_mutated_fields(&mut self) {
        let metadata = self.value.get_mut("metadata");
        let metadata = metadata.and_then(Value::as_object_mut);
        let (Some(managed), Some(metadata)) = (&mut self.managed, metadata) else {
            return;
        };
        let fields = metadata.remove("managedFields");
        if let Some(Ok(fields)) = fields.as_ref().map(ManagedFields::decode) {
            *managed = fields;
            managed.sort();
        }
    }

    /// Returns the whole object, managed fields included.
    pub fn into_value(self) -> Value {
        let mut value = self.value;
        if let Some(managed) = self.managed.filter(|managed| !managed.entries.is_empty()) {
            value["metadata"]["managedFields"] = managed.encode();
        }
        value
    }
}

impl From<Value> for Draft {
    fn from(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}
