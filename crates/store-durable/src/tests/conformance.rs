//! The durable store passes the conformance suite of stores, even if it is reopened before every step.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use kubewright_store::{
    Store,
    conformance::{self, Subject},
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Rng, harness::options};
use crate::{
    Clock, DurableStore, SyncMode,
    disk::sim::{Cut, SimDisk},
};

/// A disk, and its open store.
#[derive(Clone)]
struct Machine {
    disk: SimDisk,
    store: Arc<Mutex<Option<DurableStore>>>,
    began: Instant,
}

impl Machine {
    fn new(disk: SimDisk) -> Self {
        Self {
            disk,
            store: Arc::default(),
            began: Instant::now(),
        }
    }

    /// Reopens the store. The wall clock follows tokio's clock.
    fn open(&self) -> DurableStore {
        if let Some(store) = self.store.lock().take() {
            store.close();
        }
        let mut options = options(SyncMode::Always);
        let began = self.began;
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        options.clock = Clock::new(move || start + began.elapsed());
        let disk = Arc::new(self.disk.clone());
        let store = DurableStore::open_inline(disk, options).unwrap();
        *self.store.lock() = Some(store.clone());
        store
    }

    fn subject(self) -> Subject {
        let store = self.open();
        let (forked, aged) = (self.clone(), self.clone());
        Subject::new(Arc::new(store))
            .forked_by(move || {
                let store = forked.store.lock().clone().unwrap();
                let fork: Arc<dyn Store> = Arc::new(store.fork());
                async move { fork }
            })
            .aged_by(move |time| {
                let store = aged.store.lock().clone().unwrap();
                async move {
                    tokio::time::advance(time).await;
                    store.expire_due().await;
                }
            })
            .reopened_by(move || {
                let store: Arc<dyn Store> = Arc::new(self.open());
                async move { store }
            })
            .keeping_snapshots()
    }
}

fn assert_all_passed(report: &conformance::Report) {
    assert!(
        report.failed.is_empty() && report.skipped.is_empty(),
        "{report}"
    );
    assert_eq!(report.passed.len(), conformance::checks().len());
}

#[tokio::test(start_paused = true)]
async fn the_durable_store_passes_the_conformance_suite() {
    let open = || async { Machine::new(SimDisk::default()).subject() };
    assert_all_passed(&conformance::run(&open).await);
}

#[tokio::test(start_paused = true)]
async fn it_passes_if_it_is_reopened_before_every_step() {
    let open = || async {
        let subject = Machine::new(SimDisk::default()).subject();
        subject.reopened_before_every_step()
    };
    assert_all_passed(&conformance::run(&open).await);
}

#[tokio::test(start_paused = true)]
async fn it_passes_after_power_failures() {
    let open = || async {
        let machine = Machine::new(SimDisk::default());
        machine.open();
        Machine::new(machine.disk.after(Cut::Mixed, &mut Rng::new(3))).subject()
    };
    assert_all_passed(&conformance::run(&open).await);
}
