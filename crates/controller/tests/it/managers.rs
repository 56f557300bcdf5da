//! Managers: the order of start and stop, the first error, shutdown, leadership, caches that do not sync.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_apiserver::request::Verb;
use kubewright_controller::{
    Action, BoxError, BuildError, Context, Controller, Group, Manager, ManagerError, Request,
    Source,
    leader_election::{ElectionConfig, is_not_leader},
};
use kubewright_machinery::status;
use kubewright_testing::{Fault, Match, TestCluster};
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::managing::{LONG, Managed, create, map};

type Log = Arc<Mutex<Vec<String>>>;

/// A runnable that says when it starts and ends.
fn add(manager: &Manager, log: &Log, group: Group) {
    let log = log.clone();
    let name = format!("{group:?}");
    manager
        .add(group, name.clone(), move |stop| async move {
            log.lock().push(format!("+{name}"));
            if group != Group::WarmUp {
                stop.stopping().await;
                // Takes its time, to show that the next one waits.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            log.lock().push(format!("-{name}"));
            Ok(())
        })
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn groups_start_and_stop_in_their_order() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let log = Log::default();
    for group in [
        Group::LeaderElection,
        Group::WarmUp,
        Group::Others,
        Group::Caches,
        Group::Webhooks,
        Group::HttpServers,
    ] {
        add(&manager, &log, group);
    }
    let managed = Managed::start(&manager);
    manager.elected().await;
    let last = |log: &Log, text: &str| log.lock().last().is_some_and(|last| last == text);
    while !last(&log, "+LeaderElection") {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    managed.stop().await.unwrap();
    // Up to the caches nothing waits for a runnable to come up: their order among each other is that of their tasks.
    assert_eq!(
        *log.lock(),
        [
            "+HttpServers",
            "+Webhooks",
            "+Caches",
            "+Others",
            "+WarmUp",
            "-WarmUp",
            "+LeaderElection",
            "-Others",
            "-LeaderElection",
            "-Caches",
            "-Webhooks",
            "-HttpServers",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_error_ends_the_manager_with_its_cause() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let log = Log::default();
    add(&manager, &log, Group::LeaderElection);
    let ready = Arc::new(Notify::new());
    let go = ready.clone();
    manager
        .add(Group::Others, "stove", |_| async move {
            go.notified().await;
            Err("it burns".into())
        })
        .unwrap();
    let managed = Managed::start(&manager);
    manager.elected().await;
    ready.notify_one();
    let error = managed.ended().await.unwrap_err();
    assert_eq!(error.to_string(), "stove: it burns");
    // The others were asked to end.
    assert_eq!(log.lock().last().unwrap(), "-LeaderElection");
    let late = manager.add(Group::Others, "late", |_| async { Ok(()) });
    assert!(matches!(late, Err(ManagerError::Stopped(name)) if name == "late"));
    let again = manager.run(std::future::pending()).await;
    assert!(matches!(again, Err(ManagerError::AlreadyStarted)));
}

#[tokio::test(start_paused = true)]
async fn a_runnable_that_panics_ends_the_manager_too() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    manager
        .add(Group::Others, "stove", |_| async { panic!("boom") })
        .unwrap();
    let error = Managed::start(&manager).ended().await.unwrap_err();
    assert_eq!(error.to_string(), "stove: panic: boom");
}

/// A controller whose reconciles take that long.
fn slow(manager: &Manager, takes: Duration) -> (Controller, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (b, e) = (begun.clone(), ended.clone());
    let controller = Controller::builder()
        .named("slow")
        .source(Source::raw("nothing", |_| std::future::pending()))
        .build(manager, move |context: Context, _: Request| {
            b.fetch_add(1, Ordering::SeqCst);
            let ended = e.clone();
            async move {
                context.stop().stopping().await;
                tokio::time::sleep(takes).await;
                ended.fetch_add(1, Ordering::SeqCst);
                Ok(Action::done())
            }
        })
        .unwrap();
    (controller, begun, ended)
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_the_reconcile_under_way_and_begins_no_other() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let (controller, begun, ended) = slow(&manager, Duration::from_secs(20));
    let managed = Managed::start(&manager);
    for name in ["a", "b", "c"] {
        controller.trigger(Request::cluster_scoped(name));
    }
    while begun.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    managed.stop().await.unwrap();
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_takes_too_long_says_who_did_not_end() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let (controller, begun, ended) = slow(&manager, Duration::from_secs(200));
    let managed = Managed::start(&manager);
    controller.trigger(Request::cluster_scoped("a"));
    while begun.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let began = Instant::now();
    let error = managed.stop().await.unwrap_err();
    assert_eq!(began.elapsed().as_secs(), 30);
    let ManagerError::ShutdownTimeout { running, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(running, &["slow"]);
    // It was dropped.
    tokio::time::sleep(Duration::from_secs(500)).await;
    assert_eq!(ended.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_may_not_be_listed_says_so() {
    let cluster = TestCluster::start().await;
    let refused = status::forbidden(
        &kubewright_machinery::gvk::GroupResource::new("", "secrets"),
        "",
        "no",
    );
    for verb in [Verb::List, Verb::Watch] {
        let on = Match::verb(verb).resource("secrets");
        cluster
            .faults()
            .inject(Fault::Refuse(Box::new(refused.clone())), on, usize::MAX);
    }
    let manager = Manager::builder(cluster.client())
        .cache_sync_timeout(Duration::from_secs(30))
        .build()
        .unwrap();
    Controller::for_::<Secret>()
        .build(&manager, |_: Context, _: Request| async {
            Ok(Action::done())
        })
        .unwrap();
    let managed = Managed::start(&manager);
    while manager
        .caches()
        .factory()
        .metrics()
        .iter()
        .all(|cache| cache.errors == 0)
    {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let ready = manager.readyz().report("caches", "").await;
    assert_eq!(ready.status, 500);
    assert!(
        ready.body.contains("secrets not synced: "),
        "{}",
        ready.body
    );
    assert!(ready.body.contains("forbidden"), "{}", ready.body);
    let error = managed.ended().await.unwrap_err();
    assert!(matches!(&error, ManagerError::NotSynced { .. }), "{error}");
    assert!(error.to_string().contains("forbidden"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_runs_what_needs_to_lead_and_hands_over_when_its_work_has_ended() {
    let cluster = TestCluster::start().await;
    create(&cluster, "m").await;
    let make = |identity: &str| {
        let config = ElectionConfig::new("shop", "default").identity(identity);
        let manager = Manager::builder(cluster.client())
            .leader_election(config)
            .build()
            .unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let everywhere = Arc::new(AtomicUsize::new(0));
        let (r, e) = (ran.clone(), everywhere.clone());
        Controller::for_::<ConfigMap>()
            .warm_up(true)
            .build(&manager, move |_: Context, _: Request| {
                r.fetch_add(1, Ordering::SeqCst);
                async { Ok(Action::done()) }
            })
            .unwrap();
        Controller::for_::<ConfigMap>()
            .named("everywhere")
            .needs_leader_election(false)
            .build(&manager, move |_: Context, _: Request| {
                e.fetch_add(1, Ordering::SeqCst);
                async { Ok(Action::done()) }
            })
            .unwrap();
        (manager, ran, everywhere)
    };
    let (first, first_ran, _) = make("first");
    let first_managed = Managed::start(&first);
    first.elected().await;
    first_managed.settled().await;
    assert_eq!(first_ran.load(Ordering::SeqCst), 1);

    let (second, second_ran, second_everywhere) = make("second");
    let second_managed = Managed::start(&second);
    // The second works on what needs no lease, and has filled its queue.
    while second_everywhere.load(Ordering::SeqCst) == 0
        || second.controller("configmap").unwrap().status().queued == 0
    {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(second_ran.load(Ordering::SeqCst), 0);
    let maps = second.leader_client().api::<ConfigMap>("default");
    let refused = maps
        .create(&Default::default(), &map("x"))
        .await
        .unwrap_err();
    assert!(is_not_leader(&refused), "{refused}");

    let began = Instant::now();
    first_managed.stop().await.unwrap();
    second.elected().await;
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    second_managed.settled().await;
    assert_eq!(second_ran.load(Ordering::SeqCst), 1);
    maps.create(&Default::default(), &map("x")).await.unwrap();
    second_managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_ends_the_manager_at_once() {
    let cluster = TestCluster::start().await;
    let (client, faults) = crate::link::link(&cluster);
    let config = ElectionConfig::new("shop", "default").identity("first");
    let manager = Manager::builder(client)
        .leader_election(config)
        .build()
        .unwrap();
    let (controller, begun, ended) = slow(&manager, Duration::from_secs(1000));
    let managed = Managed::start(&manager);
    manager.elected().await;
    controller.trigger(Request::cluster_scoped("a"));
    while begun.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let gone = Fault::TooManyRequests { retry_after: 1 };
    faults.inject(gone, Match::default(), usize::MAX);
    let error = managed.ended().await.unwrap_err();
    assert!(matches!(error, ManagerError::LeaderElectionLost), "{error}");
    tokio::time::sleep(Duration::from_secs(5000)).await;
    assert_eq!(ended.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn invalid_controllers_are_rejected() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let nothing = |_: Context, _: Request| async { Ok::<_, BoxError>(Action::done()) };
    let refusal = |builder: kubewright_controller::ControllerBuilder| match builder
        .build(&manager, nothing)
    {
        Err(ManagerError::Build(error)) => Some(error),
        _ => None,
    };
    assert_eq!(refusal(Controller::for_::<ConfigMap>()), None);
    assert_eq!(
        refusal(Controller::for_::<ConfigMap>()),
        Some(BuildError::NameTaken("configmap".into()))
    );
    assert_eq!(refusal(Controller::builder()), Some(BuildError::NoName));
    assert_eq!(
        refusal(Controller::builder().named("a")),
        Some(BuildError::NoWatches)
    );
    assert_eq!(
        refusal(Controller::builder().named("a").owns::<Secret>()),
        Some(BuildError::OwnsWithoutFor)
    );
    let nobody = Controller::for_::<Secret>().max_concurrent_reconciles(0);
    assert_eq!(refusal(nobody), Some(BuildError::NoWorkers));
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_is_dropped_leaves_nothing_running() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let dropped = Arc::new(AtomicBool::new(false));
    struct Guard(Arc<AtomicBool>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let guard = Guard(dropped.clone());
    manager
        .add(Group::LeaderElection, "guarded", |_| async move {
            let _guard = guard;
            std::future::pending().await
        })
        .unwrap();
    let managed = Managed::start(&manager);
    manager.elected().await;
    managed.task.abort();
    drop(manager);
    let until = Instant::now() + LONG;
    while !dropped.load(Ordering::SeqCst) {
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
