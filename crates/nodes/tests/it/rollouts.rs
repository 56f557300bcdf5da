//! Rollouts of workloads on nodes.

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::ListParams};
use kubewright_controller::wait::wait_for;
use kubewright_nodes::Nodes;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::agnhost::create;

/// Waits until the pods are as wanted, and returns their images.
async fn images(cluster: &TestCluster, is: impl Fn(&[Pod]) -> bool) -> Vec<String> {
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    loop {
        cluster.settled().await.unwrap();
        let found = pods.list(&ListParams::default()).await.unwrap().items;
        if is(&found) {
            let image = |pod: &Pod| pod.spec.as_ref()?.containers[0].image.clone();
            return found.iter().filter_map(image).collect();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_rollout_that_cannot_finish_stops_at_its_limit() {
    let builder = TestCluster::builder().workloads().nodes(Nodes::new(3));
    let cluster = builder.start().await;
    let set = json!({
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
            },
        },
    });
    let path = "/apis/apps/v1/namespaces/default/daemonsets";
    create(&cluster, path, set).await;
    images(&cluster, |pods| pods.len() == 3).await;
    let sets: Api<k8s_openapi::api::apps::v1::DaemonSet> =
        Api::default_namespaced(cluster.client());
    let ready = wait_for(&sets, "d", std::time::Duration::from_secs(60), |set| {
        let status =
            set.and_then(|set: &k8s_openapi::api::apps::v1::DaemonSet| set.status.as_ref());
        status.is_some_and(|status| status.number_available == Some(3))
    });
    ready.await.unwrap();
    let containers: Value = json!([{"name": "c", "image": "nginx:404"}]);
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    let patch = kube::api::Patch::Strategic(patch);
    sets.patch("d", &Default::default(), &patch).await.unwrap();
    let is_new = |pod: &Pod| {
        let image = pod
            .spec
            .as_ref()
            .and_then(|spec| spec.containers[0].image.as_deref());
        image == Some("nginx:404")
    };
    let mut found = images(&cluster, |pods| pods.len() == 3 && pods.iter().any(is_new)).await;
    found.sort();
    assert_eq!(found, ["nginx:1", "nginx:1", "nginx:404"]);
}
