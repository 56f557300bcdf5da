//! The same behaviour on every server: the embedded one, and a real one if `KUBEWRIGHT_TEST_KUBECONFIG` names a kubeconfig.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, PartialObjectMeta};
use kube::{Client, ResourceExt};
use kubewright_informer::{
    Buffer, IndexFn, ReflectorConfig, Scope, SharedInformer, SharedInformerFactory,
    SubscribeOptions,
};
use kubewright_machinery::labels::LabelSelector;
use kubewright_testing::TestCluster;

use crate::history::History;

const SOON: Duration = Duration::from_secs(30);

/// The servers to test on, each with a namespace of its own.
async fn servers(name: &str, test: impl AsyncFn(Client, String)) {
    let cluster = TestCluster::start().await;
    on(cluster.client(), name, &test).await;
    let Some(path) = std::env::var_os("KUBEWRIGHT_TEST_KUBECONFIG") else {
        return;
    };
    let kubeconfig = kube::config::Kubeconfig::read_from(path).expect("a kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
    let client = Client::try_from(config.expect("a cluster")).expect("a client");
    on(client, name, &test).await;
}

async fn on(client: Client, name: &str, test: &impl AsyncFn(Client, String)) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut namespace = Namespace::default();
    namespace.metadata.generate_name = Some(format!("informer-{name}-"));
    let made = namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .expect("a namespace");
    test(client.clone(), made.name_any()).await;
    let _ = namespaces
        .delete(&made.name_any(), &DeleteParams::default())
        .await;
}

fn map(name: &str, team: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.labels = Some(BTreeMap::from([("team".to_owned(), team.to_owned())]));
    map.data = Some(BTreeMap::from([(
        "text".to_owned(),
        "ünï\"cödé".to_owned(),
    )]));
    map
}

async fn change(maps: &Api<ConfigMap>, name: &str, round: u32) -> String {
    let patch = serde_json::json!({"data": {"round": round.to_string()}});
    let changed = maps
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await;
    changed
        .expect("a change")
        .resource_version()
        .expect("a revision")
}

/// The cache holds what the server lists, and the history leads there.
async fn agree(maps: &Api<ConfigMap>, informer: &SharedInformer<ConfigMap>, history: &History) {
    let list = maps.list(&ListParams::default()).await.expect("a list");
    let version = list.metadata.resource_version.clone().expect("a revision");
    let server: BTreeMap<_, _> = list
        .items
        .iter()
        .map(|m| {
            let key = format!("{}/{}", m.namespace().unwrap_or_default(), m.name_any());
            (
                key,
                (
                    m.uid().unwrap_or_default(),
                    m.resource_version().unwrap_or_default(),
                ),
            )
        })
        .collect();
    // Where nothing moves, the list may be ahead of the last event; a change of our own brings us there.
    let probe = change(maps, "probe", version.len() as u32 + rand(&version)).await;
    tokio::time::timeout(SOON, informer.wait_for(&probe))
        .await
        .expect("in time")
        .expect("a revision");
    let mut cached: BTreeMap<_, _> = informer
        .indexer()
        .snapshot()
        .iter()
        .map(|o| {
            (
                o.key().to_string(),
                (o.uid().to_owned(), o.resource_version().to_owned()),
            )
        })
        .collect();
    let mut server = server;
    server.retain(|key, _| !key.ends_with("/probe"));
    cached.retain(|key, _| !key.ends_with("/probe"));
    assert_eq!(cached, server);
    history.assert_consistent();
}

