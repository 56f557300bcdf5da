//! The store in etcd passes the conformance suite of stores.

use std::sync::Arc;

use futures_util::future::join_all;
use kubewright_store::{
    Store,
    conformance::{self, Harness, Stop, Subject},
};
use kubewright_store_etcd::Options;

use crate::etcd::{Etcd, open};

/// Opens each store under its own prefix.
struct Prefixes {
    etcd: Etcd,
    reopened: bool,
}

#[async_trait::async_trait]
impl Harness for Prefixes {
    async fn open(&self) -> Subject {
        let subject = subject(self.etcd.options()).await;
        match self.reopened {
            true => subject.reopened_before_every_step(),
            false => subject,
        }
    }
}

async fn subject(options: Options) -> Subject {
    let store = open(&options).await;
    let forked = store.clone();
    Subject::new(Arc::new(store))
        .forked_by(move || {
            let forked = forked.clone();
            async move {
                // Another store has written: a read waits until this store has seen it.
                forked.current().await.expect("the store answers");
                Arc::new(forked.fork()) as Arc<dyn Store>
            }
        })
        .reopened_by(move || {
            let options = options.clone();
            async move { Arc::new(open(&options).await) as Arc<dyn Store> }
        })
        .keeping_snapshots()
        .with_gaps()
}

/// The number of etcds. Opening a store takes a tenth of a second, and a compaction affects all prefixes of an etcd.
const GROUPS: usize = 8;

async fn run(name: &'static str, reopened: bool) {
    let checks = conformance::checks();
    let groups = (0..GROUPS).map(|group| {
        let checks: Vec<_> = checks.iter().skip(group).step_by(GROUPS).copied().collect();
        async move {
            let etcd = Etcd::start(name, &[]).await?;
            let prefixes = Prefixes { etcd, reopened };
            let mut skipped = 0;
            for check in checks {
                match check.run(&prefixes).await {
                    Ok(()) => {}
                    // Time cannot be advanced in etcd; other tests cover lifetimes.
                    Err(Stop::Skipped("time cannot be passed" | "revisions have gaps")) => {
                        skipped += 1
                    }
                    Err(stop) => panic!("{}: {stop:?}", check.name),
                }
            }
            Some(skipped)
        }
    });
    let skipped: Option<Vec<usize>> = join_all(groups).await.into_iter().collect();
    if let Some(skipped) = skipped {
        assert!(skipped.iter().sum::<usize>() <= 6, "{skipped:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_etcd_passes_the_conformance_suite() {
    run("the_store_in_etcd_passes_the_conformance_suite", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_passes_if_it_is_reopened_before_every_step() {
    run("it_passes_if_it_is_reopened_before_every_step", true).await;
}
