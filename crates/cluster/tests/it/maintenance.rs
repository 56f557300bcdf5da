//! The maintenance of the store.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kubewright_cluster::{Cluster, Storage};
use kubewright_store::MemoryStore;

#[tokio::test(start_paused = true)]
async fn maintenance_runs_with_the_cluster() {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let (runs, ended) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let (seen, guard) = (runs.clone(), Dropped(Arc::clone(&ended)));
    let storage = Storage::new(Arc::new(MemoryStore::new())).maintenance(async move {
        let _guard = guard;
        seen.store(true, Ordering::SeqCst);
        std::future::pending().await
    });
    let cluster = Cluster::builder().store(storage).start().await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(runs.load(Ordering::SeqCst));
    assert!(!ended.load(Ordering::SeqCst));
    drop(cluster);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(ended.load(Ordering::SeqCst));
}
