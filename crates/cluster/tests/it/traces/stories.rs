//! The stories whose writes are compared.

use std::{fmt::Debug, pin::pin, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::Job,
    core::v1::{Node, Pod},
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{
        DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams, WatchEvent,
        WatchParams,
    },
    core::NamespaceResourceScope,
};
use kubewright_controller::wait::wait_for;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, from_value, json};

const PATIENCE: Duration = Duration::from_secs(120);

/// Tells the story with that name.
pub(super) async fn tell(name: &str, client: Client) {
    match name {
        "deployment" => deployment(client).await,
        "stateful_set" => stateful_set(client).await,
        "daemon_set" => daemon_set(client).await,
        "job" => job(client).await,
        "drain" => drain(client).await,
        "replacement" => replacement(client).await,
        other => panic!("no story {other}"),
    }
}

/// The kinds of the stories.
trait Kind:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
{
}

impl<K> Kind for K where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
{
}

fn api<K: Kind>(client: &Client) -> Api<K> {
    Api::default_namespaced(client.clone())
}

async fn create<K: Kind>(client: &Client, object: Value) {
    let params = PostParams {
        field_manager: Some("story".to_owned()),
        ..PostParams::default()
    };
    let object: K = from_value(object).unwrap();
    api(client).create(&params, &object).await.unwrap();
}

