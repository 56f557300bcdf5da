//! From events to requests: owners, selectors, predicates, map functions.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
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
async fn an_owned_object_requests_its_owner_and_a_change_of_owner_both() {
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
async fn references_and_map_functions_have_predicates_of_their_own() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let labelled = |text: &str| Predicate::matching(LabelSelector::parse(text).unwrap());
    let (referenced, mapped) = (labelled("referenced"), labelled("mapped"));
    let names = |map: &ConfigMap| vec![format!("{}-secret", map.name_any())];
    Controller::for_::<ConfigMap>()
        .references_with::<ConfigMap, Secret>(|watch| watch.predicate(referenced), names)
        .watches_with(
            |watch| watch.predicate(mapped),
            |_: Client, secret: Arc<Secret>| async move {
                Ok(vec![Request::new("mapped", &secret.name_any())])
            },
        )
        .build(&manager, ran.reconciler())
        .unwrap();
    let managed = Managed::start(&manager);
    create(&cluster, "m").await;
    assert_eq!(ran.since(&managed).await, ["default/m"]);
    let mut labels = secret("m-secret");
    create_secret(&cluster, &labels).await;
    assert!(ran.since(&managed).await.is_empty());
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    for (label, expected) in [("referenced", "default/m"), ("mapped", "mapped/m-secret")] {
        labels.metadata.labels = Some([(label.to_owned(), "1".to_owned())].into());
        let params = PostParams::default();
        secrets.replace("m-secret", &params, &labels).await.unwrap();
        assert_eq!(ran.since(&managed).await, [expected]);
    }
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_watch_has_predicates_of_its_own() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let labelled = |text: &str| Predicate::selector(LabelSelector::parse(text).unwrap());
    let (main, owned, mapped) = (labelled("main"), labelled("owned"), labelled("mapped"));
    let handler = Handler::map_object(|object| vec![Request::new("services", object.name())]);
    Controller::for_with::<ConfigMap>(|watch| watch.predicate(main))
        .owns_with::<Secret>(|watch| watch.predicate(owned))
        .watch(Watch::of::<Service>(handler).predicate(mapped))
        .build(&manager, ran.reconciler())
        .unwrap();
    let managed = Managed::start(&manager);
    // Only `for_with` wants this label.
    let map = create(&cluster, "m").await;
    assert!(ran.since(&managed).await.is_empty());
    merge(
        &cluster,
        "m",
        json!({"metadata": {"labels": {"main": "1"}}}),
    )
    .await;
    assert_eq!(ran.since(&managed).await, ["default/m"]);

    let mut plain = secret("plain");
    set_controller_reference(&map, &mut plain).unwrap();
    plain.metadata.labels = Some([("main".to_owned(), "1".to_owned())].into());
    create_secret(&cluster, &plain).await;
    assert!(ran.since(&managed).await.is_empty());
    let mut wanted = secret("wanted");
    set_controller_reference(&map, &mut wanted).unwrap();
    wanted.metadata.labels = Some([("owned".to_owned(), "1".to_owned())].into());
    create_secret(&cluster, &wanted).await;
    assert_eq!(ran.since(&managed).await, ["default/m"]);

    let services: Api<Service> = Api::default_namespaced(cluster.client());
    for (name, label) in [("a", "owned"), ("b", "mapped")] {
        let service = json!({
            "metadata": {"name": name, "labels": {label: "1"}},
            "spec": {"ports": [{"port": 80}]},
        });
        let service = serde_json::from_value(service).unwrap();
        services
            .create(&PostParams::default(), &service)
            .await
            .unwrap();
    }
    assert_eq!(ran.since(&managed).await, ["services/b"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn leaving_a_selector_is_an_event() {
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
async fn a_map_function_returns_the_requests() {
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
async fn all_owners_can_be_requested_and_deletions_count() {
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
