//! Checks that a cache holds what its server holds, and that its readers have seen a history that leads there.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::core::{ApiResource, DynamicObject};
use kubewright_informer::BackoffSettings;
use kubewright_informer::{InformerConfig, ReflectorConfig, SharedInformer};

use super::Server;
use crate::history::History;

/// The resource it serves.
pub(crate) fn widgets() -> ApiResource {
    ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
    }
}

/// Fast and by a seed.
pub(crate) fn config() -> InformerConfig {
    InformerConfig {
        reflector: ReflectorConfig {
            backoff: BackoffSettings {
                seed: Some(7),
                ..BackoffSettings::default()
            },
            ..ReflectorConfig::default()
        },
        ..InformerConfig::default()
    }
}

/// Waits until the cache holds what the server holds, and checks the history that led there.
#[track_caller]
pub(crate) fn converged<'a>(
    server: &'a Server,
    informer: &'a SharedInformer<DynamicObject>,
    history: &'a History,
) -> impl Future<Output = ()> + 'a {
    let place = std::panic::Location::caller();
    async move {
        for attempt in 0..2000u64 {
            let cached = cached(informer);
            if cached == server.model() && history.model() == cached {
                history.assert_consistent();
                return;
            }
            tokio::time::sleep(Duration::from_millis(20 + attempt * 5)).await;
        }
        panic!(
            "{place}: the cache does not follow the server\nserver {:#?}\ncache {:#?}\nerror {:?}\ntold {:#?}\nlists {:?}\nwatches {:?}",
            server.model(),
            cached(informer),
            informer.error(),
            history.told(),
            server.lists(),
            server.watches(),
        );
    }
}

fn cached(informer: &SharedInformer<DynamicObject>) -> BTreeMap<String, (String, String)> {
    let state = informer.indexer().snapshot();
    let entries = state.iter().map(|o| {
        let version = (o.uid().to_owned(), o.resource_version().to_owned());
        (o.key().to_string(), version)
    });
    entries.collect()
}
