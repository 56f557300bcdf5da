//! Faults of users and other programs, while the controllers are killed, lag behind, or lose their connection.

use std::time::Duration;

use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet, StatefulSet},
    batch::v1::Job,
    core::v1::{Event, PersistentVolume, Pod, ResourceQuota},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kubewright_builtin_controllers::Controllers;
use kubewright_controller::{Manager, ManagerBuilder, ManagerError};
use kubewright_testing::{State, World, perturb};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{deployment, template};

/// The most events that a story may leave, each as often as it was recorded.
const MOST_EVENTS: i32 = 120;

fn program(
    list: &'static str,
) -> impl Fn(ManagerBuilder) -> Result<Manager, ManagerError> + Clone + Send + Sync + 'static {
    move |manager: ManagerBuilder| {
        let manager = manager.build()?;
        Controllers::parse(list).unwrap().add_to(&manager)?;
        Ok(manager)
    }
}

async fn create<K>(world: &World, object: Value)
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Serialize,
{
    let objects: Api<K> = Api::default_namespaced(world.client());
    let object: K = serde_json::from_value(object).unwrap();
    objects
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
}

fn pods(world: &World) -> Api<Pod> {
    Api::default_namespaced(world.client())
}

/// Checks that there is no storm of events.
async fn few_events(world: &World) {
    let events: Api<Event> = Api::default_namespaced(world.client());
    let events = events.list(&ListParams::default()).await.unwrap();
    let count: i32 = events.iter().map(|event| event.count.unwrap_or(1)).sum();
    assert!(count <= MOST_EVENTS, "there are {count} events");
}

fn expect(found: impl PartialEq<Value> + std::fmt::Debug, wanted: Value) -> Result<(), String> {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{found:?} is not {wanted}")),
    }
}

fn replica_set(name: &str, replicas: i32, app: &str) -> Value {
    let mut template = template("nginx", json!({}));
    template["metadata"]["labels"]["app"] = json!(app);
    json!({
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": template},
    })
}

#[test]
fn a_quota_for_one_pod_of_ten_is_never_exceeded() {
    let story = |world: World| async move {
        let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}});
        create::<ResourceQuota>(&world, quota).await;
        world.settled().await;
        create::<ReplicaSet>(&world, replica_set("web", 10, "web")).await;
        // The set tries again and again, so it is never settled.
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(10)).await;
            let found = pods(&world)
                .list(&ListParams::default())
                .await
                .unwrap()
                .items;
            assert!(found.len() <= 1, "there are {} pods", found.len());
            for pod in found {
                let now = DeleteParams::default().grace_period(0);
                pods(&world).delete(&pod.name_any(), &now).await.unwrap();
            }
        }
        let sets: Api<ReplicaSet> = Api::default_namespaced(world.client());
        let fewer = Patch::Merge(json!({"spec": {"replicas": 1}}));
        sets.patch("web", &PatchParams::default(), &fewer)
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(600)).await;
        world.settled().await;
        few_events(&world).await;
    };
    let one = |state: &State| {
        let used: Vec<Value> = state
            .of("resourcequotas")
            .map(|quota| quota["status"]["used"]["pods"].clone())
            .collect();
        let count = state.of("pods").count();
        match count <= 1 {
            true => expect(json!(used), json!([count.to_string()])),
            false => Err(format!("there are {count} pods")),
        }
    };
    perturb(program("replicaset,resourcequota"), story)
        .at_most(8)
        .ignore("/status/conditions")
        .invariant("the quota holds", one)
        .run();
}

