//! Deletion of namespaces.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, NamespaceCondition, Node, Pod};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kubewright_apiserver::request::Verb;
use kubewright_builtin_controllers::Controllers;
use kubewright_controller::wait::{wait_for, wait_for_deletion};
use kubewright_machinery::Status;
use kubewright_testing::{Fault, Match, TestCluster};
use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, LONG},
    kinds::{define, widget, widgets},
};

pub(crate) async fn delete(f: &Fixture, name: &str) {
    f.namespaces()
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
}

pub(crate) async fn gone(f: &Fixture, name: &str) {
    wait_for_deletion(&f.namespaces(), name, None, LONG)
        .await
        .unwrap();
}

pub(crate) fn condition<'a>(
    namespace: &'a Namespace,
    type_: &str,
) -> Option<&'a NamespaceCondition> {
    let conditions = namespace.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Waits until a condition of a namespace has that status.
pub(crate) async fn until(f: &Fixture, name: &str, type_: &str, status: &str) -> Namespace {
    let wanted = |namespace: Option<&Namespace>| {
        let condition = namespace.and_then(|namespace| condition(namespace, type_));
        condition.is_some_and(|condition| condition.status == status)
    };
    wait_for(&f.namespaces(), name, LONG, wanted)
        .await
        .unwrap()
        .unwrap()
}

