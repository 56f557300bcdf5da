//! [`Changes`]: the changes of the store that the conditions depend on.

use std::sync::Arc;

use kubewright_machinery::{Status, status};
use kubewright_store::{Store, Watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    super::{GROUP, PLURAL},
    PAUSE, SERVICES, SLICES,
};
use crate::kinds::collection;

/// Whether an APIService names another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    Exist,
    None,
}

/// Waits for changes of APIServices, and of Services and endpoints if there are other servers.
pub(super) struct Changes {
    store: Arc<dyn Store>,
    api_services: Option<Box<dyn Watch>>,
    others: Option<[Box<dyn Watch>; 2]>,
}

impl Changes {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            api_services: None,
            others: None,
        }
    }

    /// Begins to watch, before anything is read.
    pub(super) async fn start(&mut self) -> Result<(), Status> {
        if self.api_services.is_none() {
            self.api_services = Some(watch(&self.store, &collection(GROUP, PLURAL)).await?);
        }
        if self.others.is_none() {
            let services = watch(&self.store, SERVICES).await?;
            self.others = Some([services, watch(&self.store, SLICES).await?]);
        }
        Ok(())
    }

    /// Waits for a change, or until the time of the next check. Without `others`, only APIServices matter.
    pub(super) async fn wait(&mut self, others: Others, next: Option<Instant>) {
        let Some(api_services) = &mut self.api_services else {
            return;
        };
        let due = async {
            match next {
                Some(next) => sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        let ended = match (others, &mut self.others) {
            (Others::Exist, Some([services, slices])) => tokio::select! {
                changed = api_services.next() => changed.is_err(),
                changed = services.next() => changed.is_err(),
                changed = slices.next() => changed.is_err(),
                () = due => false,
            },
            _ => {
                // Without other servers, Services do not matter; they are watched anew when they do.
                self.others = None;
                api_services.next().await.is_err()
            }
        };
        if ended {
            // It fell behind, or the store is closing. Everything is read anew.
            (self.api_services, self.others) = (None, None);
            sleep(PAUSE).await;
        }
    }
}

async fn watch(store: &Arc<dyn Store>, collection: &str) -> Result<Box<dyn Watch>, Status> {
    let current = store.current().await.map_err(status::internal)?;
    let watch = store.watch(collection, "", current).await;
    watch.map_err(status::internal)
}
