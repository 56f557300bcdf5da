//! Managers on a test cluster: `settled` and virtual time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use kube::{
    Api, Resource,
    api::{DeleteParams, Patch, PostParams},
};
use kubewright_builtin_controllers::Controllers;
use kubewright_controller::{
    Action, Context, Controller, Manager, Request, Result, create_or_update,
    leader_election::ElectionConfig,
};
use kubewright_testing::TestCluster;
use serde_json::json;
use tokio::time::Instant;

const HOUR: Duration = Duration::from_secs(3600);

async fn create(cluster: &TestCluster, name: &str) {
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    maps.create(&PostParams::default(), &map).await.unwrap();
}

/// Keeps a Secret for each ConfigMap.
async fn mirror(context: Context, request: Request) -> Result<Action> {
    if context.get::<ConfigMap>(&request).await?.is_some() {
        let mut secret = Secret::default();
        secret.metadata.name = Some(request.name().to_owned());
        let secrets = context.client().api::<Secret>("default");
        create_or_update(&secrets, secret, |_| {}).await?;
    }
    Ok(Action::done())
}

/// Returns a reconciler that counts its runs.
fn counting(
    manager: &Manager,
    action: impl Fn(usize) -> Result<Action> + Send + Sync + 'static,
) -> Arc<AtomicUsize> {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    Controller::for_::<ConfigMap>()
        .named("counting")
        .build(manager, move |_: Context, _: Request| {
            let outcome = action(counted.fetch_add(1, Ordering::SeqCst) + 1);
            async move { outcome }
        })
        .unwrap();
    runs
}

#[tokio::test(start_paused = true)]
async fn settled_waits_for_work_that_managers_cause_each_other() {
    let cluster = TestCluster::start().await;
    let first = Manager::new(cluster.client());
    Controller::for_::<ConfigMap>()
        .build(&first, mirror)
        .unwrap();
    // The second manager labels the objects of the first.
    let second = Manager::new(cluster.client());
    Controller::for_::<Secret>()
        .build(&second, |context: Context, request: Request| async move {
            let mut secret = Secret::default();
            secret.metadata.name = Some(request.name().to_owned());
            let secrets = context.client().api::<Secret>("default");
            create_or_update(&secrets, secret, |secret| {
                let labels = secret.metadata.labels.get_or_insert_default();
                labels.insert("seen".into(), "yes".into());
            })
            .await?;
            Ok(Action::done())
        })
        .unwrap();
    let running = (cluster.run(&second), cluster.run(&first));
    for round in 0..5 {
        create(&cluster, &format!("m{round}")).await;
        cluster.settled().await.unwrap();
        let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
        let secret = secrets.get(&format!("m{round}")).await.unwrap();
        assert_eq!(secret.metadata.labels.unwrap()["seen"], "yes");
    }
    running.0.stop().await.unwrap();
    running.1.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn errors_describe_the_remaining_work() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    // Attached, but never run.
    cluster.attach(&manager);
    let runs = counting(&manager, |_| Err("boom".into()));
    let reason = cluster.settled_within(HOUR).await.unwrap_err().to_string();
    assert_eq!(
        reason,
        "not settled: counting: the source configmaps is New"
    );
    create(&cluster, "m").await;
    let running = cluster.run(&manager);
    let reason = cluster.settled_within(HOUR).await.unwrap_err().to_string();
    assert_eq!(
        reason,
        "not settled: counting: 1 to be tried again (default/m: error: boom)"
    );
    assert!(runs.load(Ordering::SeqCst) > 5);
    running.kill();
    // A manager that has ended is not waited for.
    cluster.settled().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn fighting_controllers_are_named() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    for wanted in ["left", "right"] {
        let pull = move |context: Context, request: Request| async move {
            let patch = Patch::Merge(json!({"data": {"turn": wanted}}));
            let maps = context.client().api::<ConfigMap>("default");
            maps.patch(request.name(), &Default::default(), &patch)
                .await?;
            Ok(Action::done())
        };
        Controller::for_::<ConfigMap>()
            .named(wanted)
            .build(&manager, pull)
            .unwrap();
    }
    let _running = cluster.run(&manager);
    cluster.settled().await.unwrap();
    create(&cluster, "rope").await;
    let unsettled = cluster.settled().await.unwrap_err();
    let said = unsettled.to_string();
    assert!(said.starts_with("not settled: "), "{said}");
    assert!(
        said.contains("left (") && said.contains(" runs) or right ("),
        "{said}"
    );
    assert!(
        said.contains(" writes forever: PATCH /api/v1/namespaces/default/configmaps/rope 10"),
        "{said}"
    );
    assert!(said.contains("\nconfigmaps default/rope\n"), "{said}");
    assert!(
        said.contains("; patch configmaps default/rope at "),
        "{said}"
    );
    // `unwrap` prints the same sentence.
    assert_eq!(format!("{unsettled:?}"), said);
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_triggers_itself_is_named() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let runs = Arc::new(AtomicUsize::new(0));
    let write = move |context: Context, request: Request| {
        let run = runs.fetch_add(1, Ordering::SeqCst).to_string();
        async move {
            let patch = Patch::Merge(json!({"data": {"run": run}}));
            let maps = context.client().api::<ConfigMap>("default");
            maps.patch(request.name(), &Default::default(), &patch)
                .await?;
            Ok(Action::done())
        }
    };
    Controller::for_::<ConfigMap>()
        .build(&manager, write)
        .unwrap();
    let _running = cluster.run(&manager);
    create(&cluster, "log").await;
    let said = cluster.settled().await.unwrap_err().to_string();
    assert!(said.starts_with("not settled: configmap ("), "{said}");
    assert!(said.contains(" runs) writes forever: PATCH "), "{said}");
}

