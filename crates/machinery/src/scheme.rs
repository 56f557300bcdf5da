//! Rust types and the kinds they represent.
//!
//! ```
//! use kubewright_machinery::{gvk::GroupVersionKind, scheme::Scheme};
//!
//! struct Widget;
//!
//! let mut scheme = Scheme::new();
//! scheme.register::<Widget>(GroupVersionKind::new("example.com", "v1", "Widget"))?;
//! assert_eq!(scheme.kind::<Widget>()?.kind, "Widget");
//! # Ok::<(), kubewright_machinery::scheme::SchemeError>(())
//! ```
//!
//! A [`Scheme`] maps types to kinds and back. Types that implement [`Kind`] know their own; any other `'static` type can
//! be registered with a kind of choice.

use std::{
    any::{TypeId, type_name},
    collections::{BTreeMap, HashMap},
};

use crate::gvk::{GroupVersionKind, GroupVersionResource};

/// A Rust type of one kind.
pub trait Kind: 'static {
    /// The group, empty for the core group.
    const GROUP: &'static str;
    /// `v1`
    const VERSION: &'static str;
    /// `Deployment`
    const KIND: &'static str;
    /// `deployments`
    const PLURAL: &'static str;
    /// `true` for a namespaced kind.
    const NAMESPACED: bool;

    /// The kind.
    fn gvk() -> GroupVersionKind {
        GroupVersionKind::new(Self::GROUP, Self::VERSION, Self::KIND)
    }

    /// The resource.
    fn gvr() -> GroupVersionResource {
        GroupVersionResource::new(Self::GROUP, Self::VERSION, Self::PLURAL)
    }
}

/// Types and their kinds.
#[derive(Clone, Debug, Default)]
pub struct Scheme {
    kinds: HashMap<TypeId, Vec<GroupVersionKind>>,
    types: BTreeMap<GroupVersionKind, Registered>,
}

#[derive(Clone, Copy, Debug)]
struct Registered {
    id: TypeId,
    name: &'static str,
}

/// A type or kind that is not in a scheme, or cannot be added to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// The kind already has another type.
    #[error("double registration of different types for {gvk}: old={old}, new={new}")]
    Taken {
        /// The kind.
        gvk: GroupVersionKind,
        /// The type that was there.
        old: &'static str,
        /// The type that came later.
        new: &'static str,
    },
    /// The type has no registered kind.
    #[error("no kind is registered for the type {0}")]
    NoKind(&'static str),
    /// The type is registered for several kinds.
    #[error("multiple kinds are registered for the type {0}")]
    ManyKinds(&'static str),
}

impl Scheme {
    /// Creates an empty scheme.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a type that knows its kind.
    ///
    /// # Errors
    ///
    /// Returns an error if the type or the kind is registered already, with another partner.
    pub fn add<K: Kind>(&mut self) -> Result<(), SchemeError> {
        self.register::<K>(K::gvk())
    }

    /// Adds a type under a kind. Adding it again is idempotent.
    ///
    /// # Errors
    ///
    /// Returns an error if the type or the kind is registered already, with another partner.
    pub fn register<K: 'static>(&mut self, gvk: GroupVersionKind) -> Result<(), SchemeError> {
        let (id, name) = (TypeId::of::<K>(), type_name::<K>());
        match self.types.get(&gvk) {
            Some(old) if old.id == id => return Ok(()),
            Some(old) => {
                return Err(SchemeError::Taken {
                    gvk,
                    old: old.name,
                    new: name,
                });
            }
            None => {}
        }
        self.types.insert(gvk.clone(), Registered { id, name });
        self.kinds.entry(id).or_default().push(gvk);
        Ok(())
    }

    /// Returns the kinds that a type represents.
    pub fn kinds<K: 'static>(&self) -> &[GroupVersionKind] {
        self.kinds
            .get(&TypeId::of::<K>())
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Returns the one kind that a type represents.
    ///
    /// # Errors
    ///
    /// Returns an error if the type is not registered, or for several kinds.
    pub fn kind<K: 'static>(&self) -> Result<&GroupVersionKind, SchemeError> {
        match self.kinds::<K>() {
            [one] => Ok(one),
            [] => Err(SchemeError::NoKind(type_name::<K>())),
            _ => Err(SchemeError::ManyKinds(type_name::<K>())),
        }
    }

    /// Returns the type that represents a kind.
    pub fn type_of(&self, gvk: &GroupVersionKind) -> Option<TypeId> {
        self.types.get(gvk).map(|r| r.id)
    }

    /// Reports whether a kind is registered.
    pub fn recognizes(&self, gvk: &GroupVersionKind) -> bool {
        self.types.contains_key(gvk)
    }

    /// All kinds, sorted.
    pub fn all_kinds(&self) -> impl Iterator<Item = &GroupVersionKind> {
        self.types.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pod;
    struct Other;

    impl Kind for Pod {
        const GROUP: &'static str = "";
        const VERSION: &'static str = "v1";
        const KIND: &'static str = "Pod";
        const PLURAL: &'static str = "pods";
        const NAMESPACED: bool = true;
    }

    #[test]
    fn types_and_kinds_find_each_other() {
        let mut scheme = Scheme::new();
        scheme.add::<Pod>().unwrap();
        scheme.add::<Pod>().unwrap();
        assert_eq!(scheme.kind::<Pod>().unwrap().to_string(), "/v1, Kind=Pod");
        assert_eq!(scheme.type_of(&Pod::gvk()), Some(TypeId::of::<Pod>()));
        assert!(scheme.recognizes(&Pod::gvk()));
        assert_eq!(Pod::gvr().resource, "pods");
        assert_eq!(scheme.all_kinds().count(), 1);
    }

    #[test]
    fn a_kind_belongs_to_one_type_but_a_type_may_have_several() {
        let mut scheme = Scheme::new();
        scheme.add::<Pod>().unwrap();
        let taken = scheme.register::<Other>(Pod::gvk()).unwrap_err();
        assert!(
            taken
                .to_string()
                .starts_with("double registration of different types for /v1, Kind=Pod")
        );
        assert!(matches!(
            scheme.kind::<Other>(),
            Err(SchemeError::NoKind(_))
        ));
        scheme
            .register::<Other>(GroupVersionKind::new("a", "v1", "X"))
            .unwrap();
        scheme
            .register::<Other>(GroupVersionKind::new("a", "v2", "X"))
            .unwrap();
        assert_eq!(scheme.kinds::<Other>().len(), 2);
        assert!(matches!(
            scheme.kind::<Other>(),
            Err(SchemeError::ManyKinds(_))
        ));
    }
}
