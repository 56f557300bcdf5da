//! Bounds that hold after every write: of rollouts, ordinals and the pods of a Job.

use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    core::v1::Pod,
};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use kubewright_testing::{Moment, World, perturb};
use serde_json::{Value, json};

use super::{controllers, create};
use crate::workloads::{deployment, is_ready, template};

/// Makes all pods ready that are not.
async fn make_ready(world: &World) {
    let pods: Api<Pod> = Api::default_namespaced(world.client());
    let listed = pods.list(&ListParams::default()).await.unwrap();
    for pod in listed.items.iter().filter(|pod| !is_ready(pod)) {
        let since = "2020-01-01T00:00:00Z";
        let ready = json!([{"type": "Ready", "status": "True", "lastTransitionTime": since}]);
        let status = json!({"status": {"phase": "Running", "conditions": ready}});
        let (patch, params) = (Patch::Merge(status), PatchParams::default());
        match pods.patch_status(&pod.name_any(), &params, &patch).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            patched => drop(patched.unwrap()),
        }
    }
}

/// Makes pods ready until a rollout cannot go on.
async fn finish(world: &World) {
    for _ in 0..10 {
        world.settled().await;
        make_ready(world).await;
    }
    world.settled().await;
}

fn lives(pod: &&Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_null()
}

fn is_available(pod: &&Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    lives(pod) && conditions.any(|c| c["type"] == "Ready" && c["status"] == "True")
}

#[test]
fn a_rollout_never_leaves_its_bounds() {
    let story = |world: World| async move {
        let strategy = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}});
        create(&world, deployment(4, json!({"strategy": strategy}))).await;
        finish(&world).await;
        let web: Api<Deployment> = Api::default_namespaced(world.client());
        let change = json!({"spec": {"template": template("nginx:2", json!({}))}});
        let (patch, params) = (Patch::Merge(change), PatchParams::default());
        web.patch("web", &params, &patch).await.unwrap();
        for _ in 0..3 {
            world.pause().await;
            make_ready(&world).await;
        }
        finish(&world).await;
    };
    let bounds = |moment: &Moment| {
        let pods = moment.of("pods").filter(lives).count();
        if pods > 5 {
            return Err(format!("there are {pods} pods"));
        }
        let web = moment.get("deployments.apps", "default/web");
        let is_changed = web.is_some_and(|web| web["metadata"]["generation"] == 2);
        let available = moment.of("pods").filter(is_available).count();
        match is_changed && available < 3 {
            true => Err(format!("only {available} pods are available")),
            false => Ok(()),
        }
    };
    let done = |state: &kubewright_testing::State| {
        let new = |pod: &&Value| pod["spec"]["containers"][0]["image"] == "nginx:2";
        match state.of("pods").filter(new).count() {
            4 => Ok(()),
            count => Err(format!("{count} pods are new")),
        }
    };
    perturb(controllers("replicaset,deployment"), story)
        .at_most(6)
        .ignore("/status/conditions")
        .ignore("/status/observedGeneration")
        .always(
            "surge and availability",
            ["pods", "deployments.apps"],
            bounds,
        )
        .invariant("the rollout ends", done)
        .run();
}

#[test]
fn there_are_never_two_pods_for_an_ordinal() {
    let story = |world: World| async move {
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "template": template("nginx", json!({})),
            },
        });
        create(&world, set).await;
        finish(&world).await;
        let sets: Api<StatefulSet> = Api::default_namespaced(world.client());
        let change = json!({"spec": {"template": template("nginx:2", json!({}))}});
        let (patch, params) = (Patch::Merge(change), PatchParams::default());
        sets.patch("db", &params, &patch).await.unwrap();
        world.pause().await;
        make_ready(&world).await;
        let pods: Api<Pod> = Api::default_namespaced(world.client());
        let deleted = pods.delete("db-0", &Default::default()).await;
        assert!(deleted.is_ok() || pods.get_opt("db-0").await.unwrap().is_none());
        world.pause().await;
        finish(&world).await;
    };
    let ordinals = |moment: &Moment| {
        let index = |pod: &Value| {
            let labels = &pod["metadata"]["labels"];
            labels["apps.kubernetes.io/pod-index"].to_string()
        };
        let mut found: Vec<String> = moment.of("pods").map(index).collect();
        let count = found.len();
        found.sort_unstable();
        found.dedup();
        match found.len() == count && count <= 2 {
            true => Ok(()),
            false => Err(format!("there are {count} pods for the ordinals {found:?}")),
        }
    };
    perturb(controllers("statefulset"), story)
        .at_most(6)
        .always("one pod for an ordinal", ["pods"], ordinals)
        .run();
}

#[test]
fn a_job_never_counts_more_than_its_pods() {
    let story = |world: World| async move {
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "work", "namespace": "default"},
            "spec": {"completions": 3, "parallelism": 2, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
            }}},
        });
        create(&world, job).await;
        let pods: Api<Pod> = Api::default_namespaced(world.client());
        for _ in 0..3 {
            world.settled().await;
            let listed = pods.list(&ListParams::default()).await.unwrap();
            for pod in listed {
                let done = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
                let params = PatchParams::default();
                let name = pod.name_any();
                pods.patch_status(&name, &params, &done).await.unwrap();
            }
            world.pause().await;
        }
    };
    let counts = |moment: &Moment| {
        let succeeded = |pod: &&Value| pod["status"]["phase"] == "Succeeded";
        let pods = moment.of("pods").count();
        let ended = moment.of("pods").filter(succeeded).count();
        for job in moment.of("jobs.batch") {
            let status = &job["status"];
            let uncounted = status["uncountedTerminatedPods"]["succeeded"].as_array();
            let counted = status["succeeded"].as_u64().unwrap_or(0) as usize;
            let counted = counted + uncounted.map_or(0, Vec::len);
            if counted > ended || pods > 3 {
                return Err(format!(
                    "{counted} counted, {ended} of {pods} pods have ended"
                ));
            }
        }
        Ok(())
    };
    perturb(controllers("job"), story)
        .at_most(6)
        .ignore("/status/conditions")
        .always("every pod counts once", ["pods", "jobs.batch"], counts)
        .run();
}
