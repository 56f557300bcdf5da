//! Helpers for objects: create or update, apply, finalizers, waiting.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::{
    core::v1::{ConfigMap, Pod},
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kubewright_apiserver::request::Verb;
use kubewright_controller::{
    Apply, CreateOrError, OperationResult, apply,
    conditions::condition,
    create_or_patch, create_or_update,
    finalizer::{FinalizeError, FinalizerFn, Finalizers},
    wait::{WaitError, wait_for, wait_for_deletion, wait_for_status_condition},
};
use kubewright_machinery::{gvk::GroupResource, status};
use kubewright_testing::{Fault, Match, TestCluster};
use tokio::time::Instant;

const LONG: Duration = Duration::from_secs(60);

fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map
}

fn maps(cluster: &TestCluster) -> Api<ConfigMap> {
    Api::default_namespaced(cluster.client())
}

fn stock(n: u32) -> impl FnMut(&mut ConfigMap) {
    move |map| {
        let data = map.data.get_or_insert_default();
        data.insert("apples".into(), n.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn create_or_update_writes_only_what_differs() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    let (_, done) = create_or_update(&maps, map("m"), stock(1)).await.unwrap();
    assert_eq!(done, OperationResult::Created);
    let revision = cluster.revision().await;
    let (_, done) = create_or_update(&maps, map("m"), stock(1)).await.unwrap();
    assert_eq!(done, OperationResult::Unchanged);
    assert_eq!(cluster.revision().await, revision);
    let (updated, done) = create_or_update(&maps, map("m"), stock(2)).await.unwrap();
    assert_eq!(done, OperationResult::Updated);
    assert_eq!(updated.data.unwrap()["apples"], "2");
}

#[tokio::test(start_paused = true)]
async fn a_closure_may_fail_and_may_not_rename() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    let failed = create_or_update(&maps, map("m"), |_| Err::<(), _>("no apples")).await;
    assert_eq!(failed.unwrap_err().to_string(), "no apples");
    let renamed = create_or_patch(&maps, map("m"), |m| m.metadata.name = Some("n".into())).await;
    assert!(matches!(renamed, Err(CreateOrError::Renamed)));
    let nameless = create_or_update(&maps, ConfigMap::default(), |_| ()).await;
    assert!(matches!(nameless, Err(CreateOrError::NoName)));
    assert!(maps.get_opt("m").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn create_or_patch_sends_the_status_to_its_own_place() {
    let cluster = TestCluster::start().await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let pod: Pod = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }))
    .unwrap();
    let (_, done) = create_or_patch(&pods, pod.clone(), |_| ()).await.unwrap();
    assert_eq!(done, OperationResult::Created);
    let phase = |p: &mut Pod, phase: &str| {
        p.status.get_or_insert_default().phase = Some(phase.into());
    };
    let patched = create_or_patch(&pods, pod.clone(), |p| phase(p, "Running")).await;
    assert_eq!(patched.unwrap().1, OperationResult::UpdatedStatusOnly);
    let patched = create_or_patch(&pods, pod.clone(), |p| {
        phase(p, "Failed");
        p.labels_mut().insert("a".into(), "b".into());
    });
    let (patched, done) = patched.await.unwrap();
    assert_eq!(done, OperationResult::UpdatedStatus);
    assert_eq!(patched.labels()["a"], "b");
    assert_eq!(patched.status.unwrap().phase.as_deref(), Some("Failed"));
    let (_, done) = create_or_patch(&pods, pod, |p| phase(p, "Failed"))
        .await
        .unwrap();
    assert_eq!(done, OperationResult::Unchanged);
}

#[tokio::test(start_paused = true)]
async fn applying_takes_over_only_by_force() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    let mut wanted = map("m");
    stock(1)(&mut wanted);
    apply(&maps, "shop", &wanted).await.unwrap();
    stock(2)(&mut wanted);
    let refused = Apply::new("rival")
        .object(&maps, &wanted)
        .await
        .unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 409));
    let dry = Apply::new("rival").force().dry_run();
    dry.object(&maps, &wanted).await.unwrap();
    assert_eq!(maps.get("m").await.unwrap().data.unwrap()["apples"], "1");
    apply(&maps, "rival", &wanted).await.unwrap();
    assert_eq!(maps.get("m").await.unwrap().data.unwrap()["apples"], "2");
}

type Runs = Arc<AtomicUsize>;

