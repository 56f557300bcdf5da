//! From events to requests: owners, selectors, predicates, map functions.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams},
};
use kubewright_controller::{
    Client, Controller, Handler, Manager, Owners, Predicate, Request, Watch,
    owner::{set_controller_reference, set_owner_reference},
};
use kubewright_machinery::labels::LabelSelector;
use kubewright_testing::TestCluster;
use serde_json::json;

use super::{Ran, create_secret, secret};
use crate::managing::{Managed, create, maps, merge};

#[tokio::test(start_paused = true)]
async fn an_owned_object_asks_for_its_owner_and_a_change_of_owner_for_both() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    Controller::for_::<ConfigMap>()
        .owns::<Secret>()
        .event_filter(Predicate::resource_version_changed())
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
        .event_filter(Predicate::selector(web))
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
        .event_filter(predicate)
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
        .watches(async |_: Client, secret: Arc<Secret>| {
            let users = secret
                .annotations()
                .get("users")
                .cloned()
                .unwrap_or_default();
            let users = users.split(',');
            Ok(users.map(|user| Request::new("default", user)).collect())
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
