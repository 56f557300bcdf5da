//! Kubernetes' own controller manager and scheduler on our server, with our nodes.

use std::{fmt::Debug, time::Duration};

use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    batch::v1::Job,
    core::v1::{Event, Namespace, Pod, ResourceQuota},
};
use kube::{
    Api, Resource,
    api::{DeleteParams, ListParams, Patch, PropagationPolicy},
};
use kubewright_cluster::Cluster;
use kubewright_controller::wait::{wait_for, wait_for_deletion};
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};

use crate::real_programs::WithRealManagers;

const PATIENCE: Duration = Duration::from_secs(120);

async fn until<K>(api: &Api<K>, name: &str, wanted: impl Fn(&Value) -> bool)
where
    K: Resource + Clone + DeserializeOwned + Debug + serde::Serialize,
{
    let reached = wait_for(api, name, PATIENCE, |object: Option<&K>| {
        object.is_some_and(|object| wanted(&json!(object)))
    });
    if let Err(error) = reached.await {
        let last = api.get_opt(name).await;
        panic!("{name}: {error}: {:#}", json!(last.unwrap()));
    }
}

fn web(name: &str, replicas: i32, image: &str) -> Deployment {
    let object = json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "web", "image": image}], "terminationGracePeriodSeconds": 1},
            },
        },
    });
    from_value(object).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubernetes_own_controllers_and_scheduler_run_unmodified() {
    let test = "kube-controller-manager and kube-scheduler on our server";
    let Some(place) = WithRealManagers::start(test, Cluster::builder()).await else {
        return;
    };
    let client = place.cluster.client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = from_value(json!({"metadata": {"name": "shop"}})).unwrap();
    namespaces
        .create(&Default::default(), &namespace)
        .await
        .unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "shop");
    let pods: Api<Pod> = Api::namespaced(client.clone(), "shop");

    // A rollout, and another one.
    let params = Default::default();
    deployments
        .create(&params, &web("web", 3, "nginx:1"))
        .await
        .unwrap();
    until(&deployments, "web", |web| {
        web["status"]["availableReplicas"] == 3
    })
    .await;
    let patch = Patch::Merge(json!(web("web", 3, "nginx:2")));
    deployments
        .patch("web", &Default::default(), &patch)
        .await
        .unwrap();
    until(&deployments, "web", |web| {
        let status = &web["status"];
        status["observedGeneration"] == web["metadata"]["generation"]
            && status["updatedReplicas"] == 3
            && status["availableReplicas"] == 3
            && status["replicas"] == 3
    })
    .await;
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), "shop");
    assert_eq!(
        sets.list(&ListParams::default()).await.unwrap().items.len(),
        2
    );

    // A quota that allows one pod more, and is counted.
    let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), "shop");
    let quota = json!({"metadata": {"name": "few"}, "spec": {"hard": {"pods": "4"}}});
    quotas
        .create(&params, &from_value(quota).unwrap())
        .await
        .unwrap();
    until(&quotas, "few", |few| few["status"]["used"]["pods"] == "3").await;
    deployments
        .create(&params, &web("greedy", 3, "nginx"))
        .await
        .unwrap();
    until(&deployments, "greedy", |greedy| {
        let conditions = greedy["status"]["conditions"].as_array();
        let failure = conditions
            .into_iter()
            .flatten()
            .find(|one| one["type"] == "ReplicaFailure");
        failure.is_some_and(|one| one["reason"] == "FailedCreate")
            && greedy["status"]["availableReplicas"] == 1
    })
    .await;
    until(&quotas, "few", |few| few["status"]["used"]["pods"] == "4").await;
    let events: Api<Event> = Api::namespaced(client.clone(), "shop");
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let told = |event: &Event| {
        event
            .message
            .as_ref()
            .is_some_and(|text| text.contains("exceeded quota: few"))
    };
    assert!(events.iter().any(told));

    // Garbage: the pods go with their Deployment, or stay as orphans.
    let background = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteParams::default()
    };
    deployments.delete("web", &background).await.unwrap();
    until(&deployments, "greedy", |greedy| {
        greedy["status"]["availableReplicas"] == 3
    })
    .await;
    let of_web = ListParams::default().labels("app=web");
    assert!(pods.list(&of_web).await.unwrap().items.is_empty());

    // A Job.
    quotas
        .delete("few", &DeleteParams::default())
        .await
        .unwrap();
    let jobs: Api<Job> = Api::namespaced(client.clone(), "shop");
    let job = json!({
        "metadata": {"name": "count"},
        "spec": {
            "completions": 2,
            "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "count", "image": "busybox", "command": ["sh", "-c", "echo counted"]}],
            }},
        },
    });
    jobs.create(&params, &from_value(job).unwrap())
        .await
        .unwrap();
    until(&jobs, "count", |job| {
        job["status"]["succeeded"] == 2 && job["status"]["completionTime"] != Value::Null
    })
    .await;

    // The namespace goes with everything in it.
    namespaces
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_deletion(&namespaces, "shop", None, PATIENCE)
        .await
        .unwrap();
    assert!(
        pods.list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
}
