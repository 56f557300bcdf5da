//! Changes that the server itself makes to a stored object, outside the rules that bind a client's update.

use kubewright_machinery::{Status, status};
use kubewright_store::WriteError;
use serde_json::Value;

use super::{Generic, update::MODIFIED};
use crate::{object::Object, request::RequestContext};

const ATTEMPTS: usize = 1000;

impl Generic {
    /// The object as it is now, decoded.
    pub async fn read(&self, cx: &RequestContext, name: &str) -> Result<Value, Status> {
        self.read_in(cx.namespace(), name).await
    }

    /// The same, of a namespace.
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

    /// Changes an object by compare-and-swap, again if somebody was faster. Neither strategy nor admission is asked.
    pub async fn rewrite(
        &self,
        cx: &RequestContext,
        name: &str,
        dry_run: bool,
        change: &(dyn Fn(&mut Value) -> Result<(), Status> + Send + Sync),
    ) -> Result<Object, Status> {
        self.rewrite_in(cx.namespace(), name, dry_run, change).await
    }

    /// The same, in a namespace.
    pub async fn rewrite_in(
        &self,
        namespace: &str,
        name: &str,
        dry_run: bool,
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
            let object = self.normalize(object)?;
            if dry_run {
                return Ok(self.unstored(&object));
            }
            match self
                .store
                .update(key.clone(), entry.revision, self.encode(&object).await?)
                .await
            {
                Ok(updated) => return self.object(&updated.entry).await,
                Err(WriteError::Conflict(_)) => {}
                Err(e) => return Err(Self::store_failure(&e)),
            }
        }
        Err(status::conflict(&self.resource, name, MODIFIED))
    }
}
