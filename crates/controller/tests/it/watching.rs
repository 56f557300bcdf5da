//! Sources: predicates, handlers, watches that come and go, kinds that come later.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, DynamicObject, PostParams},
    core::ApiResource,
};
use kubewright_controller::{
    Action, Context, Controller, Filter, Handler, Manager, Owners, Predicate, Request, Source,
    Watch,
    owner::{set_controller_reference, set_owner_reference},
    status::SourceState,
};
use kubewright_informer::IndexFn;
use kubewright_machinery::labels::LabelSelector;
use kubewright_testing::TestCluster;
use parking_lot::Mutex;
use serde_json::json;

use crate::managing::{LONG, Managed, create, maps, merge};

/// Requests as they ran since somebody looked.
#[derive(Clone, Default)]
struct Ran(Arc<Mutex<Vec<String>>>);

impl Ran {
    fn reconciler(
        &self,
    ) -> impl Fn(
        Context,
        Request,
    ) -> std::future::Ready<Result<Action, kubewright_controller::Error>>
    + Send
    + Sync
    + 'static {
        let ran = self.0.clone();
        move |_, request| {
            ran.lock().push(request.to_string());
            std::future::ready(Ok(Action::done()))
        }
    }

    async fn since(&self, managed: &Managed) -> Vec<String> {
        managed.settled().await;
        let mut ran = std::mem::take(&mut *self.0.lock());
        ran.sort();
        ran
    }
}

fn secret(name: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some(name.into());
    secret.metadata.namespace = Some("default".into());
    secret
}

