//! Three members behind proxies, under load: network faults, members that are killed, paused and replaced, compaction and
//! defragmentation. No acknowledged write is lost, and reads, lists and watches are consistent.

use std::time::Duration;

use kubewright_store::Store;
use tokio::time::sleep;

use crate::{
    cluster::Cluster,
    etcd::open,
    faults::assert_linearizable,
    load::Load,
    proxy::{Fault, Proxy},
    watchers::Watcher,
};

/// The duration of a fault, which is longer than an election.
const LASTING: Duration = Duration::from_millis(1200);

/// Injects a fault for a time, and then breaks the delayed connections.
async fn suffer(proxy: &Proxy, fault: Fault) {
    proxy.set(fault);
    sleep(LASTING).await;
    proxy.set(Fault::Cut);
    sleep(Duration::from_millis(20)).await;
    proxy.set(Fault::None);
}

const FAULTS: [Fault; 4] = [
    Fault::Cut,
    Fault::BlackHole,
    Fault::NoAnswers,
    Fault::Delay(Duration::from_millis(60)),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_members_are_partitioned() {
    let name = "nothing_is_lost_when_members_are_partitioned";
    let Some(cluster) = Cluster::start(name).await else {
        return;
    };
    let stores = [
        open(&cluster.options(0)).await,
        open(&cluster.options(1)).await,
    ];
    let observer = open(&cluster.options(2)).await;
    let watchers = Watcher::of_each(&stores).await;
    let load = Load::start(&stores, observer).await;
    load.progress(100).await;
    for (turn, fault) in FAULTS.into_iter().enumerate() {
        suffer(&cluster.peers[turn % 3], fault).await;
        load.progress(50).await;
    }
    // All members are disconnected at once, and then members and clients together.
    for proxy in &cluster.clients {
        proxy.set(Fault::Cut);
    }
    sleep(Duration::from_millis(200)).await;
    for proxy in &cluster.clients {
        proxy.set(Fault::None);
    }
    load.progress(50).await;
    for (turn, fault) in FAULTS.into_iter().enumerate() {
        let (peer, client) = (&cluster.peers[turn % 3], &cluster.clients[(turn + 1) % 3]);
        tokio::join!(suffer(peer, fault), suffer(client, fault));
        load.progress(50).await;
    }
    let recorded = load.finish().await;
    assert_linearizable(&recorded, 500);
    Watcher::check_all(watchers, &recorded).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_members_can_be_replaced() {
    let name = "all_members_can_be_replaced";
    let Some(mut cluster) = Cluster::start(name).await else {
        return;
    };
    let stores = [
        open(&cluster.options(0)).await,
        open(&cluster.options(1)).await,
    ];
    let observer = open(&cluster.options(2)).await;
    let watchers = Watcher::of_each(&stores).await;
    let load = Load::start(&stores, observer).await;
    for turn in 0..3 {
        load.progress(50).await;
        let (gone, other) = (turn, (turn + 1) % 3);
        cluster.replace(gone, other, &format!("n{turn}")).await;
        load.progress(50).await;
        // The next member is replaced only once the new one is up to date.
        healthy(&cluster, gone).await;
    }
    let recorded = load.finish().await;
    assert_linearizable(&recorded, 300);
    Watcher::check_all(watchers, &recorded).await;
    for store in &stores {
        store.ready().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compaction_and_defragmentation_are_invisible() {
    let name = "compaction_and_defragmentation_are_invisible";
    let Some(mut cluster) = Cluster::start(name).await else {
        return;
    };
    let stores = [
        open(&cluster.options(0)).await,
        open(&cluster.options(1)).await,
    ];
    let observer = open(&cluster.options(2)).await;
    let watchers = Watcher::of_each(&stores).await;
    let load = Load::start(&stores, observer.clone()).await;
    for turn in 0..6 {
        load.progress(50).await;
        let now = observer.current().await.unwrap();
        stores[turn % 2].compact(now).await.unwrap();
        let member = &cluster.members[turn % 3];
        let done = member.gateway("maintenance/defragment", "{}").await;
        assert!(done["code"].is_null(), "{done}");
        if turn % 2 == 1 {
            // A member that was disconnected has missed compacted revisions.
            cluster.members[turn % 3].kill();
            load.progress(50).await;
            cluster.members[turn % 3].restart().await;
        }
    }
    load.progress(50).await;
    let recorded = load.finish().await;
    assert_linearizable(&recorded, 400);
    Watcher::check_all(watchers, &recorded).await;
}

/// Waits until a member serves linearizable reads.
async fn healthy(cluster: &Cluster, member: usize) {
    let options = kubewright_store_etcd::Options {
        endpoints: vec![cluster.clients[member].url()],
        ..cluster.options(0)
    };
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        let layout = std::sync::Arc::new(kubewright_store::layout::PlainLayout);
        let opened = kubewright_store_etcd::EtcdStore::connect(&options, layout).await;
        match opened {
            Ok(_) => return,
            Err(error) if tokio::time::Instant::now() > deadline => {
                panic!("{error}: {}", cluster.members[member].log())
            }
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}
