//! [`Workloads`]: the chapter about pods: a rollout, a lost pod and a lost node.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, bail, ensure};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use kubewright_cluster::Nodes;
use kubewright_controller::wait::wait_for;
use serde_json::json;

use super::{event::DemoEvent, screen::Screen};

/// The time for which a node may be silent before its pods are replaced. In production it is 50 seconds.
pub(super) const NODE_GRACE: Duration = Duration::from_millis(500);

/// The number of replicas.
const REPLICAS: usize = 8;

/// The name of the Deployment.
const NAME: &str = "store";

/// The node that dies.
const NODE: &str = "node-2";

/// A Deployment on simulated nodes, and what happens to its pods.
pub(super) struct Workloads {
    screen: Screen,
    deployments: Api<Deployment>,
    pods: Api<Pod>,
    nodes: Nodes,
    timeout: Duration,
}

impl Workloads {
    pub(super) fn new(client: &Client, nodes: Nodes, screen: &Screen, timeout: Duration) -> Self {
        Self {
            screen: screen.clone(),
            deployments: Api::default_namespaced(client.clone()),
            pods: Api::default_namespaced(client.clone()),
            nodes,
            timeout,
        }
    }

    /// Removes what an earlier round may have left.
    pub(super) async fn clean_up(&self) {
        self.nodes.node(NODE).come_back().await;
        // A Deployment that does not exist need not be removed.
        let _ = self
            .deployments
            .delete(NAME, &DeleteParams::background())
            .await;
    }

    /// Creates the Deployment, and waits until all its pods are ready.
    pub(super) async fn roll_out(&self) -> anyhow::Result<String> {
        self.act(format!(
            "kubectl create -f deployment.yaml  # {NAME}, {REPLICAS} replicas"
        ));
        // Pods leave a dead node at once, and not after five minutes.
        let tolerations = ["not-ready", "unreachable"].map(|taint| {
            json!({
                "key": format!("node.kubernetes.io/{taint}"),
                "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0,
            })
        });
        let deployment = json!({
            "metadata": {"name": NAME},
            "spec": {
                "replicas": REPLICAS,
                "selector": {"matchLabels": {"app": NAME}},
                "template": {
                    "metadata": {"labels": {"app": NAME}},
                    "spec": {
                        "containers": [{"name": "web", "image": "nginx"}],
                        "tolerations": tolerations,
                    },
                },
            },
        });
        let deployment = serde_json::from_value(deployment)?;
        self.deployments
            .create(&PostParams::default(), &deployment)
            .await?;
        let places = self.ready(self.timeout, |_| true).await?;
        let places = places
            .iter()
            .map(|(node, pods)| format!("{pods} on {node}"));
        let places: Vec<String> = places.collect();
        Ok(format!("{REPLICAS} pods are ready: {}", places.join(", ")))
    }

    /// Deletes a pod, and waits for its replacement.
    pub(super) async fn lose_a_pod(&self) -> anyhow::Result<String> {
        let pods = self.pods.list(&Self::own()).await?;
        let victim = pods.items.first().context("there is no pod")?.name_any();
        self.act(format!("kubectl delete pod {victim}"));
        self.pods.delete(&victim, &DeleteParams::default()).await?;
        self.ready(self.timeout, |pod| pod.name_any() != victim)
            .await?;
        let listed = self.pods.list(&Self::own()).await?;
        let mut ages: Vec<_> = listed
            .items
            .iter()
            .map(|p| (p.creation_timestamp(), p.name_any()))
            .collect();
        ages.sort();
        let (_, newest) = ages.pop().context("there is no pod")?;
        Ok(format!("its ReplicaSet has created {newest}"))
    }

    /// Kills a node, and waits until all pods run on the other one.
    pub(super) async fn lose_a_node(&self) -> anyhow::Result<String> {
        self.happens(format!("{NODE} loses power"));
        let node = self.nodes.node(NODE);
        node.crash().await;
        let places = self.ready(self.timeout, |pod| node_of(pod) != NODE).await?;
        ensure!(places.len() == 1, "the pods are on {} nodes", places.len());
        let (place, _) = places.first_key_value().context("there is no pod")?;
        let found = format!("{REPLICAS} pods are ready on {place}");
        self.happens(format!("{NODE} is back"));
        node.come_back().await;
        self.act(format!("kubectl delete deployment {NAME}"));
        self.deployments
            .delete(NAME, &DeleteParams::background())
            .await?;
        self.gone().await?;
        Ok(found)
    }

    /// Waits until the Deployment has all its pods ready, all of which meet the condition. Returns their number by node.
    async fn ready(
        &self,
        timeout: Duration,
        is_wanted: impl Fn(&Pod) -> bool,
    ) -> anyhow::Result<BTreeMap<String, usize>> {
        let reached = async {
            loop {
                let is_complete = |found: Option<&Deployment>| {
                    let status = found.and_then(|found| found.status.as_ref());
                    let available = status.and_then(|status| status.available_replicas);
                    available == i32::try_from(REPLICAS).ok()
                };
                wait_for(&self.deployments, NAME, timeout, is_complete).await?;
                let listed = self.pods.list(&Self::own()).await?;
                let mut places = BTreeMap::new();
                for pod in listed
                    .items
                    .iter()
                    .filter(|pod| is_ready(pod) && is_wanted(pod))
                {
                    *places.entry(node_of(pod).to_owned()).or_default() += 1;
                }
                if places.values().sum::<usize>() == REPLICAS {
                    return anyhow::Ok(places);
                }
                // The status of the Deployment does not show the loss yet.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        match tokio::time::timeout(timeout, reached).await {
            Ok(places) => places,
            Err(_) => bail!("there are not {REPLICAS} ready pods"),
        }
    }

    async fn gone(&self) -> anyhow::Result<()> {
        let gone = async {
            while !self.pods.list(&Self::own()).await?.items.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            anyhow::Ok(())
        };
        let gone = tokio::time::timeout(self.timeout, gone).await;
        gone.context("the pods still exist")?
    }

    fn own() -> ListParams {
        ListParams::default().labels(&format!("app={NAME}"))
    }

    fn act(&self, command: String) {
        self.screen.show(DemoEvent::Act(command));
    }

    fn happens(&self, what: String) {
        self.screen.show(DemoEvent::Fault(what));
    }
}

/// Returns whether a pod is ready and is to stay so.
fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    let is_ready = conditions.any(|c| c.type_ == "Ready" && c.status == "True");
    is_ready && pod.metadata.deletion_timestamp.is_none()
}

fn node_of(pod: &Pod) -> &str {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.node_name.as_deref())
        .unwrap_or_default()
}
