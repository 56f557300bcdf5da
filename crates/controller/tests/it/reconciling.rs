//! The work of a worker: failures, panics, timeouts, concurrency.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kubewright_apiserver::request::Verb;
use kubewright_controller::{
    Action, BoxError, Context, Controller, Error, ErrorExt, Manager, Reconciler, Request, Source,
    note_log_line, status::TriggerCause,
};
use kubewright_testing::{Fault, Match, TestCluster};
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::managing::{LONG, Managed, create, maps};

/// The requests that ran, in order.
#[derive(Clone, Default)]
pub(crate) struct Ran(Arc<Mutex<Vec<String>>>);

impl Ran {
    pub(crate) fn note(&self, request: &Request) -> usize {
        let mut ran = self.0.lock();
        ran.push(request.to_string());
        ran.iter()
            .filter(|key| **key == request.to_string())
            .count()
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

/// A controller of nothing, to be triggered.
pub(crate) fn triggered() -> kubewright_controller::ControllerBuilder {
    Controller::builder()
        .named("triggered")
        .source(Source::raw("nothing", |_| std::future::pending()))
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_with_growing_delays() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let times = Arc::new(Mutex::new(Vec::new()));
    let noted = times.clone();
    let controller = triggered()
        .build(&manager, move |context: Context, _: Request| {
            let times = noted.clone();
            async move {
                times.lock().push((Instant::now(), context.attempt()));
                if times.lock().len() < 20 {
                    return Err("not yet".into());
                }
                Ok(Action::done())
            }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    controller.trigger(Request::new("default", "a"));
    manager.settled(Duration::from_secs(10_000)).await.unwrap();
    let times = times.lock().clone();
    assert_eq!(times.len(), 20);
    for (i, pair) in times.windows(2).enumerate() {
        let [(before, attempt), (after, _)] = pair else {
            unreachable!()
        };
        assert_eq!(*attempt, i);
        let wanted = Duration::from_millis(5 << i).min(Duration::from_secs(1000));
        let paused = *after - *before;
        assert!(
            paused >= wanted && paused < wanted + Duration::from_millis(50),
            "{i}: {paused:?}"
        );
    }
    let text = manager.registry().encode();
    assert!(
        text.contains("controller_runtime_reconcile_errors_total{controller=\"triggered\"} 19")
    );
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_counted_and_retried() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let noted = ran.clone();
    let controller = triggered()
        .build(&manager, move |_: Context, request: Request| {
            let run = noted.note(&request);
            // Before anything is awaited.
            assert!(run != 1, "first");
            async move {
                tokio::task::yield_now().await;
                assert!(run != 2, "second");
                Ok(Action::done())
            }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    controller.trigger(Request::new("default", "a"));
    managed.settled().await;
    assert_eq!(ran.all().len(), 3);
    let text = manager.registry().encode();
    assert!(text.contains("controller_runtime_reconcile_panics_total{controller=\"triggered\"} 2"));
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_terminal_error_is_not_retried() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let noted = ran.clone();
    let controller = triggered()
        .build(&manager, move |_: Context, request: Request| {
            noted.note(&request);
            async { Err(Error::terminal("never").into()) }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    controller.trigger(Request::new("default", "a"));
    managed.settled().await;
    tokio::time::sleep(Duration::from_secs(5000)).await;
    assert_eq!(ran.all().len(), 1);
    let status = controller.status();
    assert_eq!(
        status.keys[0].last_result.as_deref(),
        Some("terminal error: never")
    );
    let text = manager.registry().encode();
    let line = "controller_runtime_terminal_reconcile_errors_total{controller=\"triggered\"} 1";
    assert!(text.contains(line));
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_takes_too_long_is_cancelled_and_retried() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let noted = ran.clone();
    let controller = triggered()
        .timeout(Duration::from_secs(3))
        .build(&manager, move |_: Context, request: Request| {
            let run = noted.note(&request);
            async move {
                if run == 1 {
                    std::future::pending::<()>().await;
                }
                Ok(Action::done())
            }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    let began = Instant::now();
    controller.trigger(Request::new("default", "a"));
    managed.settled().await;
    assert_eq!(ran.all().len(), 2);
    assert!(began.elapsed() >= Duration::from_secs(3));
    let text = manager.registry().encode();
    assert!(
        text.contains("controller_runtime_reconcile_timeouts_total{controller=\"triggered\"} 1")
    );
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requeue_after_runs_again_then_and_shows_when() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let noted = ran.clone();
    let controller = triggered()
        .build(&manager, move |context: Context, request: Request| {
            let run = noted.note(&request);
            async move {
                if run == 1 {
                    return Ok(Action::requeue_after(Duration::from_secs(3600)));
                }
                assert_eq!(context.trigger().unwrap().cause, TriggerCause::Requeue);
                Ok(Action::done())
            }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    controller.trigger(Request::new("default", "a"));
    // What is to come in an hour does not keep it from being settled.
    managed.settled().await;
    assert_eq!(ran.all().len(), 1);
    let document = manager.debug_controllers();
    let key = &document["controllers"][0]["keys"][0];
    assert_eq!(key["key"], "default/a");
    assert_eq!(key["lastResult"], "requeue after 3600s");
    assert_eq!(key["lastTrigger"]["cause"], "asked");
    assert!(key["durationSeconds"].is_number());
    let due = key["dueInSeconds"].as_f64().unwrap();
    assert!((3500.0..=3600.0).contains(&due), "{due}");
    tokio::time::sleep(Duration::from_secs(3601)).await;
    managed.settled().await;
    assert_eq!(ran.all().len(), 2);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_object_is_never_reconciled_twice_at_once() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let running: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let most_at_once = Arc::new(AtomicUsize::new(0));
    let (noted, most) = (running.clone(), most_at_once.clone());
    let controller = triggered()
        .max_concurrent_reconciles(8)
        .build(&manager, move |_: Context, request: Request| {
            let (running, most) = (noted.clone(), most.clone());
            async move {
                {
                    let mut running = running.lock();
                    let of_key = running.entry(request.to_string()).or_default();
                    *of_key += 1;
                    assert_eq!(*of_key, 1, "{request} runs twice");
                    most.fetch_max(running.values().sum(), Ordering::SeqCst);
                }
                tokio::time::sleep(Duration::from_millis(7)).await;
                *running.lock().get_mut(&request.to_string()).unwrap() -= 1;
                Ok(Action::done())
            }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    for i in 0..300 {
        controller.trigger(Request::new("default", &format!("k{}", i % 5)));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    managed.settled().await;
    let text = manager.registry().encode();
    assert!(text.contains("controller_runtime_reconcile_panics_total{controller=\"triggered\"} 0"));
    assert_eq!(most_at_once.load(Ordering::SeqCst), 5);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn changes_precede_objects_that_existed_at_startup() {
    let cluster = TestCluster::start().await;
    for i in 0..20 {
        create(&cluster, &format!("old{i:02}")).await;
    }
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let go = Arc::new(Notify::new());
    let (noted, wait) = (ran.clone(), go.clone());
    Controller::for_::<ConfigMap>()
        .build(&manager, move |_: Context, request: Request| {
            let run = noted.note(&request);
            let first = noted.all().len() == 1;
            let wait = wait.clone();
            async move {
                if first && run == 1 {
                    wait.notified().await;
                }
                Ok(Action::done())
            }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    // The only worker holds the first object, all others wait.
    let controller = manager.controller("configmap").unwrap();
    while controller.status().queued < 19 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    create(&cluster, "new").await;
    while controller.status().queued < 20 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let text = manager.registry().encode();
    assert!(
        text.contains(
            "workqueue_depth{name=\"configmap\",controller=\"configmap\",priority=\"-100\"} 19"
        ),
        "{text}"
    );
    go.notify_one();
    managed.settled().await;
    assert_eq!(ran.all()[1], "default/new");
    assert_eq!(ran.all().len(), 21);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_conflicts_ends_with_every_object_written_once() {
    let cluster = TestCluster::start().await;
    for i in 0..5 {
        create(&cluster, &format!("m{i}")).await;
    }
    let conflicts = Match::verb(Verb::Update).resource("configmaps");
    cluster.faults().inject(Fault::Conflict, conflicts, 40);
    let manager = Manager::new(cluster.client());
    Controller::for_::<ConfigMap>()
        .max_concurrent_reconciles(3)
        .build(&manager, |context: Context, request: Request| async move {
            let Some(map) = context.get::<ConfigMap>(&request).await? else {
                return Ok(Action::done());
            };
            if map.data.is_none() {
                let mut map = (*map).clone();
                map.data = Some([("seen".into(), "1".into())].into());
                let maps = context.client().api::<ConfigMap>("default");
                maps.replace(request.name(), &PostParams::default(), &map)
                    .await?;
            }
            Ok(Action::done())
        })
        .unwrap();
    let before = cluster.revision().await;
    let managed = Managed::start(&manager);
    manager.settled(LONG * 100).await.unwrap();
    assert_eq!(cluster.faults().pending(), 0);
    assert_eq!(cluster.revision().await, before + 5);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_reads_what_it_wrote() {
    let cluster = TestCluster::start().await;
    create(&cluster, "counted").await;
    // The watch is far behind.
    let late = Fault::SlowWatch {
        delay: Duration::from_secs(2),
    };
    cluster.faults().inject(
        late,
        Match::verb(Verb::Watch).resource("configmaps"),
        usize::MAX,
    );
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let noted = ran.clone();
    Controller::for_::<ConfigMap>()
        .build(&manager, move |context: Context, request: Request| {
            let run = noted.note(&request);
            async move {
                if run > 1 {
                    return Ok(Action::done());
                }
                let maps = context.client().api::<ConfigMap>("default");
                for round in 0..3_usize {
                    let map = context.get::<ConfigMap>(&request).await?.unwrap();
                    assert_eq!(map.data.as_ref().map_or(0, BTreeMap::len), round);
                    let mut map = (*map).clone();
                    let data = map.data.get_or_insert_default();
                    data.insert(format!("k{round}"), String::new());
                    maps.replace("counted", &PostParams::default(), &map)
                        .await?;
                }
                // Lists wait as well.
                maps.delete("counted", &Default::default()).await?;
                let left = context
                    .client()
                    .list::<ConfigMap>(&Default::default())
                    .await?;
                assert!(
                    left.iter()
                        .all(|map| map.metadata.name.as_deref() != Some("counted"))
                );
                assert!(context.get::<ConfigMap>(&request).await?.is_none());
                Ok(Action::done())
            }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    managed.settled().await;
    let text = manager.registry().encode();
    assert!(
        text.contains("controller_runtime_reconcile_errors_total{controller=\"configmap\"} 0"),
        "{:?}",
        manager.debug_controllers()
    );
    assert!(maps(&cluster).get_opt("counted").await.unwrap().is_none());
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_read_your_writes_a_read_sees_the_past() {
    for (on, seen) in [(false, None), (true, Some("b"))] {
        let cluster = TestCluster::start().await;
        create(&cluster, "m").await;
        let late = Fault::SlowWatch {
            delay: Duration::from_secs(2),
        };
        let watches = Match::verb(Verb::Watch).resource("configmaps");
        cluster.faults().inject(late, watches, usize::MAX);
        let manager = Manager::builder(cluster.client())
            .read_your_writes(on)
            .build()
            .unwrap();
        let managed = Managed::start(&manager);
        manager.elected().await;
        let client = manager.client();
        client
            .get::<ConfigMap>("default", "m")
            .await
            .unwrap()
            .unwrap();
        let patch = Patch::Merge(serde_json::json!({"data": {"a": "b"}}));
        let maps = client.api::<ConfigMap>("default");
        maps.patch("m", &PatchParams::default(), &patch)
            .await
            .unwrap();
        let read = client
            .get::<ConfigMap>("default", "m")
            .await
            .unwrap()
            .unwrap();
        let value = read.data.as_ref().map(|data| &*data["a"]);
        assert_eq!(value, seen);
        // Past the cache, the truth is there anyway.
        assert!(maps.get("m").await.unwrap().data.is_some());
        managed.stop().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_seen_inside_other_errors() {
    let status = || {
        let status = kube::core::Status::failure("the object has been modified", "Conflict");
        Box::new(status.with_code(409))
    };
    let kube = || kube::Error::Api(status());
    let ours = || kubewright_client::Error::Api(status());
    let failed = || kubewright_controller::finalizer::FinalizerFailed {
        name: "shop.test/x".into(),
        cause: Box::new(ours()),
    };
    let failed = || {
        let failed = kubewright_controller::finalizer::FinalizersFailed(vec![failed()]);
        kubewright_controller::finalizer::FinalizeError::Failed(failed)
    };
    let errors: [BoxError; 7] = [
        kube().into(),
        ours().into(),
        failed().into(),
        kubewright_controller::CreateOrError::Kube(kube()).into(),
        kubewright_controller::CreateOrError::Mutate(Box::new(ours())).into(),
        kubewright_controller::finalizer::FinalizeError::Kube(kube()).into(),
        Error::terminal(std::io::Error::other(kube())).into(),
    ];
    for error in errors {
        assert!(error.is_conflict(), "{error:?}");
        assert!(Error::from(error).is_conflict());
    }
    assert!(!Error::message("409").is_conflict());
}

#[tokio::test(start_paused = true)]
async fn times_of_runs_triggers_and_log_lines_are_those_of_the_managers_clock() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let controller = Controller::for_::<ConfigMap>()
        .build(&manager, |_: Context, _: Request| async {
            note_log_line("INFO", "test", "at work", serde_json::Map::new);
            Ok(Action::done())
        })
        .unwrap();
    manager.set_clock(Arc::new(|| Timestamp::UNIX_EPOCH));
    create(&cluster, "apples").await;
    let running = Managed::start(&manager);
    running.settled().await;
    let status = controller.status();
    let run = &status.recent[0];
    assert_eq!(run.end, Timestamp::UNIX_EPOCH);
    assert_eq!(run.trigger.as_ref().unwrap().at, Timestamp::UNIX_EPOCH);
    let report = manager.ledger_report(0);
    assert_eq!(report.runs[0].log[0].time, Timestamp::UNIX_EPOCH);
    running.stop().await.unwrap();
}

/// Copies ConfigMaps to Secrets, which they own.
struct Copier(&'static str);

impl Reconciler for Copier {
    async fn reconcile(&self, ctx: Context, request: Request) -> Result<Action, BoxError> {
        let Some(map) = ctx.get::<ConfigMap>(&request).await? else {
            return Ok(Action::done());
        };
        let ctx = ctx.with_object(map.clone());
        ctx.finalize("example.com/copy", async |_| Ok(())).await?;
        let mut secret = Secret {
            string_data: map.data.clone(),
            ..Secret::default()
        };
        secret.metadata.name = Some(format!("{}{}", request.name(), self.0));
        ctx.apply_owned(secret).await?;
        Ok(Action::done())
    }
}

#[tokio::test(start_paused = true)]
async fn a_struct_owns_objects_and_has_finalizers_as_a_function_has() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    Controller::for_::<ConfigMap>()
        .owns::<Secret>()
        .build(&manager, Copier("-copy"))
        .unwrap();
    create(&cluster, "apples").await;
    let running = Managed::start(&manager);
    running.settled().await;
    let secrets: kube::Api<Secret> = kube::Api::default_namespaced(cluster.client());
    let copy = secrets.get("apples-copy").await.unwrap();
    let owner = &copy.metadata.owner_references.unwrap()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.name.as_str()),
        ("ConfigMap", "apples")
    );
    let map = maps(&cluster).get("apples").await.unwrap();
    assert_eq!(map.metadata.finalizers.unwrap(), ["example.com/copy"]);
    running.stop().await.unwrap();
}