#[tokio::test(start_paused = true)]
async fn virtual_hours_take_no_real_time() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let runs = counting(&manager, |_| Ok(Action::requeue_after(HOUR)));
    create(&cluster, "old").await;
    let running = cluster.run(&manager);
    cluster.settled().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert!(cluster.time().is_virtual());
    let (began, real) = (cluster.time().now(), std::time::Instant::now());
    cluster.time().advance(HOUR * 24).await;
    cluster.settled().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 25);
    // Advances to the next delayed request, and no further.
    let left = cluster.time().advance_to_next().await.unwrap();
    assert!(left <= HOUR, "{left:?}");
    cluster.settled().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 26);
    let passed = cluster.time().now().duration_since(began);
    assert!((24..=26).contains(&passed.as_hours()), "{passed:?}");
    assert!(real.elapsed() < HOUR);
    create(&cluster, "new").await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let age = |map: ConfigMap| map.metadata.creation_timestamp.unwrap().0;
    let (old, new) = (
        age(maps.get("old").await.unwrap()),
        age(maps.get("new").await.unwrap()),
    );
    assert!(new.duration_since(old).as_hours() >= 24);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn timers_fire_late_after_a_jump_and_on_time_in_an_advance() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let runs = counting(&manager, |_| Ok(Action::requeue_after(HOUR)));
    create(&cluster, "m").await;
    let running = cluster.run(&manager);
    cluster.settled().await.unwrap();
    cluster.time().jump(HOUR * 10).await;
    cluster.settled().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    cluster.time().advance(HOUR * 10).await;
    cluster.settled().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 12);
    running.stop().await.unwrap();
}

#[tokio::test]
#[should_panic(expected = "the clock is not paused")]
async fn real_time_cannot_be_advanced() {
    let cluster = TestCluster::start().await;
    assert!(!cluster.time().is_virtual());
    cluster.time().advance(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn waiting_candidates_are_settled_while_another_leads() {
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
    let leading = cluster.run(&first);
    cluster.settled().await.unwrap();
    let waiting = cluster.run(&second);
    create(&cluster, "a").await;
    cluster.settled().await.unwrap();
    assert!(first.is_leading() && !second.is_leading());
    // The leader crashes: its lease is not released, and must expire.
    leading.kill();
    create(&cluster, "b").await;
    let began = Instant::now();
    cluster.settled().await.unwrap();
    assert!(second.is_leading());
    assert!(
        began.elapsed() >= Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    secrets.get("b").await.unwrap();
    waiting.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn settled_waits_for_built_in_controllers() {
    let cluster = TestCluster::start().await;
    let _controllers = cluster.run_controllers(&Controllers::default());
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let mut shop = Namespace::default();
    shop.metadata.name = Some("shop".into());
    namespaces
        .create(&PostParams::default(), &shop)
        .await
        .unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    create(&cluster, "owner").await;
    let owner = maps.get("owner").await.unwrap();
    let mut dependent = ConfigMap::default();
    dependent.metadata.name = Some("dependent".into());
    dependent.metadata.owner_references = Some(vec![owner.owner_ref(&()).unwrap()]);
    maps.create(&PostParams::default(), &dependent)
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), "shop");
    assert!(accounts.get_opt("default").await.unwrap().is_some());

    maps.delete("owner", &DeleteParams::default())
        .await
        .unwrap();
    namespaces
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    assert!(maps.get_opt("dependent").await.unwrap().is_none());
    assert!(namespaces.get_opt("shop").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_clock_fires_no_timers_and_time_does() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let runs = counting(&manager, |_| Ok(Action::requeue_after(HOUR)));
    create(&cluster, "first").await;
    let running = cluster.run(&manager);
    cluster.settled().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let born = async |name: &str| {
        let map = maps.get(name).await.unwrap();
        map.metadata.creation_timestamp.unwrap().0
    };

    cluster.clock().advance(2 * HOUR);
    cluster.settled().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1, "no request is due");
    create(&cluster, "second").await;
    let age = born("second").await.duration_since(born("first").await);
    assert_eq!(age.as_hours(), 2);
    cluster.settled().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 2);

    cluster.time().advance(2 * HOUR).await;
    cluster.settled().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 6, "both were due twice");
    create(&cluster, "third").await;
    let age = born("third").await.duration_since(born("second").await);
    assert_eq!(age.as_hours(), 2);
    running.stop().await.unwrap();
}
