//! CRDs that other servers of the same store write.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use kubewright_machinery::{Status, status};
use kubewright_store::{Revision, Store, Watch};
use tokio::time::sleep;

use super::{Crds, GROUP, PLURAL};
use crate::kinds::collection;

/// The pause before CRDs are watched again after a watch has ended.
const PAUSE: Duration = Duration::from_millis(100);

impl Crds {
    /// Serves what other servers change, from now on. The task ends with the server.
    pub(crate) async fn follow_others(self: &Arc<Self>) -> Result<(), Status> {
        let store = self.environment.store.clone();
        let now = store.current().await.map_err(status::internal)?;
        let watch = watch(&store, now).await.map_err(status::internal)?;
        tokio::spawn(follow(Arc::downgrade(self), store, watch));
        Ok(())
    }

    /// Processes all CRDs, since changes may have been missed.
    async fn sync_all(self: &Arc<Self>) -> Result<(), Status> {
        let stored = self.all().await?;
        let mut names: Vec<String> = self.installed.lock().await.keys().cloned().collect();
        let stored = stored
            .iter()
            .filter_map(|crd| crd["metadata"]["name"].as_str());
        names.extend(stored.map(str::to_owned));
        names.sort();
        names.dedup();
        for name in names {
            self.sync(&name).await?;
        }
        Ok(())
    }
}

async fn watch(
    store: &Arc<dyn Store>,
    after: Revision,
) -> Result<Box<dyn Watch>, kubewright_store::ReadError> {
    store.watch(&collection(GROUP, PLURAL), "", after).await
}

async fn follow(crds: Weak<Crds>, store: Arc<dyn Store>, mut changes: Box<dyn Watch>) {
    loop {
        let next = changes.next().await;
        let Some(crds) = crds.upgrade() else {
            return;
        };
        let synced = match next {
            Ok(changed) => {
                let mut synced = Ok(());
                for change in changed {
                    synced = synced.and(crds.sync(&change.entry.path).await);
                }
                synced
            }
            Err(_) => {
                // It fell behind, or the store is closing.
                let Some(again) = resumed(&store).await else {
                    return;
                };
                changes = again;
                crds.sync_all().await
            }
        };
        if let Err(error) = synced {
            tracing::warn!(error = %error.message, "a CRD of another server could not be processed");
            sleep(PAUSE).await;
            if let Err(error) = crds.sync_all().await {
                tracing::warn!(error = %error.message, "CRDs could not be processed");
            }
        }
    }
}

/// Watches again, from before the newest CRDs are read.
async fn resumed(store: &Arc<dyn Store>) -> Option<Box<dyn Watch>> {
    for _ in 0..100 {
        sleep(PAUSE).await;
        let Ok(now) = store.current().await else {
            continue;
        };
        if let Ok(changes) = watch(store, now).await {
            return Some(changes);
        }
    }
    None
}