/// Returns all conditions: type, status, reason, message.
fn conditions(namespace: &Namespace) -> Value {
    let conditions = namespace.status.as_ref().and_then(|s| s.conditions.clone());
    conditions
        .unwrap_or_default()
        .iter()
        .map(|c| json!([c.type_, c.status, c.reason, c.message]))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_namespace_goes() {
    let f = Fixture::start("namespace").await;
    f.namespace("shop").await;
    delete(&f, "shop").await;
    gone(&f, "shop").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_goes_with_content_of_all_kinds() {
    let f = Fixture::start("default").await;
    define(&f).await;
    f.namespace("shop").await;
    f.map_in("shop", "map", &[]).await;
    f.create(widget("shop", "widget")).await;
    for object in [
        json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "image": "a"}]}}),
        json!({"apiVersion": "v1", "kind": "Secret"}),
        json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 1}]}}),
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "spec": {
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "a", "image": "a"}]},
                },
            },
        }),
    ] {
        let mut object = object;
        object["metadata"] = json!({"name": "a", "namespace": "shop"});
        f.create(object).await;
    }
    f.map_in("default", "elsewhere", &[]).await;
    delete(&f, "shop").await;
    gone(&f, "shop").await;
    assert!(f.find("elsewhere").await.is_some());
    // Nothing is left of it.
    f.namespace("shop").await;
    assert!(f.maps("shop").get_opt("map").await.unwrap().is_none());
    let widgets = widgets(&f, "shop");
    assert!(widgets.get_opt("widget").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finalizer_that_holds_on_is_reported_and_when_it_is_released_the_namespace_goes() {
    let f = Fixture::start("namespace").await;
    define(&f).await;
    f.namespace("shop").await;
    let mut object = widget("shop", "held");
    object["metadata"]["finalizers"] = json!(["shop.example/hold"]);
    f.create(object).await;
    delete(&f, "shop").await;
    let namespace = until(&f, "shop", "NamespaceFinalizersRemaining", "True").await;
    assert_eq!(
        conditions(&namespace),
        json!([
            [
                "NamespaceDeletionDiscoveryFailure",
                "False",
                "ResourcesDiscovered",
                "All resources successfully discovered"
            ],
            [
                "NamespaceDeletionGroupVersionParsingFailure",
                "False",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed"
            ],
            [
                "NamespaceDeletionContentFailure",
                "False",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization"
            ],
            [
                "NamespaceContentRemaining",
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: widgets.shop.example has 1 resource instances"
            ],
            [
                "NamespaceFinalizersRemaining",
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: shop.example/hold in 1 resource instances"
            ],
        ])
    );
    f.settled().await;
    assert!(f.namespaces().get_opt("shop").await.unwrap().is_some());
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let widgets = widgets(&f, "shop");
    widgets
        .patch("held", &PatchParams::default(), &patch)
        .await
        .unwrap();
    gone(&f, "shop").await;
}

/// Virtual time passes only when nothing can run, so watch events take no time.
#[tokio::test(start_paused = true)]
async fn what_is_released_is_noticed_at_once_and_not_when_the_estimate_is_over() {
    let f = Fixture::start("namespace").await;
    f.namespace("shop").await;
    f.map_in("shop", "held", &[]).await;
    let maps = f.maps("shop");
    let hold = Patch::Merge(json!({"metadata": {"finalizers": ["shop.example/hold"]}}));
    let params = PatchParams::default();
    maps.patch("held", &params, &hold).await.unwrap();
    delete(&f, "shop").await;
    until(&f, "shop", "NamespaceFinalizersRemaining", "True").await;
    f.settled().await;
    let released = tokio::time::Instant::now();
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("held", &params, &release).await.unwrap();
    gone(&f, "shop").await;
    assert!(released.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_go_first_and_the_rest_waits_for_them() {
    let f = Fixture::start("namespace").await;
    f.namespace("shop").await;
    f.map_in("shop", "needed", &[]).await;
    let node: Node = serde_json::from_value(json!({"metadata": {"name": "node"}})).unwrap();
    let nodes: Api<Node> = Api::all(f.client());
    nodes.create(&PostParams::default(), &node).await.unwrap();
    // A pod on a node ends when its kubelet reports it.
    f.create(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "shop"},
        "spec": {
            "nodeName": "node",
            "terminationGracePeriodSeconds": 3600,
            "containers": [{"name": "a", "image": "a"}],
        },
    }))
    .await;
    delete(&f, "shop").await;
    let pods: Api<Pod> = Api::namespaced(f.client(), "shop");
    let ending = |pod: Option<&Pod>| pod.is_some_and(|p| p.metadata.deletion_timestamp.is_some());
    wait_for(&pods, "pod", LONG, ending).await.unwrap();
    until(&f, "shop", "NamespaceContentRemaining", "False").await;
    f.settled().await;
    assert!(f.maps("shop").get_opt("needed").await.unwrap().is_some());
    let now = DeleteParams::default().grace_period(0);
    pods.delete("pod", &now).await.unwrap();
    gone(&f, "shop").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finalizer_of_somebody_else_on_the_namespace_is_left_to_them() {
    let f = Fixture::start("namespace").await;
    let namespace = json!({
        "metadata": {"name": "shop"},
        "spec": {"finalizers": ["kubernetes", "shop.example/own"]},
    });
    let namespace: Namespace = serde_json::from_value(namespace).unwrap();
    let namespaces = f.namespaces();
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    f.map_in("shop", "map", &[]).await;
    delete(&f, "shop").await;
    let finalizers = |namespace: &Namespace| namespace.spec.clone()?.finalizers;
    let wanted = |namespace: Option<&Namespace>| {
        namespace.and_then(finalizers) == Some(vec!["shop.example/own".to_owned()])
    };
    wait_for(&namespaces, "shop", LONG, wanted).await.unwrap();
    assert!(f.maps("shop").get_opt("map").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn content_that_cannot_be_deleted_is_reported_until_it_can() {
    let f = Fixture::start("namespace").await;
    f.namespace("shop").await;
    f.map_in("shop", "map", &[]).await;
    let refused: Status = serde_json::from_value(json!({
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": "not today",
    }))
    .unwrap();
    f.cluster.faults().inject(
        Fault::Refuse(Box::new(refused)),
        Match::verb(Verb::DeleteCollection).resource("configmaps"),
        3,
    );
    delete(&f, "shop").await;
    let namespace = until(&f, "shop", "NamespaceDeletionContentFailure", "True").await;
    let failed = condition(&namespace, "NamespaceDeletionContentFailure").unwrap();
    assert_eq!(failed.reason.as_deref(), Some("ContentDeletionFailed"));
    assert_eq!(
        failed.message.as_deref(),
        Some("Failed to delete all resource types, 1 remaining: not today")
    );
    gone(&f, "shop").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_was_deleted_before_the_start_goes() {
    let f = Fixture::without(TestCluster::start().await);
    f.namespace("shop").await;
    f.map_in("shop", "map", &[]).await;
    delete(&f, "shop").await;
    let f = f.with(&Controllers::default());
    gone(&f, "shop").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_namespaces_go_at_once() {
    let f = Fixture::start("default").await;
    for number in 0..20 {
        let name = format!("shop-{number}");
        f.namespace(&name).await;
        f.map_in(&name, "map", &[]).await;
    }
    for number in 0..20 {
        delete(&f, &format!("shop-{number}")).await;
    }
    for number in 0..20 {
        gone(&f, &format!("shop-{number}")).await;
    }
}
