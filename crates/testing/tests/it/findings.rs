//! The findings: for each rule a story on a cluster that raises it, and one that does not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PostParams},
};
use kubewright_controller::{Action, Context, Controller, Manager, Predicate, Request, Result};
use kubewright_ledger::{Finding, FindingKind, ObjectRef};
use kubewright_testing::TestCluster;
use serde_json::json;

use crate::ledger::{by, map, patch};

/// Creates the ConfigMap `sky`, lets virtual time pass, and returns the findings about it.
async fn findings_after(cluster: &TestCluster, time: Duration) -> Vec<Finding> {
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    maps.create(&PostParams::default(), &map("sky", &[("a", "1")]))
        .await
        .unwrap();
    cluster.time().advance(time).await;
    cluster.ledger().findings().await
}

fn again_after(time: Duration) -> Result<Action> {
    Ok(Action::requeue_after(time))
}

fn kinds(findings: &[Finding]) -> Vec<FindingKind> {
    findings.iter().map(|finding| finding.kind).collect()
}

#[tokio::test(start_paused = true)]
async fn a_key_that_runs_ten_times_a_second_is_a_hot_loop() {
    for (interval, expected) in [(100, vec![FindingKind::HotLoop]), (1000, vec![])] {
        let cluster = TestCluster::start().await;
        let manager = Manager::new(cluster.client());
        let again = move |_: Context, _: Request| async move {
            again_after(Duration::from_millis(interval))
        };
        let controller = Controller::for_::<ConfigMap>().named("spinner");
        controller.build(&manager, again).unwrap();
        let _running = cluster.run(&manager);
        cluster.settled().await.unwrap();
        let findings = findings_after(&cluster, Duration::from_secs(10)).await;
        assert_eq!(kinds(&findings), expected, "every {interval} ms");
        if let [hot] = &*findings {
            assert_eq!(hot.key, "default/sky");
            assert!(hot.message.contains("requeue"), "{}", hot.message);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn writes_that_change_nothing_are_found() {
    for (compares, expected) in [(false, vec![FindingKind::WritesNothing]), (true, vec![])] {
        let cluster = TestCluster::start().await;
        let manager = Manager::new(cluster.client());
        let write = move |ctx: Context<ConfigMap>, map: Arc<ConfigMap>| async move {
            let is_written = map.data.as_ref().is_some_and(|data| data["a"] == "1");
            if !compares || !is_written {
                let patch = Patch::Merge(json!({"data": {"a": "1"}}));
                let maps = ctx.client().api::<ConfigMap>("default");
                maps.patch(&map.name_any(), &by("writer"), &patch).await?;
            }
            again_after(Duration::from_secs(10))
        };
        let controller = Controller::for_::<ConfigMap>().named("writer");
        controller.build(&manager, write).unwrap();
        let _running = cluster.run(&manager);
        cluster.settled().await.unwrap();
        let findings = findings_after(&cluster, Duration::from_secs(45)).await;
        assert_eq!(kinds(&findings), expected, "{findings:?}");
        if let [useless] = &*findings {
            assert!(useless.message.contains("by writer"), "{}", useless.message);
            assert!(!useless.runs.is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_without_a_run_has_the_reason() {
    let done = |_: Context, _: Request| async { again_after(Duration::from_secs(3600)) };
    let named = |name: &'static str| Predicate::object(move |object| object.name() == name);
    for (predicate, namespaces, expected) in [
        (named("sky"), vec![], None),
        (named("moon"), vec![], Some("predicate")),
        (named("sky"), vec!["kube-system"], Some("namespace")),
    ] {
        let cluster = TestCluster::start().await;
        let mut builder = Manager::builder(cluster.client());
        if !namespaces.is_empty() {
            builder = builder.namespaces(namespaces.clone());
        }
        let manager = builder.build().unwrap();
        let controller = Controller::for_::<ConfigMap>().named("reader");
        let controller = controller.event_filter(predicate);
        controller.build(&manager, done).unwrap();
        let _running = cluster.run(&manager);
        cluster.settled().await.unwrap();
        let findings = findings_after(&cluster, Duration::from_secs(5)).await;
        let never = findings
            .iter()
            .find(|it| it.kind == FindingKind::NeverReconciled);
        assert_eq!(never.map(|it| it.reason.as_str()), expected, "{findings:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_of_two_seconds_is_slow() {
    for (took, expected) in [(2000, vec![FindingKind::Slow]), (20, vec![])] {
        let cluster = TestCluster::start().await;
        let manager = Manager::new(cluster.client());
        let slow = move |_: Context, _: Request| async move {
            tokio::time::sleep(Duration::from_millis(took)).await;
            again_after(Duration::from_secs(3600))
        };
        let controller = Controller::for_::<ConfigMap>().named("sloth");
        controller.build(&manager, slow).unwrap();
        let _running = cluster.run(&manager);
        cluster.settled().await.unwrap();
        let findings = findings_after(&cluster, Duration::from_secs(5)).await;
        assert_eq!(kinds(&findings), expected, "{took} ms");
        if let [slow] = &*findings {
            assert!(slow.message.contains("took 2.0 s"), "{}", slow.message);
        }
    }
}

/// Writes an annotation that differs each time, up to a limit.
fn scribbler(
    limit: usize,
) -> impl Fn(Context<ConfigMap>, Arc<ConfigMap>) -> BoxFuture<'static, Result<Action>>
+ Send
+ Sync
+ 'static {
    let runs = Arc::new(AtomicUsize::new(0));
    move |ctx: Context<ConfigMap>, map: Arc<ConfigMap>| {
        let runs = runs.clone();
        Box::pin(async move {
            let run = runs.fetch_add(1, Ordering::SeqCst);
            if run < limit && map.name_any() == "sky" {
                let mut map = (*map).clone();
                map.annotations_mut().insert("run".into(), run.to_string());
                ctx.client().update(&map).await?;
            }
            Ok(Action::done())
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn self_triggering_controllers_are_findings_and_converging_ones_are_not() {
    for (limit, expected) in [(1, false), (5, true)] {
        let cluster = TestCluster::start().await;
        let manager = Manager::new(cluster.client());
        let controller = Controller::for_::<ConfigMap>().named("scribbler");
        controller.build(&manager, scribbler(limit)).unwrap();
        let _running = cluster.run(&manager);
        cluster.settled().await.unwrap();
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
        maps.create(&PostParams::default(), &map("sky", &[]))
            .await
            .unwrap();
        cluster.settled().await.unwrap();
        let findings = cluster.ledger().findings().await;
        let mut kinds = findings.iter().map(|it| it.kind);
        assert_eq!(
            kinds.any(|it| it == FindingKind::FeedsItself),
            expected,
            "{findings:?}"
        );
    }
}

#[tokio::test]
async fn two_clients_that_overwrite_a_field_fight() {
    let cluster = TestCluster::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    maps.create(&PostParams::default(), &map("sky", &[]))
        .await
        .unwrap();
    patch(&maps, "one", json!({"a": "1"})).await;
    patch(&maps, "two", json!({"b": "2"})).await;
    cluster.ledger().assert_no_fights().await;
    for (manager, value) in [("two", "2"), ("one", "1"), ("two", "2")] {
        patch(&maps, manager, json!({"a": value})).await;
    }
    let findings = cluster.ledger().findings().await;
    let fight = findings
        .iter()
        .find(|it| it.kind == FindingKind::Fight)
        .unwrap();
    assert_eq!(fight.field, "data.a");
    let sky = ObjectRef::new("", "configmaps", "default/sky");
    assert_eq!(fight.object.as_ref(), Some(&sky));
    let timeline = cluster.ledger().timeline(&sky).await;
    assert!(
        timeline.contains("by one: data.a \"2\" -> \"1\""),
        "{timeline}"
    );
}

#[tokio::test(start_paused = true)]
async fn stuck_deletions_and_orphans_are_findings() {
    let cluster = TestCluster::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let mut stuck = map("sky", &[]);
    stuck.metadata.finalizers = Some(vec!["example.com/stars".into()]);
    maps.create(&PostParams::default(), &stuck).await.unwrap();
    maps.delete("sky", &DeleteParams::default()).await.unwrap();
    let mut orphan = map("moon", &[]);
    orphan.metadata.owner_references = serde_json::from_value(json!([
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "earth", "uid": "gone"},
    ]))
    .unwrap();
    maps.create(&PostParams::default(), &orphan).await.unwrap();
    let kinds = async || {
        let findings = cluster.ledger().findings().await;
        findings.iter().map(|it| it.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds().await, [FindingKind::Orphan]);
    cluster.time().advance(Duration::from_secs(61)).await;
    assert_eq!(
        kinds().await,
        [FindingKind::StuckDeletion, FindingKind::Orphan]
    );
}
