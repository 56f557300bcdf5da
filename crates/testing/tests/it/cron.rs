//! Schedules on virtual time.

use std::time::{Duration, Instant};

use k8s_openapi::api::{
    batch::v1::{CronJob, Job},
    core::v1::Pod,
};
use kube::{Api, ResourceExt, api::ListParams};
use kubewright_testing::TestCluster;
use serde_json::{from_value, json};

#[tokio::test(start_paused = true)]
async fn an_hour_of_cron_jobs_passes_in_virtual_time() {
    let cluster = TestCluster::builder().workloads().nodes(10).start().await;
    let schedules: Api<CronJob> = Api::default_namespaced(cluster.client());
    let schedule = json!({
        "metadata": {"name": "minutely"},
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", "sleep 5; date"]}],
            }}}},
        },
    });
    let params = Default::default();
    schedules
        .create(&params, &from_value(schedule).unwrap())
        .await
        .unwrap();
    cluster.settled().await.unwrap();

    let start = cluster.ledger().mark();
    let began = Instant::now();
    cluster.time().advance(Duration::from_secs(3600)).await;
    cluster.settled().await.unwrap();
    println!(
        "an hour of CronJobs on ten nodes took {:?}",
        began.elapsed()
    );

    let writes = cluster.ledger().writes(start).into_iter();
    let created = |resource: &str| {
        let creates = writes.clone().filter(|write| write.verb == "create");
        creates
            .filter(|write| write.object.resource == resource)
            .count()
    };
    assert_eq!(created("jobs"), 60);
    assert_eq!(created("pods"), 120, "60 pods and their bindings");
    // The history keeps three Jobs with their pods.
    let jobs: Api<Job> = Api::default_namespaced(cluster.client());
    let jobs = jobs.list(&ListParams::default()).await.unwrap();
    assert_eq!(jobs.items.len(), 3);
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        assert_eq!(phase, Some("Succeeded"), "{}", pod.name_any());
    }
}
