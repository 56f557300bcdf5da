//! Owner references: which objects an object depends on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gvk::GroupVersionKind;

/// An object that another one depends on, and that the garbage collector deletes it with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// The owner's API version: `apps/v1`.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name, in the same namespace or cluster-scoped.
    pub name: String,
    /// The owner's uid.
    pub uid: String,
    /// Whether the owner manages the object; only one owner may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner, deleted in the foreground, waits for the object to go first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl OwnerReference {
    /// The reference that makes `owner`, a complete object, the controller of another.
    pub fn controller(owner: &Value) -> Self {
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let meta = |name| text(owner.get("metadata").and_then(|m| m.get(name)));
        Self {
            api_version: text(owner.get("apiVersion")),
            kind: text(owner.get("kind")),
            name: meta("name"),
            uid: meta("uid"),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    /// The references in a JSON list. What is not a reference is left out.
    pub fn list(owners: &Value) -> Vec<Self> {
        let owners = owners.as_array().into_iter().flatten();
        owners.filter_map(|o| Self::deserialize(o).ok()).collect()
    }

    /// The owner's type, unless its `apiVersion` has more than one slash.
    pub fn gvk(&self) -> Option<GroupVersionKind> {
        let version = crate::gvk::GroupVersion::parse(&self.api_version)?;
        Some(version.with_kind(&self.kind))
    }
}

/// The owners of an object.
pub fn owners_of(object: &Value) -> Vec<OwnerReference> {
    let owners = object
        .get("metadata")
        .and_then(|m| m.get("ownerReferences"));
    owners.map(OwnerReference::list).unwrap_or_default()
}

/// The owner that manages an object, if there is one.
pub fn controller_of(object: &Value) -> Option<OwnerReference> {
    owners_of(object)
        .into_iter()
        .find(|o| o.controller == Some(true))
}

/// Whether `owner` is among the owners of an object, by uid.
pub fn is_owned_by(object: &Value, owner_uid: &str) -> bool {
    owners_of(object).iter().any(|o| o.uid == owner_uid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_controller_reference_names_its_owner() {
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web", "uid": "u1"}});
        let owner = OwnerReference::controller(&set);
        let pod = json!({"metadata": {"ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u0"}, owner]}});
        assert_eq!(controller_of(&pod), Some(owner.clone()));
        assert_eq!(owner.gvk().unwrap().to_string(), "apps/v1, Kind=ReplicaSet");
        assert!(is_owned_by(&pod, "u0"));
        assert!(!is_owned_by(&pod, "u2"));
        assert_eq!(controller_of(&json!({})), None);
    }
}
