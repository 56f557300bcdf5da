//! Servers that refuse, at the beginning or in the middle.

use super::survives;
use crate::simulated::{Fault, Server, config, converged, expired, status};

/// Lists and watches are refused four times, at first and later.
async fn survives_refusals(code: u16, reason: &str) {
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
}

#[tokio::test(start_paused = true)]
async fn gone_on_the_first_watch() {
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
async fn gone_on_every_watch() {
    let gone = || std::iter::repeat_n(Fault::Refuse(expired()), 12);
    survives(
        "410 on every watch",
        |server| server.fail_watches(gone()),
        |server| {
            server.fail_watches(gone());
            server.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn gone_inside_a_paged_list() {
    for seed in 0..4 {
        let server = Server::new(seed).without_watch_list().paging_everything();
        (0..10).for_each(|i| server.put(&format!("w{i}")));
        server.fail_lists([Fault::RefusePage(expired())]);
        let mut paged = config();
        paged.reflector.page_size = Some(3);
        let (informer, history, _handler) = server.informer(paged);
        converged(&server, &informer, &history).await;
        let tokens = || {
            let lists = server.lists();
            lists
                .iter()
                .filter(|l| !l.continue_token.is_empty())
                .count()
        };
        assert_eq!((server.lists().len(), tokens()), (3, 1));
        // Again, when there is something to lose.
        server.fail_watches([Fault::Refuse(expired())]);
        server.fail_lists([Fault::RefusePage(expired())]);
        server.disconnect();
        server.delete("w1");
        server.put("w3");
        converged(&server, &informer, &history).await;
        assert_eq!(tokens(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_requests() {
    survives_refusals(429, "TooManyRequests").await;
}

#[tokio::test(start_paused = true)]
async fn internal_error() {
    survives_refusals(500, "InternalError").await;
}

#[tokio::test(start_paused = true)]
async fn service_unavailable() {
    survives_refusals(503, "ServiceUnavailable").await;
}

#[tokio::test(start_paused = true)]
async fn other_refusals() {
    for (code, reason) in [
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (504, "Timeout"),
    ] {
        survives_refusals(code, reason).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_event_inside_a_200() {
    for (code, reason) in [
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (410, "Expired"),
        (410, "Gone"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
    ] {
        survives(
            reason,
            |_| {},
            |server| {
                let error = |after| Fault::ErrorEvent(after, status(code, reason));
                server.fail_watches([error(1), error(0), error(2)]);
                server.disconnect();
            },
        )
        .await;
    }
}

/// Credentials run out in the middle of a watch: it ends, everything is refused for a while, and then it is not. The real
/// ones are in [`sockets`](crate::sockets).
#[tokio::test(start_paused = true)]
async fn credentials_that_expire_in_the_middle() {
    let unauthorized = || status(401, "Unauthorized");
    for inside in [true, false] {
        survives(
            "expired credentials",
            |_| {},
            |server| {
                let refuse = || Fault::Refuse(unauthorized());
                let end = if inside {
                    Fault::ErrorEvent(1, unauthorized())
                } else {
                    refuse()
                };
                server.fail_watches([end, refuse(), refuse()]);
                server.fail_lists(std::iter::repeat_n(refuse(), 5));
                server.disconnect();
            },
        )
        .await;
    }
}
