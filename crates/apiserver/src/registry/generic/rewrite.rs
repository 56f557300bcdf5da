//! Changes that the server itself makes to stored objects, without strategy and admission.

use kubewright_ledger::Change;
use kubewright_machinery::{Status, status};
use kubewright_store::WriteError;
use serde_json::Value;

use super::{Generic, update::MODIFIED};
use crate::{ledger::note, object::Object, registry::Draft, request::RequestContext};

const ATTEMPTS: usize = 1000;

/// Selects whether a change is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// The change is written.
    No,
    /// The change is computed and returned, but not written.
    Yes,
}

impl From<bool> for DryRun {
    fn from(dry_run: bool) -> Self {
        match dry_run {
            true => Self::Yes,
            false => Self::No,
        }
    }
}

impl Generic {
    /// Returns the stored object, decoded.
    ///
    /// # Errors
    ///
    /// Fails with 404 if there is no object of that name.
    pub async fn read(&self, cx: &RequestContext, name: &str) -> Result<Value, Status> {
        self.read_in(cx.namespace(), name).await
    }

    /// Returns the stored object of a namespace, decoded.
    ///
    /// # Errors
    ///
    /// Fails with 404 if there is no object of that name.
    pub async fn read_in(&self, namespace: &str, name: &str) -> Result<Value, Status> {
        let key = self.checked_key(namespace, name)?;
        let entry = self
            .store
            .get(&key)
            .await
            .map_err(|e| Self::read_failure(&e))?;
        self.decode(&entry.ok_or_else(|| self.not_found(name))?)
            .await
    }

    /// Changes an object by compare-and-swap, and retries after a conflict. It runs neither strategy nor admission.
    ///
    /// # Errors
    ///
    /// Fails with 404 if there is no object of that name, and with the error of `change`.
    pub async fn rewrite(
        &self,
        cx: &RequestContext,
        name: &str,
        dry_run: DryRun,
        change: &(dyn Fn(&mut Value) -> Result<(), Status> + Send + Sync),
    ) -> Result<Object, Status> {
        self.rewrite_in(cx.namespace(), name, dry_run, change).await
    }

    /// [`Generic::rewrite`] in a namespace.
    ///
    /// # Errors
    ///
    /// Those of [`Generic::rewrite`].
    pub async fn rewrite_in(
        &self,
        namespace: &str,
        name: &str,
        dry_run: DryRun,
        change: &(dyn Fn(&mut Value) -> Result<(), Status> + Send + Sync),
    ) -> Result<Object, Status> {
        let key = self.checked_key(namespace, name)?;
        for _ in 0..ATTEMPTS {
            let entry = self
                .store
                .get(&key)
                .await
                .map_err(|e| Self::read_failure(&e))?;
            let entry = entry.ok_or_else(|| self.not_found(name))?;
            let mut object = self.decode(&entry).await?;
            change(&mut object)?;
            let draft = Draft::from(self.normalize(object)?);
            if dry_run == DryRun::Yes {
                return Ok(self.unstored(&draft.value));
            }
            match self
                .store
                .update(key.clone(), entry.revision, self.encode(&draft).await?)
                .await
            {
                Ok(updated) => {
                    match updated.changed {
                        true => note::committed(&self.spec, Change::Updated, &updated.entry),
                        false => note::unchanged(),
                    }
                    return self.object(&updated.entry).await;
                }
                Err(WriteError::Conflict(_)) => {}
                Err(e) => return Err(Self::store_failure(&e)),
            }
        }
        Err(status::conflict(&self.resource, name, MODIFIED))
    }
}
