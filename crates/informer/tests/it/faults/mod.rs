//! The table of faults, on a server in memory that misbehaves on request: after each, the cache holds what the server holds,
//! and readers received a history that leads there. Every row runs with several seeds, and with and without watches that
//! begin with the objects there are. The same rows run on the embedded server in [`embedded`](crate::embedded).

mod connections;
mod contents;
mod random;
mod refusals;

use std::time::Duration;

use crate::simulated::{Server, config, converged};

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

#[tokio::test(start_paused = true)]
async fn nothing_wrong() {
    survives("nothing", |_| {}, |_| {}).await;
}
