//! What caches hold, and who shares them.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{ResourceExt, core::ApiResource};
use kubewright_controller::{Controller, Filter, Manager};
use kubewright_informer::IndexFn;
use kubewright_machinery::labels::LabelSelector;
use kubewright_testing::TestCluster;
use serde_json::json;

use super::Ran;
use crate::managing::{LONG, Managed, create, merge};

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
