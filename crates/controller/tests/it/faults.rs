//! Faults of a bad day: nothing is lost, and nothing runs twice at once for one key.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kubewright_controller::{
    Action, Context, Controller, Manager, ManagerError, Request, Result, Source, create_or_update,
    leader_election::ElectionConfig,
};
use kubewright_testing::TestCluster;
use parking_lot::Mutex;

use crate::managing::{LONG, create, merge};

/// The number of keys: a million, or as many as an unoptimised build can handle in a test.
///
/// `cargo test --release -p kubewright-controller of_a_million` has the million; `KUBEWRIGHT_TEST_KEYS=1000000` has it in any
/// build, where it takes minutes.
fn many() -> usize {
    let default = if cfg!(debug_assertions) {
        50_000
    } else {
        1_000_000
    };
    let said = std::env::var("KUBEWRIGHT_TEST_KEYS").ok();
    said.and_then(|said| said.parse().ok()).unwrap_or(default)
}

/// A controller that is asked by hand only.
fn triggered() -> kubewright_controller::ControllerBuilder {
    Controller::builder()
        .named("triggered")
        .source(Source::raw("nothing", |_| std::future::pending()))
}

/// A Secret for each ConfigMap, with its data.
async fn mirror(context: Context, request: Request) -> Result<Action> {
    let Some(map) = context.get::<ConfigMap>(&request).await? else {
        return Ok(Action::done());
    };
    let mut secret = Secret::default();
    secret.metadata.name = Some(request.name().to_owned());
    let secrets = context.client().api::<Secret>("default");
    create_or_update(&secrets, secret, |secret| {
        secret.string_data = map.data.clone();
    })
    .await?;
    Ok(Action::done())
}

#[tokio::test(start_paused = true)]
async fn persistent_errors_back_off_and_delay_no_other_object() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let runs: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let counted = runs.clone();
    let controller = triggered()
        .build(&manager, move |_: Context, request: Request| {
            *counted.lock().entry(request.to_string()).or_default() += 1;
            async move {
                if request.name() == "bad" {
                    return Err("never".into());
                }
                Ok(Action::done())
            }
        })
        .unwrap();
    let running = cluster.run(&manager);
    controller.trigger(Request::cluster_scoped("bad"));
    cluster.time().advance(Duration::from_secs(24 * 3600)).await;
    // 5 ms doubled up to 1,000 s takes 19 runs; then one each 1,000 s.
    let bad = runs.lock()["bad"];
    assert!((90..=110).contains(&bad), "{bad}");
    for i in 0..100 {
        controller.trigger(Request::cluster_scoped(&format!("good{i}")));
    }
    cluster.time().advance(Duration::from_millis(1)).await;
    assert_eq!(runs.lock().values().sum::<usize>() - bad, 100);
    let reason = cluster.settled().await.unwrap_err().reason;
    assert_eq!(reason, "triggered: 1 to be tried again (bad: error: never)");
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_that_is_not_to_be_contained_ends_the_manager() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let controller = triggered()
        .recover_panic(false)
        .build(&manager, |_: Context, _: Request| async { panic!("boom") })
        .unwrap();
    let running = cluster.run(&manager);
    controller.trigger(Request::cluster_scoped("a"));
    let error = running.ended().await.unwrap_err();
    assert!(matches!(&error, ManagerError::Runnable { .. }), "{error:?}");
    assert_eq!(error.to_string(), "triggered: a: panic: boom");
}

