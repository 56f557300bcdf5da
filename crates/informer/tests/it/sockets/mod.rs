//! Faults on real sockets and with real HTTP: connections that are reset, closed or silent, compressed answers that are cut,
//! credentials that run out. Behind the socket is the server in memory that misbehaves, or the embedded one.
//!
//! Time is real here. Nothing waits for a moment; everything waits for a state.

mod credentials;
mod front;
mod gzip;
mod proxy;

use std::time::Duration;

use kube::core::DynamicObject;
use kubewright_informer::BackoffSettings;
use kubewright_informer::Selection;
use kubewright_informer::{
    InformerConfig, KubeListerWatcher, ReflectorConfig, SharedInformer, SubscribeOptions,
};

use self::front::Front;
use crate::embedded::{Maps, Watched, cluster};
use crate::history::History;
use crate::simulated::{Server, converged, widgets};

/// Times that are short, and long enough to be no matter of luck: what comes too late is asked for again.
fn hasty(watch_list: bool) -> ReflectorConfig {
    ReflectorConfig {
        watch_list,
        silence: Duration::from_secs(2),
        stall: Duration::from_secs(2),
        backoff: BackoffSettings {
            initial: Duration::from_millis(5),
            most: Duration::from_millis(50),
            ..BackoffSettings::default()
        },
        ..ReflectorConfig::default()
    }
}

/// An informer on the server in memory, by HTTP.
fn widgets_through(
    client: kube::Client,
    watch_list: bool,
) -> (SharedInformer<DynamicObject>, History) {
    let source = KubeListerWatcher::new(client, &widgets(), None, Selection::default());
    let config = InformerConfig {
        reflector: hasty(watch_list),
        ..InformerConfig::default()
    };
    let informer = SharedInformer::new(widgets(), vec![std::sync::Arc::new(source)], config);
    let (history, _) = History::of(&informer, SubscribeOptions::default());
    informer.start();
    (informer, history)
}

/// Runs `during` on both servers, between changes, and checks the cache after each. `client` makes a client of a front.
async fn survives(
    before: impl Fn(&Front),
    client: impl AsyncFn(&Front) -> kube::Client,
    during: impl AsyncFn(&Front, usize),
) {
    const ROUNDS: usize = 3;
    for watch_list in [true, false] {
        let server = Server::new(5);
        (0..6).for_each(|i| server.put(&format!("w{i}")));
        let front = Front::of_memory(&server).await;
        before(&front);
        let (informer, history) = widgets_through(client(&front).await, watch_list);
        converged(&server, &informer, &history).await;
        for round in 0..ROUNDS {
            during(&front, round).await;
            server.put("w1");
            server.put(&format!("new{round}"));
            server.recreate("w2");
            server.delete(&format!("w{}", 3 + round));
            converged(&server, &informer, &history).await;
        }
        drop(informer);

        let (cluster, maps): (_, Maps) = cluster().await;
        let front = Front::of_cluster(&cluster).await;
        before(&front);
        let watched = Watched::start(client(&front).await, hasty(watch_list));
        watched.agrees_with(&maps, "at first").await;
        for round in 0..ROUNDS {
            during(&front, round).await;
            maps.live(round as u64).await;
            watched.agrees_with(&maps, "later").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_reset() {
    survives_ends(proxy::End::Reset).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_closed() {
    survives_ends(proxy::End::Close).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_go_silent() {
    survives_ends(proxy::End::Silence).await;
}

/// All connections end so, now and then; some at once, some in the middle of what comes next.
async fn survives_ends(end: proxy::End) {
    survives(
        |_| {},
        async |front| front.client(front.proxied().await),
        async |front, round| front.end_connections(end, round * 150),
    )
    .await;
}
