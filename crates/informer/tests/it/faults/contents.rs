//! Streams whose bytes arrive, and say odd things.

use super::{SEEDS, survives};
use crate::simulated::{Fault, Server, config, converged, status};

/// On the watches at the beginning and later.
async fn survives_on_watches(fault: Fault) {
    survives(
        &format!("{fault:?}"),
        |server| server.fail_watches([fault.clone(), fault.clone()]),
        |server| {
            server.fail_watches([fault.clone(), fault.clone(), fault.clone()]);
            server.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn lost_bookmarks() {
    survives_on_watches(Fault::NoBookmarks).await;
}

#[tokio::test(start_paused = true)]
async fn duplicate_added() {
    survives_on_watches(Fault::Twice).await;
    survives_on_watches(Fault::AddedAgain).await;
}

#[tokio::test(start_paused = true)]
async fn a_marker_that_never_comes() {
    let none = || std::iter::repeat_n(Fault::NoMarker, 5);
    survives(
        "no marker",
        |server| server.fail_watches(none()),
        |server| {
            server.fail_watches(none());
            server.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_list_older_than_the_watch() {
    survives(
        "stale list",
        |_| {},
        |server| {
            let relist = || Fault::Refuse(status(500, "Whatever"));
            server.fail_watches([relist(), relist()]);
            server.fail_lists([Fault::Stale]);
            server.disconnect();
        },
    )
    .await;
}

/// The revisions of a backup are lower. A watch from a higher one is silent; a bookmark tells, and everything is listed.
#[tokio::test(start_paused = true)]
async fn a_fail_over_to_older_revisions() {
    for seed in 0..SEEDS {
        for watch_list in [true, false] {
            let mut server = Server::new(seed);
            if !watch_list {
                server = server.without_watch_list();
            }
            (0..5).for_each(|i| server.put(&format!("w{i}")));
            server.snapshot();
            let (informer, history, _handler) = server.informer(config());
            converged(&server, &informer, &history).await;
            (0..20).for_each(|i| server.put(&format!("lost{i}")));
            server.put("w1");
            server.delete("w2");
            converged(&server, &informer, &history).await;
            server.fail_over();
            server.put("w0");
            converged(&server, &informer, &history).await;
            server.put("w3");
            server.delete("w4");
            converged(&server, &informer, &history).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn deleted_for_an_unknown_key() {
    survives("unknown", |_| {}, |server| server.delete_unknown("ghost")).await;
}

#[tokio::test(start_paused = true)]
async fn same_name_with_a_new_uid() {
    survives(
        "recreated while nobody looks",
        |_| {},
        |server| {
            server.recreate("w1");
            server.disconnect();
            server.recreate("w1");
            server.recreate("w6");
            server.compact();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn bytes_that_make_no_sense() {
    for bytes in [
        "\u{0}\u{1}garbage\n",
        "{\"type\":\"ADDED\",\"object\":}\n",
        "{\"type\":\"WHAT\",\"object\":{}}\n",
        "<html>502 Bad Gateway</html>",
        "{\"type\":\"ADDED\"}\n",
    ] {
        survives(
            bytes,
            |_| {},
            |server| {
                server.fail_watches([Fault::Bytes(0, bytes), Fault::Bytes(2, bytes)]);
                server.disconnect();
            },
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn objects_that_cannot_be_cached() {
    for json in [
        "{}",
        "{\"metadata\":{}}",
        "{\"kind\":\"Table\",\"metadata\":{\"name\":\"x\"}}",
        "{\"kind\":\"Gadget\",\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"7\"}}",
        "{\"metadata\":7}",
    ] {
        survives(json, |_| {}, |server| server.emit(json)).await;
    }
}