#[test]
fn sets_that_fight_over_pods_each_end_with_their_own() {
    let story = |world: World| async move {
        create::<ReplicaSet>(&world, replica_set("a", 3, "web")).await;
        world.settled().await;
        let mut stray = template("nginx", json!({}));
        stray["metadata"]["generateName"] = json!("a-");
        create::<Pod>(&world, stray).await;
        world.pause().await;
        create::<ReplicaSet>(&world, replica_set("b", 2, "web")).await;
        // The pod that is taken next must not be one that a set is about to delete.
        world.settled().await;
        // One pod no longer matches, and nobody has it.
        let all = pods(&world).list(&ListParams::default()).await.unwrap();
        if let Some(pod) = all.iter().find(|pod| pod.name_any().starts_with("a-")) {
            let other = Patch::Merge(json!({"metadata": {"labels": {"app": "other"}}}));
            let params = PatchParams::default();
            pods(&world)
                .patch(&pod.name_any(), &params, &other)
                .await
                .unwrap();
        }
        world.pause().await;
        few_events(&world).await;
    };
    let own = |state: &State| {
        for set in state.of("replicasets.apps") {
            let name = &set["metadata"]["name"];
            let owned = state.of("pods").filter(|pod| {
                let owners = pod["metadata"]["ownerReferences"].as_array();
                owners.is_some_and(|owners| owners.iter().any(|owner| owner["name"] == *name))
            });
            let count = owned.count();
            if json!(count) != set["spec"]["replicas"] {
                return Err(format!("{name} has {count} pods"));
            }
        }
        let twice = state.of("pods").any(|pod| {
            pod["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|owners| owners.len() > 1)
        });
        match twice {
            true => Err("a pod has two owners".to_owned()),
            false => Ok(()),
        }
    };
    perturb(program("replicaset"), story)
        .at_most(8)
        .ignore("/status")
        .invariant("every pod has one set", own)
        .run();
}

#[test]
fn a_job_whose_pods_vanish_ends_and_counts_each_once() {
    let story = |world: World| async move {
        let job = json!({
            "metadata": {"name": "work"},
            "spec": {"completions": 3, "parallelism": 3, "backoffLimit": 10, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
            }}},
        });
        create::<Job>(&world, job).await;
        world.settled().await;
        // All pods vanish, finalizers and all.
        for pod in pods(&world).list(&ListParams::default()).await.unwrap() {
            let now = DeleteParams::default().grace_period(0);
            pods(&world).delete(&pod.name_any(), &now).await.unwrap();
            world.pause().await;
        }
        for _ in 0..40 {
            world.settled().await;
            let all = pods(&world)
                .list(&ListParams::default())
                .await
                .unwrap()
                .items;
            let phase = |pod: &Pod| {
                pod.status
                    .clone()
                    .unwrap_or_default()
                    .phase
                    .unwrap_or_default()
            };
            let running = all
                .iter()
                .filter(|pod| pod.metadata.deletion_timestamp.is_none() && phase(pod) == "Pending");
            for pod in running {
                let done = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
                let params = PatchParams::default();
                pods(&world)
                    .patch_status(&pod.name_any(), &params, &done)
                    .await
                    .unwrap();
            }
            if all.iter().filter(|pod| phase(pod) == "Succeeded").count() >= 3 {
                break;
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        world.settled().await;
        few_events(&world).await;
    };
    let counted = |state: &State| {
        let succeeded: Vec<Value> = state
            .of("jobs.batch")
            .map(|job| json!([job["status"]["succeeded"], job["status"]["failed"]]))
            .collect();
        expect(json!(succeeded), json!([[3, 3]]))
    };
    perturb(program("job"), story)
        .at_most(6)
        .ignore("/status/conditions")
        .invariant("every pod counts once", counted)
        .run();
}

#[test]
fn a_deployment_that_is_deleted_in_the_middle_of_a_rollout_creates_nothing_more() {
    let story = |world: World| async move {
        create::<Deployment>(&world, deployment(3, json!({}))).await;
        world.settled().await;
        let deployments: Api<Deployment> = Api::default_namespaced(world.client());
        let change = Patch::Merge(json!({"spec": {"template": template("nginx:2", json!({}))}}));
        let params = PatchParams::default();
        deployments.patch("web", &params, &change).await.unwrap();
        // No pod is ever ready, so the rollout stops half way.
        world.settled().await;
        deployments
            .delete("web", &DeleteParams::default())
            .await
            .unwrap();
        world.pause().await;
        few_events(&world).await;
    };
    let bounded = |state: &State| {
        let wanted = |set: &Value| set["spec"]["replicas"].as_i64().unwrap_or(0);
        let sum: i64 = state.of("replicasets.apps").map(wanted).sum();
        let pods = state.of("pods").count();
        match (sum == 4, json!(pods) == json!(sum)) {
            (true, true) => Ok(()),
            _ => Err(format!("the sets want {sum} pods and have {pods}")),
        }
    };
    perturb(program("replicaset,deployment"), story)
        .at_most(8)
        .ignore("/status")
        .invariant("no more than the surge", bounded)
        .run();
}

#[test]
fn every_claim_gets_one_volume_whatever_happens_to_the_controllers() {
    let story = |world: World| async move {
        let volumes: Api<PersistentVolume> = Api::all(world.client());
        for name in ["v1", "v2"] {
            let volume = json!({
                "metadata": {"name": name},
                "spec": {
                    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                    "hostPath": {"path": "/data"},
                },
            });
            let volume: PersistentVolume = serde_json::from_value(volume).unwrap();
            volumes
                .create(&PostParams::default(), &volume)
                .await
                .unwrap();
        }
        create::<StatefulSet>(&world, json!({
            "metadata": {"name": "db"},
            "spec": {
                "replicas": 2, "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": {"app": "web"}}, "template": template("nginx", json!({})),
                "volumeClaimTemplates": [{
                    "metadata": {"name": "data"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                }],
            },
        }))
        .await;
        world.pause().await;
    };
    let bound = |state: &State| {
        let field = |kind: &str, pointer: &str| {
            let values = state
                .of(kind)
                .map(|object| object.pointer(pointer).cloned());
            let mut values: Vec<String> = values.map(|value| json!(value).to_string()).collect();
            values.sort_unstable();
            json!(values)
        };
        let phases = field("persistentvolumeclaims", "/status/phase");
        expect(phases, json!(["\"Bound\"", "\"Bound\""]))?;
        let owned = field("persistentvolumes", "/status/phase");
        expect(owned, json!(["\"Bound\"", "\"Bound\""]))
    };
    // Either claim may get either volume, but each gets one.
    perturb(program("statefulset,persistentvolume-binder"), story)
        .at_most(8)
        .ignore("/spec/volumeName")
        .ignore("/spec/claimRef")
        .invariant("one volume for a claim", bound)
        .run();
}
