//! Servers that refuse, at the beginning or in the middle.

use kubewright_machinery::{Status, status};

use super::{SEEDS, Strike, Watched, Wire, cluster, seeded, survives};

fn expired() -> Status {
    status::expired("too old resource version: 1 (2)")
}

fn refusal(code: u16, reason: &str) -> Status {
    let mut refusal = status::internal("not now");
    refusal.code = code;
    refusal.reason = reason.into();
    refusal
}

/// Lists and watches are refused four times, at first and later.
async fn survives_refusals(status: Status) {
    let refuse = || std::iter::repeat_n(Strike::Refuse(status.clone()), 4);
    survives(
        status.reason.as_str(),
        |wire| {
            wire.strike_lists(refuse());
            wire.strike_watches(refuse());
        },
        |wire| {
            wire.strike_lists(refuse());
            wire.strike_watches(refuse());
            wire.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn gone_on_the_first_watch() {
    survives(
        "410 on the first watch",
        |wire| wire.strike_watches([Strike::Refuse(expired())]),
        |wire| {
            wire.strike_watches([Strike::Refuse(expired())]);
            wire.disconnect();
        },
    )
    .await;
}

/// The server's own 410: it has forgotten.
#[tokio::test(start_paused = true)]
async fn gone_by_compaction() {
    for watch_list in [true, false] {
        let (cluster, maps) = cluster().await;
        let wire = Wire::to(cluster.service(), 1);
        let watched = Watched::start(wire.client(), seeded(watch_list));
        watched.agrees_with(&maps, "before").await;
        for round in 0..3 {
            wire.strike_watches([Strike::NoConnection]);
            wire.disconnect();
            maps.live(round).await;
            cluster.compact_now().await;
            maps.change("m1", round).await;
            watched.agrees_with(&maps, "after").await;
        }
        let relists = watched.informer.metrics().total_relists();
        assert!(relists >= 1, "{relists}");
    }
}

#[tokio::test(start_paused = true)]
async fn gone_on_every_watch() {
    let gone = || std::iter::repeat_n(Strike::Refuse(expired()), 12);
    survives(
        "410 on every watch",
        |wire| wire.strike_watches(gone()),
        |wire| {
            wire.strike_watches(gone());
            wire.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn gone_inside_a_paged_list() {
    for seed in 0..SEEDS {
        let (cluster, maps) = cluster().await;
        let wire = Wire::to(cluster.service(), seed);
        wire.strike_lists([Strike::RefusePage(expired())]);
        let mut config = seeded(false);
        config.page_size = Some(3);
        let watched = Watched::start(wire.client(), config);
        watched.agrees_with(&maps, "at first").await;
        assert_eq!(watched.informer.metrics().lists, 1);
        wire.strike_watches([Strike::Refuse(expired())]);
        wire.strike_lists([Strike::RefusePage(expired())]);
        wire.disconnect();
        maps.live(0).await;
        watched.agrees_with(&maps, "later").await;
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_requests() {
    survives_refusals(status::too_many_requests("not now", 2)).await;
}

#[tokio::test(start_paused = true)]
async fn internal_error() {
    survives_refusals(status::internal("oops")).await;
}

#[tokio::test(start_paused = true)]
async fn service_unavailable() {
    survives_refusals(status::service_unavailable("gone fishing")).await;
}

#[tokio::test(start_paused = true)]
async fn an_error_event_inside_a_200() {
    for status in [
        expired(),
        refusal(410, "Gone"),
        status::too_many_requests("not now", 1),
        status::internal("oops"),
        status::service_unavailable("gone fishing"),
        status::unauthorized(),
    ] {
        survives(
            status.reason.as_str(),
            |_| {},
            |wire| {
                let error = |after| Strike::ErrorEvent(after, status.clone());
                wire.strike_watches([error(1), error(0), error(2)]);
                wire.disconnect();
            },
        )
        .await;
    }
}

/// Credentials run out in the middle of a watch: it ends, everything is refused for a while, and then it is not. The real
/// ones are in [`sockets`](crate::sockets).
#[tokio::test(start_paused = true)]
async fn credentials_that_expire_in_the_middle() {
    let refuse = || Strike::Refuse(status::unauthorized());
    survives(
        "expired credentials",
        |_| {},
        |wire| {
            wire.strike_watches([
                Strike::ErrorEvent(1, status::unauthorized()),
                refuse(),
                refuse(),
            ]);
            wire.strike_lists(std::iter::repeat_n(refuse(), 5));
            wire.disconnect();
        },
    )
    .await;
}