async fn scale<K: Kind>(client: &Client, name: &str, replicas: i32) {
    let params = PatchParams {
        field_manager: Some("story".to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    api::<K>(client).patch(name, &params, &patch).await.unwrap();
}

async fn until<K: Kind>(client: &Client, name: &str, wanted: impl Fn(&Value) -> bool) {
    let api = api::<K>(client);
    let reached = wait_for(&api, name, PATIENCE, |object: Option<&K>| {
        object.is_some_and(|object| wanted(&json!(object)))
    });
    if let Err(error) = reached.await {
        let last = api.get_opt(name).await;
        panic!("{name}: {error}: {:#}", json!(last.unwrap()));
    }
}

fn template(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    spec["terminationGracePeriodSeconds"] = 1.into();
    json!({"metadata": {"labels": {"app": name}}, "spec": spec})
}

fn workload(name: &str, mut spec: Value) -> Value {
    spec["selector"] = json!({"matchLabels": {"app": name}});
    spec["template"] = template(
        name,
        json!({"containers": [{"name": "c", "image": "nginx"}]}),
    );
    json!({"metadata": {"name": name}, "spec": spec})
}

fn is_observed(object: &Value) -> bool {
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

/// Returns the reason of a condition.
fn reason<'a>(object: &'a Value, name: &str) -> &'a str {
    let conditions = object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten();
    let mut found = conditions.filter(|one| one["type"] == name);
    found
        .next()
        .map_or("", |one| one["reason"].as_str().unwrap_or_default())
}

fn is_rolled_out(object: &Value, replicas: u64) -> bool {
    is_observed(object)
        && object["status"]["availableReplicas"] == replicas
        && object["status"]["replicas"] == replicas
        && reason(object, "Progressing") == "NewReplicaSetAvailable"
}

/// Loses a pod of the only ReplicaSet, and waits until another one has taken its place.
async fn replaced<T>(client: &Client, replicas: u64, lose: impl Future<Output = T>) {
    let sets = api::<ReplicaSet>(client);
    let list = sets.list(&ListParams::default()).await.unwrap();
    let from = list.metadata.resource_version.unwrap_or_default();
    let changes = sets.watch(&WatchParams::default(), &from).await.unwrap();
    let mut changes = pin!(changes);
    lose.await;
    for wanted in [replicas - 1, replicas] {
        while let Some(change) = changes.next().await {
            let WatchEvent::Modified(set) = change.unwrap() else {
                continue;
            };
            let status = &json!(set)["status"];
            let available = status["availableReplicas"].as_u64();
            let is_over = status["terminatingReplicas"] == 0 || wanted < replicas;
            if available.unwrap_or_default() == wanted && is_over {
                break;
            }
        }
    }
    until::<Deployment>(client, "web", |web| is_rolled_out(web, replicas)).await;
}

/// Two replicas.
async fn deployment(client: Client) {
    create::<Deployment>(&client, workload("web", json!({"replicas": 2}))).await;
    until::<Deployment>(&client, "web", |web| is_rolled_out(web, 2)).await;
}

/// Three ordered replicas, scaled to none.
async fn stateful_set(client: Client) {
    let spec = json!({"replicas": 3, "serviceName": "db"});
    create::<StatefulSet>(&client, workload("db", spec)).await;
    until::<StatefulSet>(&client, "db", |db| db["status"]["availableReplicas"] == 3).await;
    scale::<StatefulSet>(&client, "db", 0).await;
    until::<StatefulSet>(&client, "db", |db| {
        is_observed(db)
            && db["status"]["replicas"] == 0
            && db["status"]["availableReplicas"]
                .as_u64()
                .unwrap_or_default()
                == 0
    })
    .await;
}

/// A pod on each node.
async fn daemon_set(client: Client) {
    create::<DaemonSet>(&client, workload("agent", json!({}))).await;
    until::<DaemonSet>(&client, "agent", |agent| {
        is_observed(agent)
            && agent["status"]["numberAvailable"] == 2
            && agent["status"]["updatedNumberScheduled"] == 2
    })
    .await;
}

/// Two completions, one after the other.
async fn job(client: Client) {
    let mut template = template(
        "count",
        json!({"containers": [{"name": "c", "image": "busybox", "command": ["true"]}]}),
    );
    template["spec"]["restartPolicy"] = "Never".into();
    let spec = json!({"completions": 2, "parallelism": 1, "template": template});
    create::<Job>(
        &client,
        json!({"metadata": {"name": "count"}, "spec": spec}),
    )
    .await;
    until::<Job>(&client, "count", |job| {
        let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
        let is_complete = conditions.into_iter().any(|one| one["type"] == "Complete");
        is_complete && job["status"]["succeeded"] == 2
    })
    .await;
}

/// A node is drained, as far as a budget allows it.
async fn drain(client: Client) {
    let mut web = workload("web", json!({"replicas": 2}));
    let labels = json!({"matchLabels": {"app": "web"}});
    web["spec"]["template"]["spec"]["affinity"] = json!({"podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{
            "weight": 100,
            "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": labels},
        }],
    }});
    create::<Deployment>(&client, web).await;
    until::<Deployment>(&client, "web", |web| is_rolled_out(web, 2)).await;
    let budget =
        json!({"metadata": {"name": "web"}, "spec": {"minAvailable": 2, "selector": labels}});
    create::<PodDisruptionBudget>(&client, budget).await;
    until::<PodDisruptionBudget>(&client, "web", |web| web["status"]["currentHealthy"] == 2).await;

    let nodes: Api<Node> = Api::all(client.clone());
    nodes.cordon("node-2").await.unwrap();
    let here = ListParams::default().fields("spec.nodeName=node-2");
    let pods = api::<Pod>(&client);
    let pod = pods.list(&here).await.unwrap().items.remove(0).name_any();
    let evict = EvictParams::default();
    let refused = pods.evict(&pod, &evict).await.unwrap_err();
    let kube::Error::Api(status) = refused else {
        panic!("{refused}")
    };
    let text = "Cannot evict pod as it would violate the pod's disruption budget.";
    assert_eq!((status.code, &*status.message), (429, text));

    scale::<Deployment>(&client, "web", 3).await;
    until::<PodDisruptionBudget>(&client, "web", |web| {
        web["status"]["disruptionsAllowed"] == 1
    })
    .await;
    replaced(&client, 3, async {
        pods.evict(&pod, &evict).await.unwrap();
    })
    .await;
    let left = pods.list(&here).await.unwrap().items;
    assert!(left.is_empty(), "{left:#?}");
}

/// A pod of a ReplicaSet is deleted and replaced.
async fn replacement(client: Client) {
    deployment(client.clone()).await;
    let pods = api::<Pod>(&client);
    let pod = pods
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .remove(0);
    let name = pod.name_any();
    replaced(&client, 2, async {
        pods.delete(&name, &DeleteParams::default()).await.unwrap();
    })
    .await;
}
