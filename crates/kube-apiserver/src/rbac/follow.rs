//! [`Policy`]: the roles and bindings of a store, always as new as the store.

use std::sync::Arc;

use bytes::Bytes;
use kubewright_apiserver::request::UserInfo;
use kubewright_rbac::{GROUP, PolicyKind, PolicyRule};
use kubewright_store::ReadError;

use super::index::{Index, KINDS, MissingRole, RoleRef};
use crate::{
    follow::{self, Following},
    kinds::collection,
};

/// The roles and bindings of a store.
pub(crate) type Policy = Following<Index>;

impl follow::Index for Index {
    type Kind = PolicyKind;

    fn collections() -> Vec<(PolicyKind, Arc<str>)> {
        let all = KINDS.iter();
        all.map(|kind| (*kind, collection(GROUP, kind.resource())))
            .collect()
    }

    fn put(&mut self, kind: PolicyKind, path: &Arc<str>, bytes: &Bytes) {
        self.put(kind, path, bytes);
    }

    fn remove(&mut self, kind: PolicyKind, path: &str) {
        self.remove(kind, path);
    }
}

impl Policy {
    /// Returns the rules that apply to a user in a namespace, and the roles that do not exist.
    pub(super) async fn rules_for(
        &self,
        user: &UserInfo,
        namespace: &str,
    ) -> Result<(Vec<Arc<[PolicyRule]>>, Vec<MissingRole>), ReadError> {
        Ok(self.index().await?.rules_for(user, namespace))
    }

    /// Returns the rules of a role that a binding in a namespace refers to.
    pub(super) async fn role(
        &self,
        role: &RoleRef,
        namespace: &str,
    ) -> Result<Result<Arc<[PolicyRule]>, MissingRole>, ReadError> {
        Ok(self.index().await?.role(role, namespace).cloned())
    }
}

#[cfg(test)]
mod tests;
