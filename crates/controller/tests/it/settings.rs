//! Settings of controllers and managers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::{
    apps::v1::Deployment,
    coordination::v1::Lease,
    core::v1::{ConfigMap, Namespace},
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use kubewright_controller::{
    Action, BoxError, Context, Controller, Manager, Predicate, Request, Source,
    leader_election::ElectionConfig,
};
use kubewright_informer::Transform;
use kubewright_testing::TestCluster;
use kubewright_workqueue::ItemExponentialFailureRateLimiter;
use parking_lot::Mutex;
use serde_json::json;
use tokio::{sync::Notify, time::Instant};

use crate::managing::{LONG, Managed, create, maps, merge};

/// A controller that is asked by hand only.
fn triggered() -> kubewright_controller::ControllerBuilder {
    Controller::builder()
        .named("triggered")
        .source(Source::raw("nothing", |_| std::future::pending()))
}

/// The requests that ran, in order.
type Ran = Arc<Mutex<Vec<String>>>;

#[tokio::test(start_paused = true)]
async fn the_same_name_in_two_clusters_is_two_requests() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let noted = ran.clone();
    let controller = triggered()
        .build(&manager, move |_: Context, request: Request| {
            noted
                .lock()
                .push(format!("{:?} {request}", request.cluster()));
            async { Ok::<_, BoxError>(Action::done()) }
        })
        .unwrap();
    for _ in 0..3 {
        controller.trigger(Request::new("default", "a").in_cluster("east"));
        controller.trigger(Request::new("default", "a").in_cluster("west"));
        controller.trigger(Request::new("default", "a"));
    }
    let managed = Managed::start(&manager);
    managed.settled().await;
    let mut ran = ran.lock().clone();
    ran.sort();
    assert_eq!(
        ran,
        [
            "None default/a",
            "Some(\"east\") east:default/a",
            "Some(\"west\") west:default/a"
        ]
    );
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_result_may_change_the_priority_of_the_next_run() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let noted = ran.clone();
    let again = Duration::from_secs(10);
    let controller = triggered()
        .build(&manager, move |_: Context, request: Request| {
            let mut ran = noted.lock();
            let first = !ran.contains(&request.name().to_owned());
            ran.push(request.name().to_owned());
            drop(ran);
            async move {
                Ok::<_, BoxError>(match request.name() {
                    "urgent" if first => Action::requeue_after(again).priority(100),
                    _ if first => Action::requeue_after(again),
                    _ => Action::done(),
                })
            }
        })
        .unwrap();
    for name in ["a", "b", "urgent"] {
        controller.trigger(Request::cluster_scoped(name));
    }
    let managed = Managed::start(&manager);
    managed.settled().await;
    tokio::time::sleep(again * 2).await;
    managed.settled().await;
    let ran = ran.lock().clone();
    assert_eq!(ran, ["a", "b", "urgent", "urgent", "a", "b"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_custom_rate_limiter_sets_the_delays_of_failures() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = times.clone();
    let minute = Duration::from_secs(60);
    let controller = triggered()
        .rate_limiter(ItemExponentialFailureRateLimiter::new(minute, minute * 2))
        .build(&manager, move |_: Context, _: Request| {
            let mut times = noted.lock();
            times.push(Instant::now());
            let done = times.len() == 4;
            async move {
                if done {
                    return Ok(Action::done());
                }
                Err("not yet".into())
            }
        })
        .unwrap();
    controller.trigger(Request::cluster_scoped("a"));
    let managed = Managed::start(&manager);
    manager.settled(LONG * 100).await.unwrap();
    let times = times.lock().clone();
    let waits: Vec<u64> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs())
        .collect();
    assert_eq!(waits, [60, 120, 120]);
    managed.stop().await.unwrap();
}

