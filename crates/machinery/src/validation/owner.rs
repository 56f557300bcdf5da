//! Owner references, as they are printed in errors.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A reference to an object that owns another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OwnerReference {
    /// The owner's API version: `apps/v1`.
    pub(super) api_version: String,
    /// The owner's kind.
    pub(super) kind: String,
    /// The owner's name, in the same namespace or cluster-scoped.
    pub(super) name: String,
    /// The owner's uid.
    pub(super) uid: String,
    /// `true` for the one owner that manages the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) controller: Option<bool>,
    /// `true` if a foreground deletion of the owner waits for this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) block_owner_deletion: Option<bool>,
}

impl OwnerReference {
    /// Reads the references in a JSON list. Items of other shapes are left out.
    pub(super) fn list(owners: &Value) -> Vec<Self> {
        let owners = owners.as_array().into_iter().flatten();
        owners.filter_map(|o| Self::deserialize(o).ok()).collect()
    }
}
