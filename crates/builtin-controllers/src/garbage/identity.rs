//! Identities in the graph: [`Uid`], [`Identity`], [`OwnerRef`].

use std::{fmt, sync::Arc};

use kubewright_informer::{Owner, StoredObject};

/// The uid of an object.
pub(super) type Uid = Arc<str>;

/// The coordinates of an object. The namespace is empty for cluster-scoped objects.
///
/// Ordered by kind and version first, for namespaced and cluster-scoped objects alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) kind: Arc<str>,
    pub(super) api_version: Arc<str>,
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) uid: Uid,
}

/// An owner as its dependent names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnerRef {
    pub(super) api_version: Arc<str>,
    pub(super) kind: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) uid: Uid,
    /// True if the dependent blocks the foreground deletion of the owner.
    pub(super) blocks: bool,
}

/// The properties of a kind that the graph needs.
#[derive(Clone, Debug)]
pub(super) struct ObjectKind {
    pub(super) api_version: Arc<str>,
    pub(super) kind: Arc<str>,
}

/// The condition that an object's deletion waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Deletion {
    pub(super) begun: bool,
    /// Its dependents must be orphaned first.
    pub(super) orphan: bool,
    /// Its dependents must be deleted first.
    pub(super) foreground: bool,
}

/// The finalizer of objects whose dependents are to be orphaned.
pub(super) const ORPHAN: &str = "orphan";

/// The finalizer of objects whose dependents are to be deleted first.
pub(super) const FOREGROUND: &str = "foregroundDeletion";

impl Identity {
    /// Returns the identity of an object that a watch has shown.
    pub(super) fn of(object: &StoredObject, kind: &ObjectKind) -> Self {
        Self {
            kind: kind.kind.clone(),
            api_version: kind.api_version.clone(),
            namespace: object.namespace().unwrap_or_default().into(),
            name: object.name().into(),
            uid: object.uid().into(),
        }
    }

    /// Returns whether the owner reference names this object, ignoring the namespace.
    pub(super) fn is_named_by(&self, owner: &OwnerRef) -> bool {
        self.uid == owner.uid
            && self.name == owner.name
            && self.kind == owner.kind
            && self.api_version == owner.api_version
    }

    pub(super) fn is_namespaced(&self) -> bool {
        !self.namespace.is_empty()
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{}/{}, namespace: {}, name: {}, uid: {}]",
            self.api_version, self.kind, self.namespace, self.name, self.uid
        )
    }
}

impl OwnerRef {
    /// Returns the identity that the reference names, seen from a dependent in that namespace.
    pub(super) fn seen_from(&self, namespace: &Arc<str>) -> Identity {
        Identity {
            kind: self.kind.clone(),
            api_version: self.api_version.clone(),
            namespace: namespace.clone(),
            name: self.name.clone(),
            uid: self.uid.clone(),
        }
    }
}

impl From<Owner> for OwnerRef {
    fn from(owner: Owner) -> Self {
        Self {
            api_version: owner.api_version.into(),
            kind: owner.kind.into(),
            name: owner.name.into(),
            uid: owner.uid.into(),
            blocks: owner.block_owner_deletion,
        }
    }
}

impl Deletion {
    /// Returns the references of an object that a watch has shown.
    pub(super) fn of(object: &StoredObject) -> Self {
        if object.deletion_timestamp().is_none() {
            return Self::default();
        }
        let finalizers = object.finalizers();
        let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
        Self {
            begun: true,
            orphan: has(ORPHAN),
            foreground: has(FOREGROUND),
        }
    }
}
