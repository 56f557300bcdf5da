//! Everything at once, for a while, by a seed.

use std::time::Duration;

use crate::cut::Place;
use crate::simulated::{Fault, Server, config, converged, expired, status};

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
                        3 => Fault::Cut(Place::Byte(next(900) as usize), next(2) == 0),
                        4 => Fault::Silence(Place::Byte(next(900) as usize)),
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
