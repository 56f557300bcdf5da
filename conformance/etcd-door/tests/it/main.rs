//! The store in etcd, on a door in front of a store in memory: the contract of all stores, through etcd's API.

mod late;
mod lost_watch;
mod server_store;

use std::sync::Arc;

use kubewright_etcd_door::{Door, DoorError};
use kubewright_store::{
    Key, Limits, MemoryStore, Payload, Range, Revision, Store,
    conformance::{self, Harness, Stop, Subject},
    layout::PlainLayout,
};
use kubewright_store_etcd::{EtcdStore, Options};
use tokio::task::JoinSet;

/// A door, its store, and the options of a store in etcd behind it.
async fn door(store: &(impl Store + Clone)) -> (Door, Options) {
    let address = "127.0.0.1:0".parse().unwrap();
    let door = Door::open(address, Arc::new(store.clone())).await.unwrap();
    let options = Options {
        prefix: "/test".to_owned(),
        compaction_interval: None,
        ..Options::new([format!("http://{}", door.address())])
    };
    (door, options)
}

async fn open(options: &Options) -> EtcdStore {
    let opened = EtcdStore::connect(options, Arc::new(PlainLayout)).await;
    opened.unwrap()
}

fn empty() -> MemoryStore {
    MemoryStore::starting_at(Revision(1))
}

/// Opens each store behind a door of its own.
struct Doors {
    reopened: bool,
}

#[async_trait::async_trait]
impl Harness for Doors {
    async fn open(&self) -> Subject {
        let (door, options) = door(&empty()).await;
        let store = open(&options).await;
        let forked = store.clone();
        let subject = Subject::new(Arc::new(store))
            .forked_by(move || {
                let forked = forked.clone();
                async move {
                    // Others have written: a read waits until this store has seen it.
                    forked.current().await.expect("the store answers");
                    Arc::new(forked.fork()) as Arc<dyn Store>
                }
            })
            .reopened_by(move || {
                // The door is there for as long as it can be gone through.
                let _kept = &door;
                let options = options.clone();
                async move { Arc::new(open(&options).await) as Arc<dyn Store> }
            })
            .keeping_snapshots()
            .with_gaps();
        match self.reopened {
            true => subject.reopened_before_every_step(),
            false => subject,
        }
    }
}

async fn run(reopened: bool) {
    let doors = Doors { reopened };
    let mut skipped = 0;
    for check in conformance::checks() {
        match check.run(&doors).await {
            Ok(()) => {}
            // Lifetimes are those of etcd's clock, and gaps have no density to check.
            Err(Stop::Skipped("time cannot be passed" | "revisions have gaps")) => skipped += 1,
            Err(stop) => panic!("{}: {stop:?}", check.name),
        }
    }
    assert!(skipped <= 6, "{skipped}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_behind_the_door_keeps_to_the_contract() {
    run(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_passes_if_it_is_reopened_before_every_step() {
    run(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_see_what_the_other_writes() {
    let (_door, options) = door(&empty()).await;
    let stores = [open(&options).await, open(&options).await];
    let mut watch = stores[0].watch("things", "", Revision(1)).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let store = stores[writer % 2].clone();
        writers.spawn(async move {
            let mut written = 0;
            while written < 50 {
                let key = Key::new("things", format!("{}", written % 5));
                let payload = Payload::plain(format!("{writer}-{written}"));
                let done = match store.get(&key).await.unwrap() {
                    None => store.create(key, payload).await.is_ok(),
                    Some(there) => {
                        let updated = store.update(key, there.revision, payload).await;
                        updated.is_ok()
                    }
                };
                written += u64::from(done);
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let mut seen = 0;
    let mut last = Revision(1);
    while seen < 8 * 50 {
        for change in watch.next().await.unwrap() {
            assert!(change.revision > last);
            last = change.revision;
            seen += 1;
        }
    }
    let lists = [
        stores[0].snapshot(None).await.unwrap(),
        stores[1].snapshot(None).await.unwrap(),
    ];
    let mut contents = Vec::new();
    for list in lists {
        let page = list.range("things", Range::default()).await.unwrap();
        contents.push(
            page.entries
                .iter()
                .map(|e| (e.revision, e.bytes.clone()))
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(contents[0], contents[1]);
    assert_eq!(
        contents[0].iter().map(|(revision, _)| *revision).max(),
        Some(last)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_deletes_its_keys() {
    let store = empty();
    let maintained = store.clone();
    let maintenance = tokio::spawn(async move { maintained.run_maintenance().await });
    let (_door, options) = door(&store).await;
    let ours = open(&options).await;
    let mut watch = ours.watch("things", "", Revision(1)).await.unwrap();
    let mortal = Payload {
        ttl: Some(std::time::Duration::from_secs(1)),
        ..Payload::plain("x")
    };
    let created = ours.create(Key::new("things", "a"), mortal).await.unwrap();
    let mut changes = watch.next().await.unwrap();
    if changes.len() == 1 {
        changes.extend(watch.next().await.unwrap());
    }
    assert_eq!(changes[0].revision, created.revision);
    assert_eq!(changes[1].kind, kubewright_store::ChangeKind::Deleted);
    maintenance.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_of_compacted_history_is_ended() {
    // So little history that a server that was away must read everything again.
    let limits = Limits {
        max_changes: 4,
        ..Limits::default()
    };
    let store = MemoryStore::with_limits(Revision(1), limits);
    let (door, options) = door(&store).await;
    let ours = open(&options).await;
    let created = ours
        .create(Key::new("things", "a"), Payload::plain("0"))
        .await;
    let mut revision = created.unwrap().revision;
    drop(ours);
    for n in 1..20 {
        let ours = open(&options).await;
        let updated = ours.update(
            Key::new("things", "a"),
            revision,
            Payload::plain(n.to_string()),
        );
        revision = updated.await.unwrap().entry.revision;
        ours.compact(revision).await.unwrap();
        assert!(ours.watch("things", "", Revision(2)).await.is_err());
    }
    drop(door);
}

#[tokio::test]
async fn only_the_loopback_device_is_listened_on() {
    let store: Arc<dyn Store> = Arc::new(empty());
    let refused = Door::open("0.0.0.0:0".parse().unwrap(), Arc::clone(&store)).await;
    assert!(matches!(refused, Err(DoorError::NotLoopback(_))));
    let unused: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let refused = Door::open("127.0.0.1:0".parse().unwrap(), unused).await;
    assert!(matches!(refused, Err(DoorError::Revision)));
}
