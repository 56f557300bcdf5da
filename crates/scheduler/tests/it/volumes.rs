//! Volumes of pods.

use std::time::Duration;

use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::StorageClass,
};
use kube::{Api, api::Patch};
use serde_json::{Value, from_value, json};

use crate::fixture::Fixture;

/// The end of messages about pods that no deletion of other pods helps.
fn not_helpful(nodes: usize) -> String {
    format!(
        "preemption: 0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling."
    )
}

impl Fixture {
    fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::default_namespaced(self.cluster.client())
    }

    fn volumes(&self) -> Api<PersistentVolume> {
        Api::all(self.cluster.client())
    }

    /// Creates a class whose claims wait for their first pod.
    async fn delayed_class(&self, name: &str, provisioner: &str) {
        let classes: Api<StorageClass> = Api::all(self.cluster.client());
        let class = json!({
            "metadata": {"name": name}, "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        });
        let class = from_value(class).unwrap();
        classes.create(&Default::default(), &class).await.unwrap();
    }

    async fn claim(&self, name: &str, class: &str) {
        let claim = json!({
            "metadata": {"name": name},
            "spec": {
                "storageClassName": class, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        });
        let claim = from_value(claim).unwrap();
        let claims = self.claims();
        claims.create(&Default::default(), &claim).await.unwrap();
    }

    /// Creates a volume of a node.
    async fn volume(&self, name: &str, class: &str, node: &str, size: &str) {
        let is_there = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
        let volume = json!({
            "metadata": {"name": name},
            "spec": {
                "storageClassName": class, "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": size}, "local": {"path": "/data"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [is_there]}]}},
            },
        });
        let volume = from_value(volume).unwrap();
        let volumes = self.volumes();
        volumes.create(&Default::default(), &volume).await.unwrap();
        let available = Patch::Merge(json!({"status": {"phase": "Available"}}));
        volumes
            .patch_status(name, &Default::default(), &available)
            .await
            .unwrap();
    }

    /// Completes the binding of a claim, as the controller of claims does.
    async fn complete(&self, claim: &str, volume: &str) {
        let bound = Patch::Merge(json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": volume},
        }));
        let claims = self.claims();
        claims
            .patch(claim, &Default::default(), &bound)
            .await
            .unwrap();
    }

    /// Returns the node that was selected for a claim.
    async fn selected(&self, claim: &str) -> Option<String> {
        self.cluster.settled().await.unwrap();
        let claim = self.claims().get(claim).await.unwrap();
        let annotations = claim.metadata.annotations?;
        annotations
            .get("volume.kubernetes.io/selected-node")
            .cloned()
    }

    /// Returns the claim of a volume.
    async fn owner(&self, volume: &str) -> Option<String> {
        self.cluster.settled().await.unwrap();
        let volume = self.volumes().get(volume).await.unwrap();
        volume.spec?.claim_ref?.name
    }

    async fn pass(&self, seconds: u64) {
        self.cluster.settled().await.unwrap();
        self.cluster
            .time()
            .advance(Duration::from_secs(seconds))
            .await;
        self.cluster.settled().await.unwrap();
    }
}

fn pod_with(claim: &str) -> Value {
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": claim}});
    json!({"spec": {"volumes": [volume]}})
}