/// A change of status leaves the generation as it is.
#[tokio::test(start_paused = true)]
async fn status_changes_do_not_pass_the_generation_predicate() {
    let cluster = TestCluster::start().await;
    let api: Api<Deployment> = Api::default_namespaced(cluster.client());
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web"}]},
            },
        },
    }))
    .unwrap();
    api.create(&PostParams::default(), &deployment)
        .await
        .unwrap();
    let manager = Manager::new(cluster.client());
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    Controller::for_::<Deployment>()
        .event_filter(Predicate::generation_changed())
        .build(&manager, move |_: Context, _: Request| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, BoxError>(Action::done()) }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    managed.settled().await;
    let status = Patch::Merge(json!({"status": {"observedGeneration": 1}}));
    let params = PatchParams::default();
    api.patch_status("web", &params, &status).await.unwrap();
    managed.settled().await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let spec = Patch::Merge(json!({"spec": {"replicas": 2}}));
    api.patch("web", &params, &spec).await.unwrap();
    managed.settled().await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_controller_may_care_for_some_namespaces_only() {
    let cluster = TestCluster::start().await;
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let mut shop = Namespace::default();
    shop.metadata.name = Some("shop".into());
    namespaces
        .create(&PostParams::default(), &shop)
        .await
        .unwrap();
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let noted = ran.clone();
    Controller::for_::<ConfigMap>()
        .event_filter(Predicate::namespaces(["shop"]))
        .build(&manager, move |_: Context, request: Request| {
            noted.lock().push(request.to_string());
            async { Ok::<_, BoxError>(Action::done()) }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    create(&cluster, "a").await;
    let there: Api<ConfigMap> = Api::namespaced(cluster.client(), "shop");
    let map = crate::managing::map("b");
    there.create(&PostParams::default(), &map).await.unwrap();
    managed.settled().await;
    assert_eq!(*ran.lock(), ["shop/b"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn transformed_fields_are_not_cached_but_stay_on_the_server() {
    let cluster = TestCluster::start().await;
    create(&cluster, "a").await;
    merge(&cluster, "a", json!({"data": {"large": "x", "small": "y"}})).await;
    let manager = Manager::builder(cluster.client())
        .transform_of::<ConfigMap>(Transform::drop_fields(["data.large"]))
        .build()
        .unwrap();
    let managed = Managed::start(&manager);
    let keys = |map: &ConfigMap| -> Vec<String> {
        let data = map.data.clone().unwrap_or_default();
        data.into_keys().collect()
    };
    let cached = manager.client().get::<ConfigMap>("default", "a").await;
    assert_eq!(keys(&cached.unwrap().unwrap()), ["small"]);
    // Past the cache.
    let live = manager.client().api::<ConfigMap>("default");
    assert_eq!(keys(&live.get("a").await.unwrap()), ["large", "small"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_never_ends_while_others_wait_is_not_healthy() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let release = Arc::new(Notify::new());
    let waiting = release.clone();
    let controller = triggered()
        .build(&manager, move |_: Context, request: Request| {
            let release = waiting.clone();
            async move {
                if request.name() == "stuck" {
                    release.notified().await;
                }
                Ok::<_, BoxError>(Action::done())
            }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    controller.trigger(Request::cluster_scoped("stuck"));
    controller.trigger(Request::cluster_scoped("waits"));
    tokio::time::sleep(Duration::from_secs(590)).await;
    assert_eq!(manager.healthz().report("", "").await.status, 200);
    tokio::time::sleep(Duration::from_secs(20)).await;
    let report = manager.healthz().report("reconcile", "").await;
    assert_eq!(report.status, 500);
    assert!(report.body.contains("stuck runs"), "{}", report.body);
    release.notify_one();
    managed.settled().await;
    assert_eq!(manager.healthz().report("", "").await.status, 200);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_without_a_limit_waits_forever() {
    let cluster = TestCluster::start().await;
    let manager = Manager::builder(cluster.client())
        .wait_for_shutdown()
        .build()
        .unwrap();
    let hours = Duration::from_secs(5 * 3600);
    let ended = Arc::new(AtomicUsize::new(0));
    let counted = ended.clone();
    let controller = triggered()
        .build(&manager, move |_: Context, _: Request| {
            let ended = counted.clone();
            async move {
                tokio::time::sleep(hours).await;
                ended.fetch_add(1, Ordering::SeqCst);
                Ok::<_, BoxError>(Action::done())
            }
        })
        .unwrap();
    controller.trigger(Request::cluster_scoped("long"));
    let managed = Managed::start(&manager);
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Ours waits less than that for the manager to end: tell it, and wait with the work.
    let mut managed = managed;
    managed.tell();
    tokio::time::sleep(hours).await;
    managed.ended().await.unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn labels_are_put_on_the_lease_beside_those_it_has() {
    let cluster = TestCluster::start().await;
    let leases: Api<Lease> = Api::default_namespaced(cluster.client());
    let lease: Lease = serde_json::from_value(json!({
        "metadata": {"name": "shop", "labels": {"team": "shops", "tier": "old"}},
    }))
    .unwrap();
    leases.create(&PostParams::default(), &lease).await.unwrap();
    let mut config = ElectionConfig::new("shop", "default");
    config.labels = [("tier".to_owned(), "front".to_owned())].into();
    let manager = Manager::builder(cluster.client())
        .leader_election(config)
        .build()
        .unwrap();
    let managed = Managed::start(&manager);
    manager.elected().await;
    let labels = leases.get("shop").await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["team"], "shops");
    assert_eq!(labels["tier"], "front");
    managed.stop().await.unwrap();
}

/// A reconcile is known by an id of its own.
#[tokio::test(start_paused = true)]
async fn every_run_has_an_id_of_its_own() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ids: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = ids.clone();
    Controller::for_::<ConfigMap>()
        .build(&manager, move |context: Context, _: Request| {
            noted.lock().push(context.reconcile_id().to_string());
            async { Ok::<_, BoxError>(Action::done()) }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    for name in ["a", "b", "c"] {
        create(&cluster, name).await;
    }
    assert_eq!(
        maps(&cluster)
            .list(&Default::default())
            .await
            .unwrap()
            .items
            .len(),
        3
    );
    managed.settled().await;
    let mut ids = ids.lock().clone();
    let runs = ids.len();
    ids.sort();
    ids.dedup();
    assert!(runs >= 3);
    assert_eq!(ids.len(), runs);
    managed.stop().await.unwrap();
}
