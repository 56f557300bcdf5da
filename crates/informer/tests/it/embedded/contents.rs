//! Streams whose bytes arrive, and say odd things.

use std::time::Duration;

use kubewright_informer::RelistCause;
use kubewright_machinery::status;

use super::{Maps, SEEDS, Strike, Watched, Wire, cluster, seeded, survives};

/// On the watches at the beginning and later.
async fn survives_on_watches(strike: Strike) {
    survives(
        &format!("{strike:?}"),
        |wire| wire.strike_watches([strike.clone(), strike.clone()]),
        |wire| {
            wire.strike_watches([strike.clone(), strike.clone(), strike.clone()]);
            wire.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn lost_bookmarks() {
    survives_on_watches(Strike::NoBookmarks).await;
}

#[tokio::test(start_paused = true)]
async fn duplicate_added() {
    survives_on_watches(Strike::Twice).await;
    survives_on_watches(Strike::AddedAgain).await;
}

#[tokio::test(start_paused = true)]
async fn a_marker_that_never_comes() {
    survives_on_watches(Strike::NoMarker).await;
}

#[tokio::test(start_paused = true)]
async fn a_list_older_than_the_watch() {
    survives(
        "stale list",
        |_| {},
        |wire| {
            let relist = || Strike::Refuse(status::internal("whatever"));
            wire.strike_watches([relist(), relist()]);
            wire.strike_lists([Strike::Stale]);
            wire.disconnect();
        },
    )
    .await;
}

/// Another server takes over that has an older state, and goes on from there. A watch from a revision that it does not have
/// is silent; a bookmark tells, and everything is listed.
#[tokio::test(start_paused = true)]
async fn a_fail_over_to_older_revisions() {
    for seed in 0..SEEDS {
        for watch_list in [true, false] {
            let (cluster, maps) = cluster().await;
            let wire = Wire::to(cluster.service(), seed);
            let watched = Watched::start(wire.client(), seeded(watch_list));
            watched.agrees_with(&maps, "before").await;
            let backup = cluster.fork().await;
            for i in 0..30 {
                maps.create(&format!("lost{i}")).await;
            }
            maps.change("m1", 1).await;
            maps.delete("m6").await;
            watched.agrees_with(&maps, "ahead").await;
            let maps = Maps::of(&backup);
            wire.switch(backup.service());
            maps.change("m3", 1).await;
            watched.agrees_with(&maps, "after").await;
            let metrics = watched.informer.metrics();
            let noticed = metrics.relists(RelistCause::Backwards)
                + metrics.relists(RelistCause::TooLarge)
                + metrics.relists(RelistCause::Refused);
            assert_eq!(noticed, 1, "{metrics}");
            maps.live(0).await;
            watched.agrees_with(&maps, "later").await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn deleted_for_an_unknown_key() {
    survives(
        "unknown",
        |_| {},
        |wire| {
            wire.strike_watches([Strike::Ghost]);
            wire.disconnect();
        },
    )
    .await;
}

/// Deleted and created again while nobody looks: one update, or a deletion and an addition, never the old uid.
#[tokio::test(start_paused = true)]
async fn same_name_with_a_new_uid() {
    for compacted in [true, false] {
        for watch_list in [true, false] {
            let (cluster, maps) = cluster().await;
            let wire = Wire::to(cluster.service(), 3);
            let watched = Watched::start(wire.client(), seeded(watch_list));
            watched.agrees_with(&maps, "before").await;
            // A watch that ends at once without an event would be a reason for a list.
            tokio::time::sleep(Duration::from_secs(2)).await;
            wire.strike_watches([Strike::NoConnection]);
            wire.disconnect();
            for name in ["m1", "m2", "m3"] {
                maps.delete(name).await;
                maps.create(name).await;
            }
            if compacted {
                cluster.compact_now().await;
            }
            maps.change("m4", 1).await;
            watched.agrees_with(&maps, "after").await;
            let told = watched.history.told();
            let recreated = told.iter().filter(|l| l.ends_with("Recreated")).count();
            // Where history is gone, the list shows the new ones in place of the old.
            assert_eq!(recreated, if compacted { 3 } else { 0 }, "{told:#?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_that_make_no_sense() {
    for bytes in [
        "{\"type\":\"ADDED\",\"object\":}\n",
        "<html>502 Bad Gateway</html>",
    ] {
        survives_on_watches(Strike::Garbage(2, bytes)).await;
    }
}
