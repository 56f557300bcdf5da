//! The table of faults: after each, the cache holds what the server holds, and readers were told a history that leads
//! there. Every row runs with several seeds, and with and without watches that begin with the objects there are.

use std::time::Duration;

use crate::simulated::{Fault, Server, config, converged, expired, status};

const SEEDS: u64 = 2;

/// Does something to a server before the informer starts, and something while it runs.
async fn survives(name: &str, before: impl Fn(&Server), during: impl Fn(&Server)) {
    for seed in 0..SEEDS {
        for watch_list in [true, false] {
            let mut server = Server::new(seed * 7919 + 1);
            if !watch_list {
                server = server.without_watch_list();
            }
            for i in 0..10 {
                server.put(&format!("w{i}"));
            }
            server.snapshot();
            server.put("w1");
            server.delete("w2");
            before(&server);
            let (informer, history, handler) = server.informer(config());
            converged(&server, &informer, &history).await;
            let live = || {
                server.put("w3");
                server.put("new");
                server.delete("w4");
                server.recreate("w5");
                server.put("w3");
            };
            during(&server);
            live();
            converged(&server, &informer, &history).await;
            server.disconnect();
            live();
            server.delete("new");
            converged(&server, &informer, &history).await;
            assert!(handler.has_synced(), "{name}, seed {seed}");
            // It settles: later there is nothing wrong.
            tokio::time::sleep(Duration::from_secs(1200)).await;
            live();
            converged(&server, &informer, &history).await;
            assert!(informer.error().is_none(), "{name}: {:?}", informer.error());
        }
    }
}

fn cuts() -> impl Iterator<Item = usize> {
    (0..1200).step_by(113)
}

#[tokio::test(start_paused = true)]
async fn nothing_wrong() {
    survives("nothing", |_| {}, |_| {}).await;
}

#[tokio::test(start_paused = true)]
async fn disconnects_in_the_middle_of_anything() {
    for at in cuts() {
        for reset in [true, false] {
            let cut = Fault::Cut(at, reset);
            survives(
                &format!("{cut:?}"),
                |server| {
                    server.fail_lists([cut.clone()]);
                    server.fail_watches([cut.clone()]);
                },
                |server| {
                    server.fail_watches([cut.clone(), cut.clone()]);
                    server.disconnect();
                },
            )
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn silence() {
    for at in [0, 1, 300, 1000] {
        survives(
            "silence",
            |server| {
                server.fail_lists([Fault::Silence(at)]);
                server.fail_watches([Fault::Silence(at)]);
            },
            |server| {
                server.fail_watches([Fault::Silence(at)]);
                server.disconnect();
            },
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_listens() {
    let refused = || std::iter::repeat_n(Fault::NoConnection, 5);
    survives(
        "no connection",
        |server| {
            server.fail_lists(refused());
            server.fail_watches(refused());
        },
        |server| {
            server.fail_watches(refused());
            server.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_is_gone() {
    survives(
        "410 on the first watch",
        |server| server.fail_watches([Fault::Refuse(expired())]),
        |server| {
            server.fail_watches([Fault::Refuse(expired())]);
            server.disconnect();
        },
    )
    .await;
    survives(
        "410 on every watch",
        |server| server.fail_watches(std::iter::repeat_n(Fault::Refuse(expired()), 12)),
        |server| {
            server.fail_watches(std::iter::repeat_n(Fault::Refuse(expired()), 12));
            server.disconnect();
        },
    )
    .await;
    survives(
        "410 in the stream",
        |_| {},
        |server| {
            server.fail_watches([
                Fault::ErrorEvent(0, expired()),
                Fault::ErrorEvent(2, expired()),
            ]);
            server.disconnect();
        },
    )
    .await;
    survives(
        "compaction while disconnected",
        |_| {},
        |server| {
            server.disconnect();
            server.put("w7");
            server.delete("w6");
            server.compact();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses() {
    for (code, reason) in [
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ] {
        let refuse = || std::iter::repeat_n(Fault::Refuse(status(code, reason)), 4);
        survives(
            reason,
            |server| {
                server.fail_lists(refuse());
                server.fail_watches(refuse());
            },
            |server| {
                server.fail_lists(refuse());
                server.fail_watches(refuse());
                server.disconnect();
            },
        )
        .await;
        survives(
            reason,
            |_| {},
            |server| {
                let error = || Fault::ErrorEvent(1, status(code, reason));
                server.fail_watches([error(), error(), error()]);
                server.disconnect();
            },
        )
        .await;
    }
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
async fn lost_bookmarks_and_doubled_events() {
    for fault in [Fault::NoBookmarks, Fault::Twice] {
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
}

#[tokio::test(start_paused = true)]
async fn a_marker_that_never_comes() {
    survives(
        "no marker",
        |server| server.fail_watches(std::iter::repeat_n(Fault::NoMarker, 5)),
        |server| {
            server.fail_watches(std::iter::repeat_n(Fault::NoMarker, 5));
            server.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_older_than_the_watch() {
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

/// The revisions of a backup are lower. Whoever asks for more than there is, is told so, and lists what there is.
#[tokio::test(start_paused = true)]
async fn a_fail_over_to_an_older_state() {
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
            converged(&server, &informer, &history).await;
            server.put("w3");
            server.delete("w4");
            converged(&server, &informer, &history).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_of_what_nobody_knew() {
    survives("unknown", |_| {}, |server| server.delete_unknown("ghost")).await;
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

/// Everything at once, for a while, by a seed.
#[tokio::test(start_paused = true)]
async fn a_server_that_fails_at_random() {
    for seed in 0..40u64 {
        let server = Server::new(seed);
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % n
        };
        let (informer, history, _handler) = server.informer(config());
        for _ in 0..120 {
            let name = format!("w{}", next(12));
            match next(14) {
                0..=4 => server.put(&name),
                5 | 6 => server.delete(&name),
                7 => server.recreate(&name),
                8 => server.disconnect(),
                9 => server.compact(),
                10 => server.snapshot(),
                11 => {
                    // Before its revisions are used again, the clients come back.
                    server.fail_over();
                    converged(&server, &informer, &history).await;
                }
                _ => {
                    let fault = match next(10) {
                        0 => Fault::Refuse(expired()),
                        1 => Fault::Refuse(status(503, "ServiceUnavailable")),
                        2 => Fault::NoConnection,
                        3 => Fault::Cut(next(900) as usize, next(2) == 0),
                        4 => Fault::Silence(next(900) as usize),
                        5 => Fault::ErrorEvent(next(3) as usize, status(500, "InternalError")),
                        6 => Fault::Bytes(next(3) as usize, "{]\n"),
                        7 => Fault::Twice,
                        8 => Fault::NoMarker,
                        _ => Fault::Hang,
                    };
                    if next(3) == 0 {
                        server.fail_lists([fault]);
                    } else {
                        server.fail_watches([fault]);
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(next(4000))).await;
        }
        server.put("last");
        converged(&server, &informer, &history).await;
    }
}
