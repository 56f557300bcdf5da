//! The contents of caches, and who shares them.

use k8s_openapi::api::{core::v1::ConfigMap, policy::v1::PodDisruptionBudget};
use kube::{Api, ResourceExt, core::ApiResource};
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

#[tokio::test(start_paused = true)]
async fn a_status_is_written_alone_and_read_at_once() {
    let cluster = TestCluster::start().await;
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(cluster.client());
    let mut budget = PodDisruptionBudget::default();
    budget.metadata.name = Some("b".into());
    budgets.create(&Default::default(), &budget).await.unwrap();
    let manager = Manager::new(cluster.client());
    let client = manager.client();
    let managed = Managed::start(&manager);
    manager.elected().await;
    let read = async || {
        let found = client.get::<PodDisruptionBudget>("default", "b").await;
        found.unwrap().expect("it is there")
    };
    let first = read().await;
    let mut changed = (*first).clone();
    changed.status.get_or_insert_default().current_healthy = Some(3);
    changed
        .spec
        .get_or_insert_default()
        .unhealthy_pod_eviction_policy = Some("AlwaysAllow".to_owned());
    client.update_status(&changed).await.unwrap();
    let second = read().await;
    assert_eq!(second.status.as_ref().unwrap().current_healthy, Some(3));
    assert_eq!(second.spec, first.spec, "nothing but the status");
    let conflict = client.update_status(&changed).await.unwrap_err();
    assert!(conflict.is_conflict(), "{conflict}");
    managed.stop().await.unwrap();
}
