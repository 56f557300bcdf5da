//! Sources: watches that come and go, kinds that come later, channels, timers, handlers that block.

use std::{sync::mpsc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, PostParams},
    core::ApiResource,
};
use kubewright_controller::{
    Controller, Handler, Manager, Request, Source, Watch, status::SourceState,
};
use kubewright_informer::SubscribeOptions;
use kubewright_testing::TestCluster;
use parking_lot::Mutex;
use serde_json::json;

use super::{Ran, create_secret, secret};
use crate::managing::{LONG, Managed, create};

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
async fn controllers_wait_for_kinds_that_are_defined_later() {
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
async fn channels_and_timers_request_reconciles() {
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
        .watch(Watch::of::<Secret>(Handler::map(move |secret: &Secret| {
            assert_ne!(secret.name_any(), "bad");
            // Until the other end is gone.
            let _ = blocked.lock().recv();
            vec![Request::of(secret)]
        })))
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
async fn another_subscription_of_the_same_name_does_not_keep_a_controller_from_settling() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    Controller::for_::<ConfigMap>()
        .build(&manager, ran.reconciler())
        .unwrap();
    let resource = ApiResource::erase::<ConfigMap>(&());
    let maps = manager.caches().informer(&resource);
    // Named as the controller's own, and never read.
    let options = SubscribeOptions::default().name("configmap#0");
    let unread = maps.subscribe(options);
    create(&cluster, "m").await;
    let managed = Managed::start(&manager);
    assert_eq!(ran.since(&managed).await, ["default/m"]);
    assert_eq!(maps.metrics().handlers[0].0, maps.metrics().handlers[1].0);
    assert!(unread.depth() > 0 && !unread.is_drained());
    managed.stop().await.unwrap();
}
