//! Network and member faults under load: no acknowledged write is lost, and every read is consistent.

use std::{slice::from_ref, time::Duration};

use kubewright_store::Store;
use kubewright_store_etcd::Options;
use tokio::time::sleep;

use crate::{
    etcd::{Etcd, open, prefix},
    history::check,
    load::{Load, Recorded},
    proxy::{Fault, Proxy},
};

/// The duration of a fault.
const LASTING: Duration = Duration::from_millis(700);

pub(crate) fn assert_linearizable(recorded: &Recorded, at_least: usize) {
    let checked = check(&recorded.operations, &recorded.changes);
    let number = checked.unwrap_or_else(|why| panic!("{why}"));
    println!("{number} operations, {} failed", recorded.failed);
    assert!(number >= at_least, "only {number} operations");
}

fn through(proxies: &[&Proxy], prefix: &str) -> Options {
    Options {
        prefix: prefix.to_owned(),
        compaction_interval: None,
        ..Options::new(proxies.iter().map(|proxy| proxy.url()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_are_consistent_under_network_faults() {
    let name = "two_servers_are_consistent_under_network_faults";
    let Some(etcd) = Etcd::start(name, &[]).await else {
        return;
    };
    let prefix = prefix();
    let proxies = [
        Proxy::start(etcd.client).await,
        Proxy::start(etcd.client).await,
    ];
    let one = open(&through(&[&proxies[0]], &prefix)).await;
    let other = open(&through(&[&proxies[1]], &prefix)).await;
    let observer = Options {
        prefix,
        ..etcd.options()
    };
    let load = Load::start(&[one, other], open(&observer).await).await;
    load.progress(100).await;
    let faults = [
        Fault::Cut,
        Fault::NoAnswers,
        Fault::Delay(Duration::from_millis(20)),
        Fault::BlackHole,
    ];
    for (turn, fault) in faults.into_iter().chain([Fault::Cut]).enumerate() {
        let proxy = &proxies[turn % 2];
        proxy.set(fault);
        sleep(LASTING).await;
        // Delayed data is lost with its connection.
        proxy.set(Fault::Cut);
        sleep(Duration::from_millis(20)).await;
        proxy.set(Fault::None);
        load.progress(100).await;
    }
    assert_linearizable(&load.finish().await, 600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_etcd_restarts() {
    let Some(mut etcd) = Etcd::start("nothing_is_lost_when_etcd_restarts", &[]).await else {
        return;
    };
    let options = etcd.options();
    let store = open(&options).await;
    let load = Load::start(from_ref(&store), open(&options).await).await;
    for _ in 0..3 {
        load.progress(100).await;
        etcd.kill();
        etcd.restart().await;
    }
    load.progress(100).await;
    assert_linearizable(&load.finish().await, 400);
    assert!(store.ready().await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_of_three_members_can_be_lost() {
    let name = "any_of_three_members_can_be_lost";
    let Some(mut members) = Etcd::three(name).await else {
        return;
    };
    let urls: Vec<String> = members.iter().map(Etcd::url).collect();
    let prefix = prefix();
    let options = |first: usize| {
        let mut urls = urls.clone();
        urls.rotate_left(first);
        Options {
            prefix: prefix.clone(),
            compaction_interval: None,
            ..Options::new(urls)
        }
    };
    let stores = [open(&options(0)).await, open(&options(1)).await];
    let load = Load::start(&stores, open(&options(2)).await).await;
    load.progress(100).await;
    for member in &mut members {
        member.kill();
        load.progress(50).await;
        member.restart().await;
        load.progress(50).await;
        member.signal("-STOP");
        sleep(LASTING).await;
        member.signal("-CONT");
        load.progress(50).await;
    }
    assert_linearizable(&load.finish().await, 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_reloads_after_its_watch_was_compacted() {
    let name = "a_server_reloads_after_its_watch_was_compacted";
    let Some(etcd) = Etcd::start(name, &[]).await else {
        return;
    };
    let prefix = prefix();
    let proxy = Proxy::start(etcd.client).await;
    let store = open(&through(&[&proxy], &prefix)).await;
    let observer = Options {
        prefix,
        ..etcd.options()
    };
    let observer = open(&observer).await;
    let load = Load::start(&[store.clone(), observer.clone()], observer.clone()).await;
    for _ in 0..3 {
        load.progress(100).await;
        proxy.set(Fault::Cut);
        load.progress(100).await;
        let now = observer.current().await.unwrap();
        observer.compact(now).await.unwrap();
        proxy.set(Fault::None);
        store.ready().await.unwrap();
    }
    load.progress(200).await;
    assert_linearizable(&load.finish().await, 800);
}
