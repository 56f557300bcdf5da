//! `get`, and waiting for a revision.

use std::{sync::Arc, time::Duration};

use kubewright_derive::boxed_async;
use kubewright_machinery::{Status, go, status};
use kubewright_store::{ReadError, Revision, Snapshot};

use super::Generic;
use crate::{
    object::Object,
    registry::traits::Get,
    request::{GetOptions, RequestContext},
};

/// The time that a read waits for a revision in the future.
const FRESHNESS_WAIT: Duration = Duration::from_secs(3);
const FRESHNESS_POLL: Duration = Duration::from_millis(50);

#[boxed_async]
impl Get for Generic {
    async fn get(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Object, Status> {
        let wanted = parse_revision(&options.resource_version).map_err(status::unknown)?;
        if let Some(wanted) = wanted {
            self.wait_until(wanted).await?;
        }
        let key = self.checked_key(cx.namespace(), name)?;
        let entry = self
            .store
            .get(&key)
            .await
            .map_err(|e| Self::read_failure(&e))?;
        self.object(&entry.ok_or_else(|| self.not_found(name))?)
            .await
    }
}

impl Generic {
    /// Waits until the store has reached a revision, for a limited time.
    pub(super) async fn wait_until(&self, wanted: Revision) -> Result<(), Status> {
        let deadline = tokio::time::Instant::now() + FRESHNESS_WAIT;
        loop {
            let current = self
                .store
                .current()
                .await
                .map_err(|e| Self::read_failure(&e))?;
            if current >= wanted {
                return Ok(());
            }
            if tokio::time::Instant::now() >= deadline {
                return Err(too_large(wanted, current));
            }
            tokio::time::sleep(FRESHNESS_POLL).await;
        }
    }

    /// Returns a snapshot of the store, at the newest or the given revision.
    pub(super) async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, Status> {
        if let Some(at) = at {
            self.wait_until(at).await?;
        }
        self.store.snapshot(at).await.map_err(|e| match e {
            ReadError::Future { requested, current } => too_large(requested, current),
            e => Self::read_failure(&e),
        })
    }
}

fn too_large(requested: Revision, current: Revision) -> Status {
    let mut error = status::too_large_resource_version(requested.0, current.0);
    error.message = format!("Timeout: {}", error.message.trim_start_matches("Timeout: "));
    error
}

/// Parses a resourceVersion; unset and `0` are `None`. The error is the message of kube-apiserver.
pub(super) fn parse_revision(text: &str) -> Result<Option<Revision>, String> {
    if text.is_empty() || text == "0" {
        return Ok(None);
    }
    let quoted = go::quote(text);
    let bad = |what: &str| {
        format!(
            "resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: {what}"
        )
    };
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad("invalid syntax"));
    }
    match text.parse() {
        Ok(0) => Ok(None),
        Ok(n) => Ok(Some(Revision(n))),
        Err(_) => Err(bad("value out of range")),
    }
}
