//! The store in memory keeps to the contract of all stores.

use std::sync::Arc;

use kubewright_store::{
    MemoryStore, Revision, Store,
    conformance::{self, Subject},
};

fn subject(store: MemoryStore) -> Subject {
    let (forked, aged) = (store.clone(), store.clone());
    Subject::new(Arc::new(store))
        .forked_by(move || {
            let fork: Arc<dyn Store> = Arc::new(forked.fork());
            async move { fork }
        })
        .aged_by(move |time| {
            let store = aged.clone();
            async move {
                tokio::time::advance(time).await;
                store.expire_due();
            }
        })
        .keeping_snapshots()
}

fn assert_all_passed(report: &conformance::Report) {
    assert!(report.failed.is_empty(), "{report}");
    // A store in memory cannot be closed and opened again; that is all it cannot do.
    let is_reopening = |why: &str| why == "the store cannot be reopened";
    assert!(
        report.skipped.iter().all(|(_, why)| is_reopening(why)),
        "{report}"
    );
    assert_eq!(report.skipped.len(), 4, "{report}");
    assert_eq!(report.passed.len() + 4, conformance::checks().len());
}

#[tokio::test(start_paused = true)]
async fn the_store_in_memory_keeps_to_the_contract() {
    let report = conformance::run(&|| async { subject(MemoryStore::new()) }).await;
    assert_all_passed(&report);
}

#[tokio::test(start_paused = true)]
async fn so_it_does_wherever_its_revisions_start() {
    for start in [9, 99, 1 << 40] {
        let open = move || async move { subject(MemoryStore::starting_at(Revision(start))) };
        assert_all_passed(&conformance::run(&open).await);
    }
}

#[tokio::test(start_paused = true)]
async fn so_does_a_fork() {
    let open = || async {
        let original = MemoryStore::new();
        subject(original.fork())
    };
    assert_all_passed(&conformance::run(&open).await);
}

#[tokio::test]
async fn unclaimed_features_of_a_store_are_skipped() {
    let open = || async { Subject::new(Arc::new(MemoryStore::new())) };
    let report = conformance::run(&open).await;
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.skipped.len(), 11, "{report}");
}

#[test]
fn the_names_of_checks_are_unique() {
    let mut names: Vec<_> = conformance::checks()
        .iter()
        .map(|check| check.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), conformance::checks().len());
}
