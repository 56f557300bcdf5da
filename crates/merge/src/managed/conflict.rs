//! Conflicts: fields that an apply would change and others own.

use super::entry::{Entry, Operation};
use crate::fieldset::{FieldSet, Path};
use kubewright_machinery::go;
use std::fmt;

/// A conflict about one field, which another manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The identity of the owner, by which conflicts are sorted.
    identifier: String,
    /// The owner as messages print it: `"kubectl" using v1`.
    pub owner: String,
    /// The field.
    pub path: Path,
}

/// All conflicts of an apply; at least one, grouped by owner. Prints as the message of the status.
///
/// ```
/// # use kubewright_machinery::time::Time;
/// # use kubewright_merge::managed::{Endpoint, OneVersion};
/// # use kubewright_merge::schema::Deduced;
/// use kubewright_merge::managed::{Apply, ApplyError, apply};
/// use serde_json::json;
///
/// # let versions = OneVersion::default();
/// # let endpoint = Endpoint {
/// #     schema: Deduced,
/// #     api_version: "example.com/v1",
/// #     kind: "Widget",
/// #     subresource: "",
/// #     versions: &versions,
/// # };
/// # let empty = json!({"apiVersion": "example.com/v1", "kind": "Widget"});
/// # let now = Time::from_unix(0, 0);
/// let config = |size: u32| json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": size}});
/// let (mine, theirs) = (config(1), config(2));
/// let first = Apply { live: &empty, empty: &empty, patch: &mine, manager: "me", force: false, now };
/// let live = apply(&first, &endpoint)?.object;
/// let second = Apply { live: &live, patch: &theirs, manager: "you", ..first };
/// let Err(ApplyError::Conflicts(conflicts)) = apply(&second, &endpoint) else {
///     panic!("both managers set the size");
/// };
/// assert_eq!(conflicts.causes()[0].field, ".spec.size");
/// assert_eq!(conflicts.causes()[0].message, r#"conflict with "me""#);
/// # Ok::<(), ApplyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(Vec<Conflict>);

/// A cause in the details of the status; its reason is `FieldManagerConflict`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The owner of the field.
    pub message: String,
    /// The path of the field.
    pub field: String,
}

impl Conflicts {
    pub(super) fn sorted(mut conflicts: Vec<Conflict>) -> Self {
        conflicts.sort_by(|a, b| a.identifier.cmp(&b.identifier));
        Conflicts(conflicts)
    }

    /// The conflicts.
    pub fn iter(&self) -> impl Iterator<Item = &Conflict> {
        self.0.iter()
    }

    /// The causes for the details of the status.
    pub fn causes(&self) -> Vec<Cause> {
        let cause = |conflict: &Conflict| Cause {
            message: format!("conflict with {}", conflict.owner),
            field: conflict.path.to_string(),
        };
        self.0.iter().map(cause).collect()
    }

    /// The conflicts outside of `allowed`; none if that is all.
    pub(super) fn outside(self, allowed: &FieldSet) -> Option<Conflicts> {
        let mut conflicts = self.0;
        conflicts.retain(|conflict| !allowed.contains(conflict.path.as_ref()));
        (!conflicts.is_empty()).then_some(Conflicts(conflicts))
    }
}

impl Conflict {
    pub(super) fn new(entry: &Entry, path: Path) -> Self {
        let mut owner = go::quote(&entry.manager);
        if !entry.subresource.is_empty() {
            owner.push_str(" with subresource ");
            owner.push_str(&go::quote(&entry.subresource));
        }
        if entry.operation == Operation::Update {
            owner.push_str(" using ");
            owner.push_str(&entry.api_version);
        }
        Conflict {
            identifier: entry.identifier(),
            owner,
            path,
        }
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [conflict] = self.0.as_slice() {
            let Conflict { owner, path, .. } = conflict;
            return write!(
                f,
                "Apply failed with 1 conflict: conflict with {owner}: {path}"
            );
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut owner = None;
        for (i, conflict) in self.0.iter().enumerate() {
            if owner != Some(&conflict.identifier) {
                let line = if i > 0 { "\n" } else { "" };
                write!(f, "{line}conflicts with {}:", conflict.owner)?;
                owner = Some(&conflict.identifier);
            }
            write!(f, "\n- {}", conflict.path)?;
        }
        Ok(())
    }
}

impl std::error::Error for Conflicts {}