/// Two finalizers: the first counts its runs, the second fails as often as it is asked to.
fn finalizers(failures: usize) -> (Finalizers<ConfigMap>, Runs) {
    let runs = Runs::default();
    let (counted, left) = (runs.clone(), Arc::new(AtomicUsize::new(failures)));
    let mut finalizers = Finalizers::new();
    let count = FinalizerFn(move |_: ConfigMap| {
        let counted = counted.clone();
        async move {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    });
    let fail = FinalizerFn(move |_: ConfigMap| {
        let left = left.clone();
        async move {
            let failing =
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            if failing.is_ok() {
                Err("not yet".into())
            } else {
                Ok(())
            }
        }
    });
    finalizers.register("example.com/count", count).unwrap();
    finalizers.register("example.com/fail", fail).unwrap();
    (finalizers, runs)
}

async fn deleted(maps: &Api<ConfigMap>) -> ConfigMap {
    maps.delete("m", &DeleteParams::default()).await.unwrap();
    maps.get("m").await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn finalizers_are_added_run_and_removed() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    let (finalizers, runs) = finalizers(1);
    let object = maps
        .create(&PostParams::default(), &map("m"))
        .await
        .unwrap();
    let done = finalizers.reconcile(&maps, &object).await.unwrap();
    assert_eq!(done.added, ["example.com/count", "example.com/fail"]);
    let again = finalizers
        .reconcile(&maps, &done.object.unwrap())
        .await
        .unwrap();
    assert!(again.added.is_empty() && again.object.is_some());
    assert_eq!(runs.load(Ordering::SeqCst), 0);

    let failed = finalizers
        .reconcile(&maps, &deleted(&maps).await)
        .await
        .unwrap_err();
    assert_eq!(
        failed.to_string(),
        "finalizer \"example.com/fail\" failed: not yet"
    );
    let object = maps.get("m").await.unwrap();
    assert_eq!(object.finalizers(), ["example.com/fail"]);
    let done = finalizers.reconcile(&maps, &object).await.unwrap();
    assert_eq!(done.removed, ["example.com/fail"]);
    assert!(done.object.is_none());
    assert_eq!(
        runs.load(Ordering::SeqCst),
        1,
        "what succeeded is not run again"
    );
    assert!(maps.get_opt("m").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn finalizers_of_others_are_not_lost_in_a_race() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    let (finalizers, _) = finalizers(0);
    let stale = maps
        .create(&PostParams::default(), &map("m"))
        .await
        .unwrap();
    let other = Patch::Merge(serde_json::json!({"metadata": {"finalizers": ["other.org/x"]}}));
    maps.patch("m", &PatchParams::default(), &other)
        .await
        .unwrap();
    let done = finalizers.reconcile(&maps, &stale).await.unwrap();
    assert_eq!(done.added.len(), 2);
    let all = ["other.org/x", "example.com/count", "example.com/fail"];
    assert_eq!(maps.get("m").await.unwrap().finalizers(), all);

    let stale = deleted(&maps).await;
    let other = Patch::Merge(serde_json::json!({"metadata": {"labels": {"a": "b"}}}));
    maps.patch("m", &PatchParams::default(), &other)
        .await
        .unwrap();
    let done = finalizers.reconcile(&maps, &stale).await.unwrap();
    assert_eq!(done.object.unwrap().finalizers(), ["other.org/x"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_added_to_an_object_that_is_being_deleted_meanwhile() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    let (finalizers, _) = finalizers(0);
    let mut object = map("m");
    object.metadata.finalizers = Some(vec!["other.org/x".into()]);
    let stale = maps.create(&PostParams::default(), &object).await.unwrap();
    deleted(&maps).await;
    let done = finalizers.reconcile(&maps, &stale).await.unwrap();
    assert!(done.added.is_empty());
    assert_eq!(maps.get("m").await.unwrap().finalizers(), ["other.org/x"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_same_name_is_not_touched_for_its_predecessor() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    let (finalizers, _) = finalizers(0);
    let stale = maps
        .create(&PostParams::default(), &map("m"))
        .await
        .unwrap();
    maps.delete("m", &DeleteParams::default()).await.unwrap();
    let successor = maps
        .create(&PostParams::default(), &map("m"))
        .await
        .unwrap();
    let done = finalizers.reconcile(&maps, &stale).await.unwrap();
    assert!(done.object.is_none());
    assert_eq!(maps.get("m").await.unwrap(), successor);
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_conflicts_ends_in_an_error() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    let (finalizers, _) = finalizers(0);
    let object = maps
        .create(&PostParams::default(), &map("m"))
        .await
        .unwrap();
    cluster
        .faults()
        .inject(Fault::Conflict, Match::verb(Verb::Patch), usize::MAX);
    let error = finalizers.reconcile(&maps, &object).await.unwrap_err();
    assert!(matches!(error, FinalizeError::Kube(kube::Error::Api(s)) if s.code == 409));
}

#[tokio::test(start_paused = true)]
async fn a_name_is_registered_once() {
    let (mut finalizers, _) = finalizers(0);
    let again = finalizers.register("example.com/fail", FinalizerFn(async |_: ConfigMap| Ok(())));
    let message = "finalizer for key \"example.com/fail\" already registered";
    assert_eq!(again.unwrap_err().to_string(), message);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_object_watches_it() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    let waiting = tokio::spawn({
        let maps = maps.clone();
        async move { wait_for(&maps, "m", LONG, |m| m.is_some_and(|m| m.data.is_some())).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (object, _) = create_or_update(&maps, map("m"), |_| ()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    create_or_update(&maps, map("m"), stock(1)).await.unwrap();
    let found = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(found.uid(), object.uid());
    assert_eq!(began.elapsed(), Duration::ZERO);

    let uid = found.uid();
    let gone = tokio::spawn({
        let maps = maps.clone();
        async move { wait_for_deletion(&maps, "m", uid.as_deref(), LONG).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    maps.delete("m", &DeleteParams::default()).await.unwrap();
    gone.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_outlives_watches_that_break_and_ends_in_time() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    cluster
        .faults()
        .inject(Fault::DropWatch { after: 0 }, Match::verb(Verb::Watch), 3);
    cluster
        .faults()
        .inject(Fault::Gone, Match::verb(Verb::Watch), 1);
    let began = Instant::now();
    let waited = wait_for(&maps, "m", LONG, |m| m.is_some()).await;
    assert!(matches!(waited, Err(WaitError::Timeout)), "{waited:?}");
    assert_eq!(began.elapsed(), LONG);
    assert_eq!(cluster.faults().pending(), 0);
    let maps_resource = GroupResource::new("", "configmaps");
    let forbidden = status::forbidden(&maps_resource, "", "no");
    let forbidden = Fault::Refuse(Box::new(forbidden));
    cluster
        .faults()
        .inject(forbidden, Match::verb(Verb::List), 1);
    let refused = wait_for(&maps, "m", LONG, |m| m.is_some()).await;
    assert!(matches!(refused, Err(WaitError::Failed(_))));
}

#[tokio::test(start_paused = true)]
async fn a_condition_of_an_older_generation_is_not_waited_for() {
    let cluster = TestCluster::start().await;
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(cluster.client());
    let mut budget = PodDisruptionBudget::default();
    budget.metadata.name = Some("b".into());
    let budget = budgets
        .create(&PostParams::default(), &budget)
        .await
        .unwrap();
    assert_eq!(budget.metadata.generation, Some(1));
    let says = async |observed_generation: i64, status: &str| {
        let mut said = condition("DisruptionAllowed", status, "SufficientPods", "");
        said.observed_generation = Some(observed_generation);
        let patch = Patch::Merge(serde_json::json!({"status": {"conditions": [said]}}));
        let params = PatchParams::default();
        budgets.patch_status("b", &params, &patch).await.unwrap();
    };
    let wait = async || {
        let second = Duration::from_secs(1);
        wait_for_status_condition(&budgets, "b", "DisruptionAllowed", "True", second).await
    };
    assert!(matches!(wait().await, Err(WaitError::Timeout)));
    says(1, "False").await;
    assert!(matches!(wait().await, Err(WaitError::Timeout)));
    says(1, "True").await;
    wait().await.unwrap();
    let change = Patch::Merge(serde_json::json!({"spec": {"minAvailable": 1}}));
    let params = PatchParams::default();
    let changed = budgets.patch("b", &params, &change).await.unwrap();
    assert_eq!(changed.metadata.generation, Some(2));
    assert!(matches!(wait().await, Err(WaitError::Timeout)));
    says(2, "True").await;
    assert_eq!(wait().await.unwrap().uid(), budget.uid());
}
