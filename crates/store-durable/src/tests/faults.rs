//! Full and failing disks.

use std::sync::Arc;

use futures_util::FutureExt;
use kubewright_store::{Key, Payload, Revision, Store, WriteError};

use super::{harness::options, model::payload};
use crate::{
    DurableStore, StoreHealth, SyncMode,
    disk::sim::{Cut, SimDisk},
    engine::{Engine, Op},
};

fn key(path: &str) -> Key {
    Key::new("pods", path)
}

fn open(disk: &SimDisk) -> DurableStore {
    DurableStore::open_inline(Arc::new(disk.clone()), options(SyncMode::Always)).unwrap()
}

fn engine(disk: &SimDisk) -> Engine {
    let options = options(SyncMode::Always);
    let opened = Engine::open(Arc::new(disk.clone()), options, "/data").unwrap();
    opened.engine
}

fn roomy_engine(disk: &SimDisk) -> Engine {
    let mut options = options(SyncMode::Always);
    options.segment_bytes = 64 << 10;
    let opened = Engine::open(Arc::new(disk.clone()), options, "/data").unwrap();
    opened.engine
}

async fn create(store: &DurableStore, path: &str) -> Result<Revision, WriteError> {
    let created = store.create(key(path), payload("something", None)).await?;
    Ok(created.revision)
}

#[tokio::test]
async fn after_a_failed_sync_only_reads_succeed() {
    let disk = SimDisk::default();
    let store = open(&disk);
    create(&store, "before").await.unwrap();
    for call in 0..2 {
        let disk = disk.after(Cut::Keep, &mut super::Rng::new(7));
        let store = open(&disk);
        // The write of the frame, or its sync.
        if call == 0 {
            disk.fail_next();
        } else {
            let failing = disk.clone();
            let mut calls = 0;
            super::set_hook(Some(Box::new(move |_| {
                calls += 1;
                if calls == 2 {
                    failing.fail_next();
                }
            })));
        }
        let error = create(&store, "during").await.unwrap_err();
        super::set_hook(None);
        assert!(
            error.to_string().contains("the store's disk failed"),
            "{error}"
        );
        let error = create(&store, "after").await.unwrap_err();
        assert!(error.to_string().contains("until the server is restarted"));
        assert!(matches!(store.health(), StoreHealth::Failed(_)));
        let ready = store.ready().await.unwrap_err().to_string();
        assert!(ready.contains("the store's disk failed"), "{ready}");
        assert!(store.get(&key("before")).await.unwrap().is_some());
        assert!(store.get(&key("during")).await.unwrap().is_none());
        assert_eq!(store.current().await.unwrap(), Revision(1));
        let before = disk.calls();
        store.close();
        assert_eq!(
            disk.calls(),
            before,
            "the disk was written to after a failed sync"
        );
    }
}

#[test]
fn a_full_disk_is_detected_before_a_write_is_accepted() {
    let disk = SimDisk::default();
    let engine = roomy_engine(&disk);
    let submit = |op| {
        let ticket = engine.submit(op).ok().expect("room");
        engine.commit();
        let settled = ticket.settled().now_or_never().expect("an answer");
        settled.map(|answer| answer.entry.revision)
    };
    let mut last = submit(Op::Create(key("0"), payload("something", None))).unwrap();
    disk.set_capacity(Some(disk.used()));
    let mut created = 1;
    let refused = loop {
        engine.prepare_spare();
        match submit(Op::Create(
            key(&created.to_string()),
            payload("something", None),
        )) {
            Ok(revision) => last = revision,
            Err(error) => break error.to_string(),
        }
        created += 1;
        assert!(created < 40, "no write is refused");
    };
    assert!(
        refused.contains("the store's disk is full: /data has 0 B free"),
        "{refused}"
    );
    assert!(refused.contains("deletes still work"), "{refused}");
    assert_eq!(engine.published.contents().revision(), last);
    let grown = submit(Op::Update(
        key("0"),
        Revision(1),
        payload("something longer", None),
    ));
    assert!(grown.unwrap_err().to_string().contains("full"));
    // The first step of a graceful deletion makes the object a little longer.
    let begins_deletion = |length: usize| Payload {
        for_deletion: true,
        ..payload(&"x".repeat(length), None)
    };
    let too_much = Op::Update(key("0"), Revision(1), begins_deletion(5000));
    assert!(submit(too_much).unwrap_err().to_string().contains("full"));
    let marked = Op::Update(key("0"), Revision(1), begins_deletion(200));
    let marked = submit(marked).unwrap();
    let shrunk = submit(Op::Update(key("0"), marked, payload("some", None))).unwrap();
    let deleted = submit(Op::Delete(key("0"), shrunk)).unwrap();
    assert_eq!(deleted.0, last.0 + 3);
    // With space, writes succeed without a restart.
    disk.set_capacity(None);
    assert!(engine.prepare_spare());
    assert!(engine.unhealthy().is_none());
    submit(Op::Create(key("more"), payload("something", None))).unwrap();
    let again = roomy_engine(&disk);
    let revision = again.published.contents().revision();
    assert_eq!(revision, engine.published.contents().revision());
}

#[test]
fn nothing_is_lost_when_the_reserve_is_exhausted() {
    let disk = SimDisk::default();
    let engine = engine(&disk);
    for n in 0..4 {
        let op = Op::Create(key(&n.to_string()), payload("something", None));
        assert!(engine.submit(op).is_ok());
    }
    engine.commit();
    disk.set_capacity(Some(disk.used()));
    engine.check_space();
    let mut outcomes = Vec::new();
    for n in 0..4 {
        let ticket = engine.submit(Op::Delete(key(&n.to_string()), Revision(n + 1)));
        let ticket = ticket.ok().expect("room");
        assert!(ticket.answer.is_ok());
        engine.commit();
        outcomes.push(ticket.outcome.and_then(|outcome| outcome.known()));
    }
    assert!(
        outcomes
            .iter()
            .any(|outcome| matches!(outcome, Some(Err(_))))
    );
    let deleted = outcomes.iter().filter(|o| **o == Some(Ok(()))).count() as u64;
    let revision = engine.published.contents().revision();
    assert_eq!(revision.0, 4 + deleted);
    let again = self::engine(&disk.after(Cut::Lose, &mut super::Rng::new(1)));
    assert_eq!(again.published.contents().revision(), revision);
}

#[test]
fn failed_checkpoints_change_nothing() {
    let disk = SimDisk::default();
    let engine = engine(&disk);
    for n in 0..6 {
        let op = Op::Create(key(&n.to_string()), payload("something", None));
        assert!(engine.submit(op).is_ok());
        engine.commit();
    }
    let before = disk.names();
    disk.fail_next();
    assert!(engine.checkpoint().is_err());
    assert_eq!(disk.names(), before);
    assert!(engine.unhealthy().is_none());
    assert_eq!(engine.counters.stats().checkpoint_failures, 1);
    assert_eq!(engine.checkpoint().unwrap(), Revision(6));
}