fn rand(text: &str) -> u32 {
    text.bytes().fold(7, |sum: u32, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cache_follows_the_server() {
    servers("follows", async |client, namespace| {
        for watch_list in [true, false] {
            let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
            let _ = maps
                .create(&PostParams::default(), &map("probe", "none"))
                .await;
            for i in 0..12 {
                let _ = maps
                    .create(&PostParams::default(), &map(&format!("m{i}"), "red"))
                    .await;
            }
            let factory = SharedInformerFactory::builder(client.clone())
                .namespaces([&namespace])
                .reflector(ReflectorConfig {
                    watch_list,
                    page_size: (!watch_list).then_some(5),
                    ..ReflectorConfig::default()
                })
                .build();
            let informer = factory.informer::<ConfigMap>();
            let (history, registration) = History::of(&informer, SubscribeOptions::default());
            factory.start();
            let report = factory.wait_for_sync(SOON).await;
            assert!(report.is_synced(), "{report}");
            registration.synced().await;
            agree(&maps, &informer, &history).await;
            for round in 0..5 {
                change(&maps, "m1", round).await;
                change(&maps, "m2", round).await;
            }
            maps.delete("m3", &DeleteParams::default()).await.unwrap();
            maps.delete("m4", &DeleteParams::default()).await.unwrap();
            maps.create(&PostParams::default(), &map("m4", "blue"))
                .await
                .unwrap();
            agree(&maps, &informer, &history).await;
            // A late reader sees the same.
            let (late, registration) = History::of(
                &informer,
                SubscribeOptions::default().buffer(Buffer::Coalesce),
            );
            registration.synced().await;
            agree(&maps, &informer, &late).await;
            assert!(informer.error().is_none());
            let metrics = informer.metrics();
            assert_eq!(metrics.total_relists(), 0, "{metrics:?}");
            assert_eq!(metrics.watch_list_fallbacks, 0, "{metrics:?}");
            assert_eq!(metrics.lists, u64::from(!watch_list));
            factory.shutdown().await;
        }
    })
    .await;
}

// A write is read back as soon as the cache shows its revision.
#[tokio::test(flavor = "multi_thread")]
async fn readers_see_their_own_writes() {
    servers("writes", async |client, namespace| {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
        maps.create(&PostParams::default(), &map("m", "red"))
            .await
            .unwrap();
        let factory = SharedInformerFactory::new(client.clone());
        let informer = factory.informer_in::<ConfigMap>(Scope::namespaces([&namespace]));
        informer
            .add_index("round", IndexFn::field("data.round"))
            .unwrap();
        factory.start();
        informer.wait_for_sync(SOON).await.unwrap();
        let lister = informer.lister().namespace(&namespace);
        for round in 0..10 {
            let version = change(&maps, "m", round).await;
            tokio::time::timeout(SOON, informer.wait_for(&version))
                .await
                .unwrap()
                .unwrap();
            let map = lister.get("m").unwrap().expect("the map");
            assert_eq!(map.data.as_ref().unwrap()["round"], round.to_string());
            assert_eq!(
                informer
                    .lister()
                    .by_index("round", &round.to_string())
                    .unwrap()
                    .len(),
                1
            );
        }
        assert!(lister.get("none").unwrap().is_none());
        let red = LabelSelector::parse("team=red").unwrap();
        assert_eq!(lister.list(&red).len(), 1);
        assert!(
            informer
                .lister()
                .namespace("elsewhere")
                .list(&red)
                .is_empty()
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_dynamic_and_metadata_users_share_one_watch() {
    servers("share", async |client, namespace| {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
        maps.create(&PostParams::default(), &map("m", "red"))
            .await
            .unwrap();
        let factory = SharedInformerFactory::builder(client.clone())
            .namespaces([&namespace])
            .build();
        let resource = ApiResource::erase::<ConfigMap>(&());
        let typed = factory.informer::<ConfigMap>();
        let dynamic = factory.dynamic(&resource);
        let metadata = factory.metadata(&resource);
        assert_eq!(factory.len(), 1);
        let only = factory.metadata_only(&resource);
        assert_eq!(factory.len(), 2);
        factory.start();
        assert!(factory.wait_for_sync(SOON).await.is_synced());
        let key = kubewright_informer::Key::new(Some(&namespace), "m");
        assert!(
            typed
                .lister()
                .get_key(&key)
                .unwrap()
                .unwrap()
                .data
                .is_some()
        );
        let object = dynamic.lister().get_key(&key).unwrap().unwrap();
        assert_eq!(object.types.as_ref().unwrap().kind, "ConfigMap");
        assert_eq!(object.data["data"]["text"], "ünï\"cödé");
        let meta: std::sync::Arc<PartialObjectMeta> =
            metadata.lister().get_key(&key).unwrap().unwrap();
        assert_eq!(meta.name_any(), "m");
        assert!(meta.metadata.managed_fields.is_none());
        let bare = only.lister().cached(&key).unwrap();
        assert!(!String::from_utf8_lossy(&bare.json()).contains("\"data\""));
        assert_eq!(typed.metrics().watches, 1);
        // The last user ends the watch; whoever comes then begins another.
        drop((typed, dynamic, metadata));
        assert_eq!(factory.len(), 1);
        let again = factory.informer::<ConfigMap>();
        again.wait_for_sync(SOON).await.unwrap();
        assert_eq!(
            again.lister().len(),
            again.lister().select(&LabelSelector::everything()).len()
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_namespaces_are_one_cache() {
    servers("several", async |client, namespace| {
        let other = format!("{namespace}-b");
        let mut made = Namespace::default();
        made.metadata.name = Some(other.clone());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces
            .create(&PostParams::default(), &made)
            .await
            .unwrap();
        let factory = SharedInformerFactory::new(client.clone());
        let scope = Scope::namespaces([&namespace, &other]).labels("team in (red,blue)");
        let informer = factory.informer_in::<ConfigMap>(scope);
        let (history, _registration) = History::of(&informer, SubscribeOptions::default());
        factory.start();
        informer.wait_for_sync(SOON).await.unwrap();
        let mut last = String::new();
        for (i, namespace) in [&namespace, &other, &namespace, &other]
            .into_iter()
            .enumerate()
        {
            let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            for team in ["red", "green"] {
                let made = maps
                    .create(&PostParams::default(), &map(&format!("{team}{i}"), team))
                    .await;
                last = made.unwrap().resource_version().unwrap();
            }
        }
        for namespace in [&namespace, &other] {
            let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            let made = maps
                .create(&PostParams::default(), &map("last", "blue"))
                .await
                .unwrap();
            last = made.resource_version().unwrap();
        }
        // Both streams have to get there; bookmarks bring the other one along, or its next watch does.
        let two_plus_last = async {
            while informer.lister().len() < 6 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, two_plus_last).await.unwrap();
        assert!(!last.is_empty());
        assert_eq!(
            informer
                .lister()
                .namespace(&other)
                .select(&LabelSelector::everything())
                .len(),
            3
        );
        history.assert_consistent();
        let _ = namespaces.delete(&other, &DeleteParams::default()).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_is_not_there_says_so() {
    servers("missing", async |client, _| {
        let factory = SharedInformerFactory::new(client.clone());
        let resource = ApiResource {
            group: "nowhere.example.com".to_owned(),
            version: "v1".to_owned(),
            api_version: "nowhere.example.com/v1".to_owned(),
            kind: "Nothing".to_owned(),
            plural: "nothings".to_owned(),
        };
        let nothing = factory.dynamic(&resource);
        let maps = factory.informer::<ConfigMap>();
        factory.start();
        let reason = nothing.sync_or_error().await.unwrap_err();
        assert_eq!(reason.reason.as_ref().unwrap().code(), Some(404));
        let report = factory.wait_for_sync(Duration::from_millis(1500)).await;
        assert_eq!(report.not_synced.len(), 1);
        assert_eq!(report.synced.len(), 1);
        assert!(
            report
                .to_string()
                .starts_with("nothings.nowhere.example.com not synced"),
            "{report}"
        );
        drop(maps);
        factory.shutdown().await;
        factory.start();
        assert!(nothing.is_stopped());
    })
    .await;
}
