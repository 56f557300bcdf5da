//! The faults that a test cluster injects by itself, on many threads.

use std::time::Duration;

use kubewright_apiserver::request::Verb;
use kubewright_informer::BackoffSettings;
use kubewright_informer::ReflectorConfig;
use kubewright_machinery::status;
use kubewright_testing::{Fault, Match};

use super::{Watched, cluster};

fn hasty(watch_list: bool) -> ReflectorConfig {
    ReflectorConfig {
        watch_list,
        backoff: BackoffSettings {
            initial: Duration::from_millis(1),
            most: Duration::from_millis(10),
            ..BackoffSettings::default()
        },
        ..ReflectorConfig::default()
    }
}

async fn survives(fault: Fault, on: &[Verb], times: usize) {
    for watch_list in [true, false] {
        let what = format!("{fault:?}, watch-list {watch_list}");
        let (cluster, maps) = cluster().await;
        let strike = || {
            for verb in on {
                let on = Match::verb(*verb).resource("configmaps");
                cluster.faults().inject(fault.clone(), on, times);
            }
        };
        strike();
        let watched = Watched::start(cluster.client(), hasty(watch_list));
        let synced = watched
            .informer
            .wait_for_sync(Duration::from_secs(30))
            .await;
        synced.unwrap_or_else(|reason| panic!("{what}: {reason}"));
        strike();
        // The maps are changed through the same server; only lists and watches are struck.
        maps.live(0).await;
        if fault == Fault::Gone {
            cluster.compact_now().await;
        }
        maps.live(1).await;
        cluster.faults().clear();
        watched.agrees_with(&maps, &what).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals() {
    let both = [Verb::List, Verb::Watch];
    survives(Fault::Gone, &both, 3).await;
    survives(Fault::Gone, &[Verb::Watch], 10).await;
    survives(Fault::TooManyRequests { retry_after: 0 }, &both, 3).await;
    for refusal in [
        status::internal("oops"),
        status::unauthorized(),
        status::service_unavailable("gone fishing"),
    ] {
        survives(Fault::Refuse(Box::new(refusal)), &both, 3).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_that_break_or_lag() {
    for after in [0, 1, 2, 4] {
        survives(Fault::DropWatch { after }, &[Verb::Watch], 4).await;
    }
    let delay = Duration::from_millis(3);
    survives(Fault::SlowWatch { delay }, &[Verb::Watch], 2).await;
}
