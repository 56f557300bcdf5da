//! A watch of one Lease, as good as it can be had.
//!
//! What is not allowed or breaks off is not an error: whoever waits here polls as well.

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

    /// Forgets what has come and was not looked at yet.
    pub(super) fn reset(&mut self) {
        self.stream = None;
    }

    /// Shows what the Lease becomes until that was it; `None` means that it is gone. Never ends where the Lease cannot be
    /// watched. The next call watches again if this one was dropped or broke off.
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

    /// From whatever revision the server has at hand: it begins with the Lease as it is, and cannot be too old.
    async fn open(&mut self) {
        let params = WatchParams::default().fields(&format!("metadata.name={}", self.name));
        match self.api.watch(&params, "0").await {
            Ok(stream) => self.stream = Some(stream.boxed()),
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 405) => {
                tracing::info!(
                    lease = self.name,
                    "the lease may not be watched, it is polled instead: {}",
                    status.message
                );
                self.enabled = false;
            }
            Err(e) => tracing::debug!(lease = self.name, "cannot watch the lease: {e}"),
        }
    }
}