#[tokio::test]
async fn claims_must_exist_and_be_bound_or_wait_for_a_pod() {
    let fixture = Fixture::start().await;
    fixture.node("n1", json!({})).await;
    fixture.cluster.settled().await.unwrap();
    fixture.pod("p", pod_with("data")).await;
    let text = |why: &str| format!("0/1 nodes are available: {why}. {}", not_helpful(1));
    let missing = "persistentvolumeclaim \"data\" not found";
    assert_eq!(fixture.message("p").await, text(missing));
    fixture.claim("data", "").await;
    let unbound = "pod has unbound immediate PersistentVolumeClaims";
    assert_eq!(fixture.message("p").await, text(unbound));
    fixture.volume("pv", "", "n1", "1Gi").await;
    fixture.complete("data", "pv").await;
    assert_eq!(fixture.node_of("p").await.as_deref(), Some("n1"));
    let volume = json!({"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }}}});
    fixture
        .pod("q", json!({"spec": {"volumes": [volume]}}))
        .await;
    let waits =
        "waiting for ephemeral volume controller to create the persistentvolumeclaim \"q-tmp\"";
    assert_eq!(fixture.message("q").await, text(waits));
}

#[tokio::test]
async fn pods_run_where_their_volumes_are() {
    let fixture = Fixture::start().await;
    for name in ["n1", "n2"] {
        fixture.node(name, json!({})).await;
    }
    fixture.volume("pv", "", "n2", "1Gi").await;
    fixture.claim("data", "").await;
    fixture.complete("data", "pv").await;
    fixture.cluster.settled().await.unwrap();
    fixture.pod("p", pod_with("data")).await;
    assert_eq!(fixture.node_of("p").await.as_deref(), Some("n2"));
    let mut elsewhere = pod_with("data");
    elsewhere["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "n1"});
    fixture.pod("q", elsewhere).await;
    let reasons = "1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) didn't match Pod's node affinity/selector";
    let text = format!("0/2 nodes are available: {reasons}. {}", not_helpful(2));
    assert_eq!(fixture.message("q").await, text);
}

#[tokio::test]
async fn volumes_are_bound_before_their_pods() {
    let fixture = Fixture::start().await;
    fixture
        .delayed_class("local", "kubernetes.io/no-provisioner")
        .await;
    for (node, volume, size) in [("n1", "large", "5Gi"), ("n2", "small", "1Gi")] {
        fixture.node(node, json!({})).await;
        fixture.volume(volume, "local", node, size).await;
    }
    fixture.volume("largest", "local", "n1", "9Gi").await;
    for claim in ["a", "b", "c", "d"] {
        fixture.claim(claim, "local").await;
    }
    fixture.cluster.settled().await.unwrap();
    fixture.pod("a", pod_with("a")).await;
    // The smallest volume of the node.
    assert_eq!(fixture.owner("large").await.as_deref(), Some("a"));
    let large = fixture.volumes().get("large").await.unwrap();
    let annotations = large.metadata.annotations.unwrap();
    assert_eq!(annotations["pv.kubernetes.io/bound-by-controller"], "yes");
    assert_eq!(fixture.node_of("a").await, None);
    fixture.complete("a", "large").await;
    assert_eq!(fixture.node_of("a").await.as_deref(), Some("n1"));
    // Nobody chooses a volume twice.
    for claim in ["b", "c"] {
        fixture.pod(claim, pod_with(claim)).await;
    }
    let mut owners = [
        fixture.owner("small").await.unwrap_or_default(),
        fixture.owner("largest").await.unwrap_or_default(),
    ];
    owners.sort();
    assert_eq!(owners, ["b", "c"]);
    fixture.pod("d", pod_with("d")).await;
    let reason = "2 node(s) didn't find available persistent volumes to bind";
    let text = format!("0/2 nodes are available: {reason}. {}", not_helpful(2));
    assert_eq!(fixture.message("d").await, text);
    // A new volume helps.
    fixture.volume("new", "local", "n2", "1Gi").await;
    assert_eq!(fixture.owner("new").await.as_deref(), Some("d"));
}

#[tokio::test(start_paused = true)]
async fn the_node_of_a_provisioned_volume_is_selected_before_the_pod_is_bound() {
    let fixture = Fixture::start().await;
    fixture.delayed_class("disk", "example.com/disk").await;
    for name in ["n1", "n2"] {
        fixture.node(name, json!({})).await;
    }
    fixture.claim("data", "disk").await;
    fixture.cluster.settled().await.unwrap();
    fixture.pod("p", pod_with("data")).await;
    assert_eq!(fixture.selected("data").await.as_deref(), Some("n1"));
    assert_eq!(fixture.node_of("p").await, None);
    // Another pod with the claim runs on that node too.
    fixture.pod("q", pod_with("data")).await;
    assert_eq!(fixture.selected("data").await.as_deref(), Some("n1"));
    // The provisioner cannot serve the node, and the scheduler chooses again.
    let cordoned = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    let nodes = fixture.nodes();
    nodes
        .patch("n1", &Default::default(), &cordoned)
        .await
        .unwrap();
    let reset = json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": null}}});
    let claims = fixture.claims();
    claims
        .patch("data", &Default::default(), &Patch::Merge(reset))
        .await
        .unwrap();
    fixture.pass(2).await;
    assert_eq!(fixture.selected("data").await.as_deref(), Some("n2"));
    fixture.volume("pv", "disk", "n2", "1Gi").await;
    fixture.complete("data", "pv").await;
    fixture.pass(2).await;
    assert_eq!(fixture.nodes_of(&["p", "q"]).await, ["n2", "n2"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_ten_minutes_for_its_volumes() {
    let fixture = Fixture::start().await;
    fixture.delayed_class("disk", "example.com/disk").await;
    fixture.node("n1", json!({})).await;
    fixture.claim("data", "disk").await;
    fixture.cluster.settled().await.unwrap();
    fixture.pod("p", pod_with("data")).await;
    fixture.pass(599).await;
    assert!(fixture.events("p").await.is_empty());
    fixture.pass(2).await;
    let condition = fixture.condition("p").await;
    assert_eq!(condition.reason.as_deref(), Some("SchedulerError"));
    let text =
        "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded";
    assert_eq!(condition.message.as_deref(), Some(text));
    // It is tried again.
    fixture.volume("pv", "disk", "n1", "1Gi").await;
    fixture.complete("data", "pv").await;
    fixture.pass(10).await;
    assert_eq!(fixture.node_of("p").await.as_deref(), Some("n1"));
}