#[tokio::test(start_paused = true)]
async fn of_a_million_keys_that_are_requeued_none_is_lost_and_little_is_remembered() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let many = many();
    let runs: Arc<Vec<AtomicUsize>> = Arc::new((0..many).map(|_| AtomicUsize::new(0)).collect());
    let counted = runs.clone();
    let controller = triggered()
        .max_concurrent_reconciles(4)
        .build(&manager, move |_: Context, request: Request| {
            let key: usize = request.name().parse().unwrap();
            let run = counted[key].fetch_add(1, Ordering::SeqCst);
            async move {
                Ok(match run {
                    0 => Action::requeue_after(Duration::from_secs(3600)),
                    1 => Action::requeue(),
                    _ => Action::done(),
                })
            }
        })
        .unwrap();
    let running = cluster.run(&manager);
    for key in 0..many {
        controller.trigger(Request::cluster_scoped(&key.to_string()));
    }
    cluster.settled_within(LONG * 100).await.unwrap();
    let status = controller.status();
    assert_eq!((status.delayed, status.queued), (many, 0));
    cluster.time().advance(Duration::from_secs(3601)).await;
    cluster.settled_within(LONG * 100).await.unwrap();
    assert!(runs.iter().all(|runs| runs.load(Ordering::SeqCst) == 3));
    let status = controller.status();
    assert_eq!(
        (status.delayed, status.queued, status.processing),
        (0, 0, 0)
    );
    assert!(status.keys.len() <= kubewright_controller::status::KEYS);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_gone_for_a_minute_is_caught_up_with() {
    let cluster = TestCluster::start().await;
    let (client, faults) = crate::link::link(&cluster);
    let manager = Manager::new(client);
    Controller::for_::<ConfigMap>()
        .owns::<Secret>()
        .build(&manager, mirror)
        .unwrap();
    let running = cluster.run(&manager);
    for i in 0..10 {
        create(&cluster, &format!("m{i}")).await;
    }
    cluster.settled().await.unwrap();
    faults.go_down();
    // The world goes on without it: things come, change and go.
    for i in 0..5 {
        merge(
            &cluster,
            &format!("m{i}"),
            serde_json::json!({"data": {"late": "yes"}}),
        )
        .await;
        create(&cluster, &format!("n{i}")).await;
    }
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    maps.delete("m9", &Default::default()).await.unwrap();
    cluster.time().advance(Duration::from_secs(60)).await;
    let unsettled = cluster.settled_within(Duration::from_secs(1)).await;
    assert!(unsettled.is_err());
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    assert!(secrets.get_opt("n0").await.unwrap().is_none());
    faults.come_back();
    cluster.settled_within(LONG * 2).await.unwrap();
    for i in 0..5 {
        let secret = secrets.get(&format!("m{i}")).await.unwrap();
        assert!(secret.data.unwrap().contains_key("late"));
        secrets.get(&format!("n{i}")).await.unwrap();
    }
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_a_server_past_its_lease_ends_and_another_takes_over() {
    let cluster = TestCluster::start().await;
    let candidate = |client, identity: &str| {
        let config = ElectionConfig::new("shop", "default").identity(identity);
        let manager = Manager::builder(client)
            .leader_election(config)
            .build()
            .unwrap();
        Controller::for_::<ConfigMap>()
            .build(&manager, mirror)
            .unwrap();
        manager
    };
    let (client, faults) = crate::link::link(&cluster);
    let first = candidate(client, "first");
    let leading = cluster.run(&first);
    first.elected().await;
    let second = candidate(cluster.client(), "second");
    let waiting = cluster.run(&second);
    faults.go_down();
    create(&cluster, "m").await;
    let lost = leading.ended().await;
    assert!(matches!(lost, Err(ManagerError::LeaderElectionLost)));
    faults.come_back();
    cluster.settled().await.unwrap();
    assert!(second.is_leading());
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    secrets.get("m").await.unwrap();
    waiting.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_clock_jumps_loses_its_lease_but_nothing_else() {
    let cluster = TestCluster::start().await;
    let candidate = |identity: &str| {
        let config = ElectionConfig::new("shop", "default").identity(identity);
        let manager = Manager::builder(cluster.client())
            .leader_election(config)
            .build()
            .unwrap();
        Controller::for_::<ConfigMap>()
            .build(&manager, mirror)
            .unwrap();
        manager
    };
    let (first, second) = (candidate("first"), candidate("second"));
    let mut running = vec![cluster.run(&first), cluster.run(&second)];
    cluster.settled().await.unwrap();
    // An hour passes for both at once, as when a laptop sleeps: nobody could renew.
    cluster.time().jump(Duration::from_secs(3600)).await;
    create(&cluster, "m").await;
    cluster.settled().await.unwrap();
    let leaders = [&first, &second].map(|manager| manager.is_leading() && !manager.has_ended());
    assert_eq!(
        leaders.iter().filter(|leads| **leads).count(),
        1,
        "{leaders:?}"
    );
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    secrets.get("m").await.unwrap();
    for running in running
        .drain(..)
        .filter(|running| !running.manager().has_ended())
    {
        running.stop().await.unwrap();
    }
}