async fn create_secret(cluster: &TestCluster, secret: &Secret) {
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    secrets
        .create(&PostParams::default(), secret)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_owned_object_asks_for_its_owner_and_a_change_of_owner_for_both() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    Controller::for_::<ConfigMap>()
        .owns::<Secret>()
        .predicate(Predicate::resource_version_changed())
        .build(&manager, ran.reconciler())
        .unwrap();
    let (a, b) = (create(&cluster, "a").await, create(&cluster, "b").await);
    let managed = Managed::start(&manager);
    assert_eq!(ran.since(&managed).await, ["default/a", "default/b"]);

    let mut owned = secret("owned");
    set_controller_reference(&a, &mut owned).unwrap();
    create_secret(&cluster, &owned).await;
    assert_eq!(ran.since(&managed).await, ["default/a"]);

    // Not its controller: not asked for.
    let mut other = secret("other");
    set_owner_reference(&b, &mut other).unwrap();
    create_secret(&cluster, &other).await;
    assert!(ran.since(&managed).await.is_empty());

    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    let mut owned = secrets.get("owned").await.unwrap();
    owned.metadata.owner_references = None;
    set_controller_reference(&b, &mut owned).unwrap();
    secrets
        .replace("owned", &PostParams::default(), &owned)
        .await
        .unwrap();
    assert_eq!(ran.since(&managed).await, ["default/a", "default/b"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn leaving_a_selector_is_news() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let web = LabelSelector::parse("app=web").unwrap();
    Controller::for_::<ConfigMap>()
        .predicate(Predicate::selector(web))
        .build(&manager, ran.reconciler())
        .unwrap();
    let managed = Managed::start(&manager);
    create(&cluster, "m").await;
    assert!(ran.since(&managed).await.is_empty());
    merge(
        &cluster,
        "m",
        json!({"metadata": {"labels": {"app": "web"}}}),
    )
    .await;
    assert_eq!(ran.since(&managed).await, ["default/m"]);
    merge(
        &cluster,
        "m",
        json!({"metadata": {"labels": {"app": "db"}}}),
    )
    .await;
    assert_eq!(ran.since(&managed).await, ["default/m"]);
    merge(
        &cluster,
        "m",
        json!({"metadata": {"labels": {"app": "mail"}}}),
    )
    .await;
    assert!(ran.since(&managed).await.is_empty());
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn predicates_look_at_what_changed_and_can_be_combined() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let predicate = Predicate::labels_changed()
        .or(Predicate::annotations_changed())
        .and(Predicate::typed(|map: &ConfigMap| map.name_any() == "quiet").not());
    Controller::for_::<ConfigMap>()
        .predicate(predicate)
        .build(&manager, ran.reconciler())
        .unwrap();
    create(&cluster, "quiet").await;
    create(&cluster, "m").await;
    let managed = Managed::start(&manager);
    assert_eq!(ran.since(&managed).await, ["default/m"]);
    merge(&cluster, "m", json!({"data": {"a": "b"}})).await;
    assert!(ran.since(&managed).await.is_empty());
    merge(&cluster, "m", json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(ran.since(&managed).await, ["default/m"]);
    merge(
        &cluster,
        "m",
        json!({"metadata": {"annotations": {"a": "b"}}}),
    )
    .await;
    assert_eq!(ran.since(&managed).await, ["default/m"]);
    merge(
        &cluster,
        "quiet",
        json!({"metadata": {"annotations": {"a": "b"}}}),
    )
    .await;
    assert!(ran.since(&managed).await.is_empty());
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_map_function_says_who_is_asked_for() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    Controller::builder()
        .named("mapped")
        .watches::<Secret>(|secret| {
            let users = secret
                .annotations()
                .get("users")
                .cloned()
                .unwrap_or_default();
            users
                .split(',')
                .map(|user| Request::new("default", user))
                .collect()
        })
        .watches_metadata::<ConfigMap>(Handler::map_object(|object| {
            vec![Request::new("maps", object.name())]
        }))
        .build(&manager, ran.reconciler())
        .unwrap();
    let managed = Managed::start(&manager);
    let mut used = secret("used");
    used.annotations_mut()
        .insert("users".into(), "a,b,a".into());
    create_secret(&cluster, &used).await;
    create(&cluster, "m").await;
    assert_eq!(
        ran.since(&managed).await,
        ["default/a", "default/b", "maps/m"]
    );
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_added_and_removed_while_the_controller_runs() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let controller = Controller::for_::<ConfigMap>()
        .build(&manager, ran.reconciler())
        .unwrap();
    create_secret(&cluster, &secret("s")).await;
    let managed = Managed::start(&manager);
    assert!(ran.since(&managed).await.is_empty());
    let resources = || {
        let mut names: Vec<_> = manager
            .caches()
            .factory()
            .metrics()
            .into_iter()
            .map(|cache| cache.resource)
            .collect();
        names.sort();
        names
    };
    assert_eq!(resources(), ["configmaps"]);

    let secrets = controller.watch(Watch::of::<Secret>(Handler::for_object()));
    assert_eq!(ran.since(&managed).await, ["default/s"]);
    assert_eq!(resources(), ["configmaps", "secrets"]);

    secrets.stop();
    create_secret(&cluster, &secret("unseen")).await;
    create(&cluster, "m").await;
    assert_eq!(ran.since(&managed).await, ["default/m"]);
    // Nobody else watches it: the cache is gone too.
    assert_eq!(resources(), ["configmaps"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_later_is_waited_for() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let apples = ApiResource {
        group: "shop.test".into(),
        version: "v1".into(),
        api_version: "shop.test/v1".into(),
        kind: "Apple".into(),
        plural: "apples".into(),
    };
    let controller = Controller::for_::<ConfigMap>()
        .watch(Watch::kind(&apples, Handler::for_object()))
        .build(&manager, ran.reconciler())
        .unwrap();
    create(&cluster, "m").await;
    let managed = Managed::start(&manager);
    // The rest works meanwhile.
    assert_eq!(ran.since(&managed).await, ["default/m"]);
    let source = || {
        let sources = controller.status().sources;
        sources
            .into_iter()
            .find(|source| source.name == "apples.shop.test")
            .unwrap()
    };
    assert_eq!(source().state, SourceState::WaitingForKind);
    assert!(source().error.is_some());
    assert_eq!(manager.readyz().report("", "").await.status, 200);

    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "apples.shop.test"},
        "spec": {
            "group": "shop.test",
            "scope": "Namespaced",
            "names": {"plural": "apples", "singular": "apple", "kind": "Apple", "listKind": "AppleList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    let definitions = ApiResource {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        api_version: "apiextensions.k8s.io/v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
    };
    let definitions: Api<DynamicObject> = Api::all_with(cluster.client(), &definitions);
    let definition = serde_json::from_value(definition).unwrap();
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
    let api: Api<DynamicObject> = Api::default_namespaced_with(cluster.client(), &apples);
    let apple = DynamicObject::new("red", &apples);
    while api.create(&PostParams::default(), &apple).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let until = tokio::time::Instant::now() + LONG * 10;
    while source().state != SourceState::Synced {
        assert!(tokio::time::Instant::now() < until, "{:?}", source());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ran.since(&managed).await, ["default/red"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn channels_and_timers_ask_too() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let (sender, channel) = Source::channel("bell");
    let every = Duration::from_secs(3600);
    Controller::builder()
        .named("asked")
        .source(channel)
        .source(Source::timer(
            "clock",
            every,
            Request::cluster_scoped("tick"),
        ))
        .build(&manager, ran.reconciler())
        .unwrap();
    let managed = Managed::start(&manager);
    assert!(sender.send(Request::cluster_scoped("ring")).await);
    let until = tokio::time::Instant::now() + LONG;
    while ran.0.lock().len() < 2 {
        assert!(tokio::time::Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(ran.since(&managed).await, ["ring", "tick"]);
    tokio::time::sleep(every * 2).await;
    assert_eq!(ran.since(&managed).await, ["tick", "tick"]);
    managed.stop().await.unwrap();
    assert!(!sender.send(Request::cluster_scoped("ring")).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_blocks_or_panics_holds_up_no_other_source() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let (unblock, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    Controller::for_::<ConfigMap>()
        .watches::<Secret>(move |secret| {
            assert_ne!(secret.name_any(), "bad");
            // Until the other end is gone.
            let _ = blocked.lock().recv();
            vec![Request::of(secret)]
        })
        .build(&manager, ran.reconciler())
        .unwrap();
    let managed = Managed::start(&manager);
    managed.settled().await;
    create_secret(&cluster, &secret("bad")).await;
    create_secret(&cluster, &secret("blocks")).await;
    create(&cluster, "m").await;
    let until = tokio::time::Instant::now() + LONG;
    while ran.0.lock().is_empty() {
        assert!(tokio::time::Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(*ran.0.lock(), ["default/m"]);
    assert!(!manager.is_idle());
    drop(unblock);
    assert_eq!(ran.since(&managed).await, ["default/blocks", "default/m"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn typed_dynamic_and_indexed_reads_share_one_cache() {
    let cluster = TestCluster::start().await;
    create(&cluster, "a").await;
    merge(
        &cluster,
        "a",
        json!({"metadata": {"labels": {"team": "x"}}, "data": {"k": "v"}}),
    )
    .await;
    create(&cluster, "b").await;
    let manager = Manager::new(cluster.client());
    let client = manager.client();
    client
        .index::<ConfigMap>("team", IndexFn::label("team"))
        .unwrap();
    assert!(
        client
            .index::<ConfigMap>("team", IndexFn::label("team"))
            .is_err()
    );
    let managed = Managed::start(&manager);
    manager.elected().await;
    let found = client
        .list::<ConfigMap>(&Filter::new().index("team", "x"))
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name_any(), "a");
    let elsewhere = Filter::new().index("team", "x").namespace("elsewhere");
    assert!(
        client
            .list::<ConfigMap>(&elsewhere)
            .await
            .unwrap()
            .is_empty()
    );
    let selector = LabelSelector::parse("team!=x").unwrap();
    let others = client
        .list::<ConfigMap>(&Filter::new().labels(selector))
        .await
        .unwrap();
    assert!(others.iter().any(|map| map.name_any() == "b"));
    assert!(others.iter().all(|map| map.name_any() != "a"));
    assert!(
        client
            .list::<ConfigMap>(&Filter::new().index("colour", "red"))
            .await
            .is_err()
    );
    let resource = ApiResource::erase::<ConfigMap>(&());
    let key = kubewright_informer::Key::new(Some("default"), "a");
    let dynamic = client.get_dynamic(&resource, &key).await.unwrap().unwrap();
    assert_eq!(dynamic.data["data"]["k"], "v");
    assert_eq!(manager.caches().factory().len(), 1);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn every_owner_is_asked_for_where_that_is_wanted_and_deletions_are_news() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    Controller::builder()
        .named("owners")
        .watch(Watch::of::<Secret>(Handler::for_owner::<ConfigMap>(
            Owners::Every,
        )))
        .watch(Watch::of::<ConfigMap>(Handler::for_object()))
        .build(&manager, ran.reconciler())
        .unwrap();
    let (a, b) = (create(&cluster, "a").await, create(&cluster, "b").await);
    let managed = Managed::start(&manager);
    ran.since(&managed).await;
    let mut owned = secret("owned");
    set_controller_reference(&a, &mut owned).unwrap();
    set_owner_reference(&b, &mut owned).unwrap();
    create_secret(&cluster, &owned).await;
    assert_eq!(ran.since(&managed).await, ["default/a", "default/b"]);
    maps(&cluster)
        .delete("b", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(ran.since(&managed).await, ["default/b"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cache_with_a_scope_holds_no_more() {
    let cluster = TestCluster::start().await;
    create(&cluster, "a").await;
    create(&cluster, "b").await;
    merge(
        &cluster,
        "a",
        json!({"metadata": {"labels": {"team": "x"}}}),
    )
    .await;
    let scope = kubewright_informer::Scope::namespaces(["default"]).labels("team=x");
    let manager = Manager::builder(cluster.client())
        .scope_of::<ConfigMap>(scope)
        .build()
        .unwrap();
    let ran = Ran::default();
    Controller::for_::<ConfigMap>()
        .build(&manager, ran.reconciler())
        .unwrap();
    let managed = Managed::start(&manager);
    manager.settled(LONG * 10).await.unwrap();
    assert_eq!(*ran.0.lock(), ["default/a"]);
    let cached = manager
        .client()
        .list::<ConfigMap>(&Filter::new())
        .await
        .unwrap();
    assert_eq!(cached.len(), 1);
    managed.stop().await.unwrap();
}
