//! Namespaces that come and go while the manager runs, and what controllers have in common.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::{Api, api::PostParams};
use kubewright_controller::{
    Action, AllNamespaces, Context, Controller, ControllerDefaults, Filter, Handler, Manager,
    ManagerError, Request,
};
use kubewright_informer::IndexFn;
use kubewright_testing::TestCluster;
use parking_lot::Mutex;

use crate::managing::map;

async fn cluster() -> TestCluster {
    let cluster = TestCluster::start().await;
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    for name in ["a", "b", "c"] {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.into());
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
        put(&cluster, name, "m").await;
    }
    cluster
}

async fn put(cluster: &TestCluster, namespace: &str, name: &str) {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), namespace);
    let mut map = map(name);
    map.metadata.labels = Some([("team".into(), "x".into())].into());
    maps.create(&PostParams::default(), &map).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_added_and_removed_while_the_manager_runs() {
    let cluster = cluster().await;
    let manager = Manager::builder(cluster.client())
        .namespaces(["a", "b"])
        .build()
        .unwrap();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = seen.clone();
    // Each request, and whether the cache has the object.
    Controller::for_::<ConfigMap>()
        .watches_metadata::<Secret>(Handler::for_object())
        .build(&manager, move |context: Context, request: Request| {
            let noted = noted.clone();
            async move {
                let there = context.get::<ConfigMap>(&request).await?.is_some();
                let sign = if there { "+" } else { "-" };
                noted.lock().push(format!("{sign}{request}"));
                Ok(Action::done())
            }
        })
        .unwrap();
    let client = manager.client();
    client
        .index::<ConfigMap>("team", IndexFn::label("team"))
        .unwrap();
    let since = async || {
        cluster.settled().await.unwrap();
        let mut seen = std::mem::take(&mut *seen.lock());
        seen.sort();
        seen
    };
    let running = cluster.run(&manager);
    assert_eq!(since().await, ["+a/m", "+b/m"]);

    manager.add_namespace("c");
    assert_eq!(manager.namespaces().unwrap(), ["a", "b", "c"]);
    let now = since().await;
    assert!(now.contains(&"+c/m".to_owned()), "{now:?}");
    put(&cluster, "c", "n").await;
    assert_eq!(since().await, ["+c/n"]);

    // What leaves the cache leaves with a deletion, and its namespace is not watched any more.
    manager.remove_namespace("a").unwrap();
    let now = since().await;
    assert!(now.contains(&"-a/m".to_owned()), "{now:?}");
    put(&cluster, "a", "unseen").await;
    put(&cluster, "b", "n").await;
    assert_eq!(since().await, ["+b/n"]);
    // Indices are there in the new caches too.
    let found = client
        .list::<ConfigMap>(&Filter::new().index("team", "x"))
        .await
        .unwrap();
    assert_eq!(found.len(), 4);

    manager.set_all_namespaces();
    let now = since().await;
    assert!(now.contains(&"+a/unseen".to_owned()), "{now:?}");
    assert_eq!(manager.remove_namespace("a"), Err(AllNamespaces));
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn defaults_of_controllers_can_be_overridden() {
    let cluster = TestCluster::start().await;
    let defaults = ControllerDefaults::new()
        .max_concurrent_reconciles(3)
        .max_concurrent_reconciles_of::<Secret>(7)
        .max_concurrent_reconciles_of_kind("Lease.coordination.k8s.io", 5)
        .timeout(Duration::from_secs(1))
        .needs_leader_election(false)
        .recover_panic(false);
    let manager = Manager::builder(cluster.client())
        .controller_defaults(defaults)
        .build()
        .unwrap();
    let nothing = |_: Context, _: Request| async { Ok(Action::done()) };
    let workers =
        |controller: Result<Controller, ManagerError>| controller.unwrap().status().workers;
    let maps = || Controller::for_::<ConfigMap>();
    assert_eq!(workers(maps().named("plain").build(&manager, nothing)), 3);
    assert_eq!(
        workers(Controller::for_::<Secret>().build(&manager, nothing)),
        7
    );
    let leases = Controller::for_::<k8s_openapi::api::coordination::v1::Lease>();
    assert_eq!(workers(leases.build(&manager, nothing)), 5);
    let own = maps().named("own").max_concurrent_reconciles(1);
    assert_eq!(workers(own.build(&manager, nothing)), 1);
    // A reconcile that hangs ends in time, and a panic ends the manager.
    let hangs = maps()
        .named("hangs")
        .build(&manager, |context: Context, _: Request| async move {
            if context.attempt() == 0 {
                std::future::pending::<()>().await;
            }
            panic!("at last")
        })
        .unwrap();
    let running = cluster.run(&manager);
    hangs.trigger(Request::cluster_scoped("a"));
    let error = running.ended().await.unwrap_err();
    assert_eq!(error.to_string(), "hangs: a: panic: at last");
}
