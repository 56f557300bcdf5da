//! Faults between the client and the embedded server.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kubewright_apiserver::request::Verb;
use kubewright_informer::reflector::backoff::BackoffSettings;
use kubewright_informer::{
    InformerConfig, ReflectorConfig, SharedInformerFactory, SubscribeOptions,
};
use kubewright_machinery::status;
use kubewright_testing::{Fault, Match, TestCluster};

use crate::history::History;

const SOON: Duration = Duration::from_secs(30);

fn hasty(watch_list: bool) -> ReflectorConfig {
    ReflectorConfig {
        watch_list,
        backoff: BackoffSettings {
            initial: Duration::from_millis(1),
            most: Duration::from_millis(10),
            ..BackoffSettings::default()
        },
        ..InformerConfig::default().reflector
    }
}

/// A cluster with maps, an informer, a fault, changes: in the end the cache holds what the server holds.
async fn survives(fault: Fault, on: &[Verb], times: usize) {
    for watch_list in [true, false] {
        let cluster = TestCluster::start().await;
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
        let put = async |name: &str| {
            let mut map = ConfigMap::default();
            map.metadata.name = Some(name.to_owned());
            let _ = maps.create(&PostParams::default(), &map).await;
        };
        for i in 0..5 {
            put(&format!("m{i}")).await;
        }
        let factory = SharedInformerFactory::builder(cluster.client())
            .reflector(hasty(watch_list))
            .build();
        let informer = factory.informer::<ConfigMap>();
        let (history, _registration) = History::of(&informer, SubscribeOptions::default());
        let strike = || {
            for verb in on {
                cluster.faults().inject(
                    fault.clone(),
                    Match::verb(*verb).resource("configmaps"),
                    times,
                );
            }
        };
        strike();
        factory.start();
        informer
            .wait_for_sync(SOON)
            .await
            .unwrap_or_else(|reason| panic!("{fault:?}: {reason}"));
        strike();
        for i in 3..9 {
            put(&format!("m{i}")).await;
        }
        let _ = maps.delete("m1", &DeleteParams::default()).await;
        let _ = maps.delete("m2", &DeleteParams::default()).await;
        if fault == Fault::Gone {
            cluster.compact_now().await;
        }
        cluster.faults().clear();
        put("last").await;
        let list = maps.list(&ListParams::default()).await.unwrap();
        let last = maps.get("last").await.unwrap().resource_version().unwrap();
        tokio::time::timeout(SOON, informer.wait_for(&last))
            .await
            .unwrap_or_else(|_| panic!("{fault:?}: {:?}", informer.error()))
            .unwrap();
        let mut cached: Vec<_> = informer
            .indexer()
            .snapshot()
            .iter()
            .map(|o| (o.name().to_owned(), o.resource_version().to_owned()))
            .collect();
        cached.sort();
        let mut server: Vec<_> = list
            .items
            .iter()
            .map(|m| (m.name_any(), m.resource_version().unwrap()))
            .collect();
        server.sort();
        let ours: Vec<_> = cached
            .into_iter()
            .filter(|(name, _)| server.iter().any(|(other, _)| other == name))
            .collect();
        assert_eq!(ours, server, "{fault:?}");
        history.assert_consistent();
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
    survives(
        Fault::SlowWatch {
            delay: Duration::from_millis(3),
        },
        &[Verb::Watch],
        2,
    )
    .await;
}
