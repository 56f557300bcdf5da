//! A leader whose process is really stopped, by SIGSTOP, past its lease. It runs in a process of its own, over a real
//! connection and in real time: this test binary again.
//!
//! Without a `kill` command the test says so and does nothing.

use std::{process::Stdio, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Client, Config,
    api::{Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_controller::{
    Action, BoxError, Context, Controller, Manager, ManagerError, Request, Source,
    leader_election::{ElectionConfig, LeaderElector},
};
use kubewright_testing::TestCluster;
use serde_json::json;
use tokio::{
    process::{Child, Command},
    time::{Instant, timeout},
};

use crate::{
    link::{Candidate, spec},
    managing::maps,
};

const PATIENCE: Duration = Duration::from_secs(120);

/// Tells the process that is to lead where the cluster is.
const KUBECONFIG: &str = "KUBEWRIGHT_TEST_LEADER_KUBECONFIG";

/// The exit code of a process that lost its Lease.
const LOST: i32 = 42;

fn config(identity: &str) -> ElectionConfig {
    ElectionConfig::new("shop", "default")
        .identity(identity)
        .times(
            Duration::from_secs(8),
            Duration::from_secs(6),
            Duration::from_secs(1),
        )
}

/// The work of the process: counts up in a ConfigMap as long as it leads.
async fn lead(kubeconfig: &str) -> Result<(), ManagerError> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let connection = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(connection.unwrap()).unwrap();
    let manager = Manager::builder(client)
        .leader_election(config("stopped"))
        .build()?;
    let controller = Controller::builder()
        .named("counter")
        .source(Source::raw("nothing", |_| std::future::pending()))
        .build(&manager, |context: Context, _: Request| async move {
            let maps = context.client().api::<ConfigMap>("default");
            let count = jiff::Timestamp::now().as_nanosecond().to_string();
            let patch = Patch::Apply(json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "counter"}, "data": {"count": count},
            }));
            maps.patch("counter", &PatchParams::apply("counter"), &patch)
                .await?;
            Ok::<_, BoxError>(Action::requeue_after(Duration::from_millis(1)))
        })?;
    controller.trigger(Request::cluster_scoped("count"));
    manager.run(std::future::pending()).await
}

/// Not a test of its own: the process that leads.
#[test]
#[ignore = "run by a_leader_that_is_stopped_past_its_lease_writes_nothing_when_resumed"]
fn the_process_that_leads() {
    let Ok(kubeconfig) = std::env::var(KUBECONFIG) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let end = runtime.block_on(lead(&kubeconfig));
    let lost = matches!(end, Err(ManagerError::LeaderElectionLost));
    std::process::exit(if lost { LOST } else { 1 });
}

/// Reports whether the signal was sent.
async fn signal(child: &Child, name: &str) -> bool {
    let Some(id) = child.id() else {
        return false;
    };
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &id.to_string()])
        .status()
        .await;
    sent.is_ok_and(|status| status.success())
}

async fn counter(cluster: &TestCluster) -> Option<ConfigMap> {
    maps(cluster).get_opt("counter").await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_stopped_past_its_lease_writes_nothing_when_resumed() {
    if !cfg!(unix) {
        eprintln!("skipped: there are no signals here");
        return;
    }
    let cluster = TestCluster::start().await;
    let endpoint = cluster.listen().await.unwrap();
    let mut leader = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "paused_process::the_process_that_leads"])
        .args(["--ignored", "--nocapture"])
        .env(KUBECONFIG, endpoint.kubeconfig())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let until = Instant::now() + PATIENCE;
    while counter(&cluster).await.is_none() {
        assert!(Instant::now() < until, "it does not come to lead");
        assert_eq!(leader.try_wait().unwrap(), None, "it ended");
        tokio::task::yield_now().await;
    }
    assert_eq!(
        spec(&cluster).await.holder_identity.as_deref(),
        Some("stopped")
    );
    if !signal(&leader, "STOP").await {
        eprintln!("skipped: there is no kill to send signals with");
        return;
    }

    // Another takes over when the lease has run out. From then on the first must not write.
    let elector = LeaderElector::new(cluster.client(), config("other")).unwrap();
    let mut other = Candidate::start(elector, Duration::ZERO);
    timeout(PATIENCE, other.leads())
        .await
        .expect("the other leads");
    let before = counter(&cluster).await.unwrap();
    assert!(signal(&leader, "CONT").await);
    let end = timeout(PATIENCE, leader.wait()).await;
    let end = end.expect("it ends by itself").unwrap();
    assert_eq!(end.code(), Some(LOST));
    assert_eq!(counter(&cluster).await.unwrap(), before);
    assert_eq!(
        spec(&cluster).await.holder_identity.as_deref(),
        Some("other")
    );
    let _ = other.stop().await;
    endpoint.stop().await;
}
