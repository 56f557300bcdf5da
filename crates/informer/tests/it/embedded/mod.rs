//! The table of faults, on the embedded server: what its bytes go through on the way is up to a [`Wire`], or to the faults that
//! a test cluster can inject. The rows are those of [`faults`](crate::faults).

mod connections;
mod contents;
mod injected;
mod refusals;
mod wire;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kubewright_informer::BackoffSettings;
use kubewright_informer::Registration;
use kubewright_informer::{
    ReflectorConfig, SharedInformer, SharedInformerFactory, SubscribeOptions,
};
use kubewright_testing::TestCluster;

pub(crate) use self::wire::{Strike, Wire};
use crate::history::History;

const SEEDS: u64 = 2;

/// Changes the maps of a cluster, past all faults.
#[derive(Clone)]
pub(crate) struct Maps(pub(crate) Api<ConfigMap>);

impl Maps {
    pub(crate) fn of(cluster: &TestCluster) -> Self {
        Self(Api::default_namespaced(cluster.client()))
    }

    pub(crate) async fn create(&self, name: &str) {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.to_owned());
        map.data = Some([("text".to_owned(), "ünï\"cödé 😀".to_owned())].into());
        let made = self.0.create(&PostParams::default(), &map).await;
        made.expect("a map");
    }

    pub(crate) async fn change(&self, name: &str, value: u64) {
        let patch = Patch::Merge(serde_json::json!({"data": {"v": value.to_string()}}));
        let changed = self.0.patch(name, &PatchParams::default(), &patch).await;
        changed.expect("a change");
    }

    pub(crate) async fn delete(&self, name: &str) {
        let deleted = self.0.delete(name, &DeleteParams::default()).await;
        deleted.expect("a deletion");
    }

    /// A bit of everything. Rounds may repeat.
    pub(crate) async fn live(&self, round: u64) {
        self.change("m3", round).await;
        self.create(&format!("new{round}")).await;
        self.delete(&format!("old{round}")).await;
        self.delete("m5").await;
        self.create("m5").await;
        self.change("m3", round + 1000).await;
    }

    /// Key to uid and resourceVersion, as the server lists them.
    pub(crate) async fn model(&self) -> BTreeMap<String, (String, String)> {
        let list = self.0.list(&ListParams::default()).await.expect("a list");
        let entry = |map: &ConfigMap| {
            let version = (map.uid()?, map.resource_version()?);
            Some((format!("{}/{}", map.namespace()?, map.name_any()), version))
        };
        list.items.iter().filter_map(entry).collect()
    }
}

/// An informer on a server that may misbehave, and a history of what a handler receives.
pub(crate) struct Watched {
    pub(crate) informer: SharedInformer<ConfigMap>,
    pub(crate) history: History,
    pub(crate) registration: Registration,
    /// The time to wait for it: hours where time is virtual.
    patience: Duration,
}

impl Watched {
    pub(crate) fn start(client: kube::Client, config: ReflectorConfig) -> Self {
        let patience = if config.backoff.most < Duration::from_secs(1) {
            Duration::from_secs(60)
        } else {
            Duration::from_secs(10_000)
        };
        let factory = SharedInformerFactory::builder(client)
            .namespaces(["default"])
            .reflector(config)
            .build();
        let informer = factory.informer::<ConfigMap>();
        let (history, registration) = History::of(&informer, SubscribeOptions::default());
        factory.start();
        Self {
            informer,
            history,
            registration,
            patience,
        }
    }

    /// Waits until the cache and its readers hold what the server holds.
    pub(crate) async fn agrees_with(&self, maps: &Maps, what: &str) {
        let wanted = maps.model().await;
        let cached = || -> BTreeMap<_, _> {
            let state = self.informer.indexer().snapshot();
            let entry = |o: &std::sync::Arc<kubewright_informer::StoredObject>| {
                let version = (o.uid().to_owned(), o.resource_version().to_owned());
                (o.key().to_string(), version)
            };
            state.iter().map(entry).collect()
        };
        let begin = tokio::time::Instant::now();
        let mut pause = Duration::from_millis(20);
        while begin.elapsed() < self.patience {
            if cached() == wanted && self.history.model() == wanted {
                self.history.assert_consistent();
                return;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(self.patience / 500);
        }
        panic!(
            "{what}: the cache does not follow the server\nserver {wanted:#?}\ncache {:#?}\nerror {:?}\ntold {:#?}",
            cached(),
            self.informer.error(),
            self.history.told(),
        );
    }
}

/// By a seed.
pub(crate) fn seeded(watch_list: bool) -> ReflectorConfig {
    ReflectorConfig {
        watch_list,
        backoff: BackoffSettings {
            seed: Some(7),
            ..BackoffSettings::default()
        },
        ..ReflectorConfig::default()
    }
}

/// A cluster with some maps.
pub(crate) async fn cluster() -> (TestCluster, Maps) {
    let cluster = TestCluster::start().await;
    let maps = Maps::of(&cluster);
    for i in 0..8 {
        maps.create(&format!("m{i}")).await;
    }
    for i in 0..4 {
        maps.create(&format!("old{i}")).await;
    }
    (cluster, maps)
}

/// Strikes a wire before the informer starts, and while it runs.
async fn survives(name: &str, before: impl Fn(&Wire), during: impl Fn(&Wire)) {
    for seed in 0..SEEDS {
        for watch_list in [true, false] {
            let what = format!("{name}, seed {seed}, watch-list {watch_list}");
            let (cluster, maps) = cluster().await;
            let wire = Wire::to(cluster.service(), seed * 7919 + 1);
            let earlier = cluster.fork().await;
            wire.remember(earlier.service());
            maps.change("m1", 1).await;
            maps.delete("m2").await;
            before(&wire);
            let watched = Watched::start(wire.client(), seeded(watch_list));
            watched.agrees_with(&maps, &what).await;
            during(&wire);
            maps.live(0).await;
            watched.agrees_with(&maps, &what).await;
            wire.disconnect();
            maps.live(1).await;
            maps.delete("new0").await;
            watched.agrees_with(&maps, &what).await;
            assert!(watched.registration.has_synced(), "{what}");
            // It settles: later there is nothing wrong.
            tokio::time::sleep(Duration::from_secs(1200)).await;
            maps.live(2).await;
            watched.agrees_with(&maps, &what).await;
            let error = watched.informer.error();
            assert!(error.is_none(), "{what}: {error:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_wrong() {
    survives("nothing", |_| {}, |_| {}).await;
}
