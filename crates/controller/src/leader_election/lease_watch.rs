//! A watch of one Lease, on a best-effort basis.
//!
//! Missing permissions and broken connections are not errors, since the caller polls as well.

use std::pin::pin;

use futures_util::{StreamExt, stream::BoxStream};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api,
    api::{WatchEvent, WatchParams},
};

pub(super) struct LeaseWatch {
    api: Api<Lease>,
    name: String,
    stream: Option<BoxStream<'static, kube::Result<WatchEvent<Lease>>>>,
    enabled: bool,
}

impl LeaseWatch {
    pub(super) fn new(api: Api<Lease>, name: &str, enabled: bool) -> Self {
        Self {
            api,
            name: name.to_owned(),
            stream: None,
            enabled,
        }
    }

    /// Discards events that have arrived and were not handled yet.
    pub(super) fn reset(&mut self) {
        self.stream = None;
    }

    /// Waits for a state of the Lease that satisfies the closure; `None` means that it was deleted. Never ends if the
    /// Lease cannot be watched. The next call watches again if this one was dropped or broke off.
    pub(super) async fn until(&mut self, mut enough: impl FnMut(Option<&LeaseSpec>) -> bool) {
        if self.enabled && self.stream.is_none() {
            self.open().await;
        }
        while let Some(stream) = &mut self.stream {
            let mut stream = pin!(stream);
            match stream.next().await {
                Some(Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => {
                    if enough(Some(&lease.spec.unwrap_or_default())) {
                        return;
                    }
                }
                Some(Ok(WatchEvent::Deleted(_))) => {
                    if enough(None) {
                        return;
                    }
                }
                Some(Ok(WatchEvent::Bookmark(_))) => {}
                Some(Ok(WatchEvent::Error(_)) | Err(_)) | None => self.stream = None,
            }
        }
        std::future::pending().await
    }

    /// At any version the server has: the watch begins with the current Lease, and cannot be too old.
    async fn open(&mut self) {
        let params = WatchParams::default().fields(&format!("metadata.name={}", self.name));
        match self.api.watch(&params, "0").await {
            Ok(stream) => self.stream = Some(stream.boxed()),
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 405) => {
                tracing::info!(
                    lease = self.name,
                    "cannot watch the lease, polling it instead: {}",
                    status.message
                );
                self.enabled = false;
            }
            Err(e) => tracing::debug!(lease = self.name, error = %e, "cannot watch the lease"),
        }
    }
}
