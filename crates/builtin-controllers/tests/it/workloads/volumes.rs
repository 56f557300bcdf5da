//! Claims and volumes: binding, provisioning, growth, release.

use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim, Pod},
    storage::v1::StorageClass,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::template;
use crate::fixture::Fixture;

const CONTROLLERS: &str = "persistentvolume-binder,persistentvolume-expander,ephemeral-volume,pvc-protection,pv-protection,simulated-volume-provisioner";

fn claims(f: &Fixture) -> Api<PersistentVolumeClaim> {
    Api::default_namespaced(f.client())
}

fn volumes(f: &Fixture) -> Api<PersistentVolume> {
    Api::all(f.client())
}

async fn create_claim(f: &Fixture, name: &str, spec: Value) {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    for (field, value) in spec.as_object().unwrap() {
        claim["spec"][field] = value.clone();
    }
    f.create(claim).await;
    f.settled().await;
}

async fn create_volume(f: &Fixture, name: &str, spec: Value) {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"},
        },
    });
    for (field, value) in spec.as_object().unwrap() {
        volume["spec"][field] = value.clone();
    }
    f.create(volume).await;
    f.settled().await;
}

async fn class(f: &Fixture, name: &str, provisioner: &str, mode: &str) {
    f.create(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode, "allowVolumeExpansion": true,
    }))
    .await;
    f.settled().await;
}

async fn claim(f: &Fixture, name: &str) -> Value {
    json!(claims(f).get(name).await.unwrap())
}

async fn volume(f: &Fixture, name: &str) -> Value {
    json!(volumes(f).get(name).await.unwrap())
}

async fn told(f: &Fixture, name: &str) -> Vec<String> {
    let events = f.events(name).await.into_iter();
    events
        .map(|((reason, message), n)| format!("{n} {reason}: {message}"))
        .collect()
}

async fn delete_claim(f: &Fixture, name: &str) {
    claims(f)
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
}

#[tokio::test]
async fn a_claim_is_bound_to_a_volume_that_suits_it() {
    let f = Fixture::start(CONTROLLERS).await;
    create_claim(&f, "c", json!({})).await;
    assert_eq!(claim(&f, "c").await["status"]["phase"], "Pending");
    assert_eq!(
        told(&f, "c").await,
        [
            "1 FailedBinding: no persistent volumes available for this claim and no storage class is set"
        ]
    );
    create_volume(&f, "small", json!({"capacity": {"storage": "1Mi"}})).await;
    assert_eq!(volume(&f, "small").await["status"]["phase"], "Available");
    create_volume(&f, "v", json!({})).await;
    let bound = claim(&f, "c").await;
    assert_eq!(bound["spec"]["volumeName"], "v");
    let annotations = json!({
        "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes",
    });
    assert_eq!(bound["metadata"]["annotations"], annotations);
    assert_eq!(
        bound["status"],
        json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}})
    );
    let volume = volume(&f, "v").await;
    assert_eq!(volume["status"]["phase"], "Bound");
    let owner = &volume["spec"]["claimRef"];
    assert_eq!(
        [&owner["kind"], &owner["name"]],
        ["PersistentVolumeClaim", "c"]
    );
    assert_eq!(owner["uid"], bound["metadata"]["uid"]);
    assert_eq!(
        volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"],
        "yes"
    );
    assert_eq!(told(&f, "c").await.len(), 1);
}

#[tokio::test]
async fn a_claim_may_name_its_volume_and_a_volume_its_claim() {
    let f = Fixture::start(CONTROLLERS).await;
    create_claim(&f, "named", json!({"volumeName": "v1"})).await;
    assert_eq!(claim(&f, "named").await["status"]["phase"], "Pending");
    create_volume(&f, "v1", json!({})).await;
    let bound = claim(&f, "named").await;
    assert_eq!(bound["status"]["phase"], "Bound");
    assert!(bound["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"].is_null());
    create_claim(&f, "late", json!({"volumeName": "v1"})).await;
    assert_eq!(
        told(&f, "late").await,
        ["1 FailedBinding: volume \"v1\" already bound to a different claim."]
    );
    create_claim(
        &f,
        "large",
        json!({"volumeName": "v2", "resources": {"requests": {"storage": "9Gi"}}}),
    )
    .await;
    create_volume(&f, "v2", json!({})).await;
    assert_eq!(
        told(&f, "large").await,
        ["1 VolumeMismatch: Cannot bind to requested volume \"v2\": requested PV is too small"]
    );
    create_volume(
        &f,
        "v3",
        json!({"claimRef": {"namespace": "default", "name": "meant"}}),
    )
    .await;
    assert_eq!(volume(&f, "v3").await["status"]["phase"], "Available");
    create_claim(&f, "other", json!({"storageClassName": ""})).await;
    create_claim(&f, "meant", json!({})).await;
    assert_eq!(claim(&f, "meant").await["spec"]["volumeName"], "v3");
}

#[tokio::test]
async fn a_volume_is_released_when_its_claim_is_gone() {
    let f = Fixture::start(CONTROLLERS).await;
    create_volume(&f, "kept", json!({})).await;
    create_claim(&f, "c1", json!({})).await;
    // A volume in use is protected.
    volumes(&f)
        .delete("kept", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(volume(&f, "kept").await["status"]["phase"], "Bound");
    delete_claim(&f, "c1").await;
    assert!(volumes(&f).get_opt("kept").await.unwrap().is_none());
    create_volume(&f, "v", json!({"persistentVolumeReclaimPolicy": "Delete"})).await;
    create_claim(&f, "c2", json!({})).await;
    delete_claim(&f, "c2").await;
    let failed = volume(&f, "v").await;
    assert_eq!(failed["status"]["phase"], "Failed");
    let message =
        "error getting deleter volume plugin for volume \"v\": no deletable volume plugin matched";
    assert_eq!(failed["status"]["message"], message);
    assert_eq!(
        told(&f, "v").await,
        [format!("1 VolumeFailedDelete: {message}")]
    );
    // A new claim of the same name is another one.
    create_claim(&f, "c2", json!({})).await;
    assert_eq!(claim(&f, "c2").await["status"]["phase"], "Pending");
}

#[tokio::test]
async fn a_retained_volume_stays_released() {
    let f = Fixture::start(CONTROLLERS).await;
    create_volume(&f, "v", json!({})).await;
    create_claim(&f, "c", json!({})).await;
    delete_claim(&f, "c").await;
    assert_eq!(volume(&f, "v").await["status"]["phase"], "Released");
    let free = Patch::Merge(json!({"spec": {"claimRef": null}}));
    volumes(&f)
        .patch("v", &PatchParams::default(), &free)
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(volume(&f, "v").await["status"]["phase"], "Available");
}

#[tokio::test]
async fn a_claim_without_its_volume_is_lost() {
    let f = Fixture::start(CONTROLLERS).await;
    create_volume(&f, "v", json!({})).await;
    create_claim(&f, "c", json!({})).await;
    let unprotected = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    volumes(&f)
        .delete("v", &DeleteParams::default())
        .await
        .unwrap();
    volumes(&f)
        .patch("v", &PatchParams::default(), &unprotected)
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(claim(&f, "c").await["status"], json!({"phase": "Lost"}));
    assert_eq!(
        told(&f, "c").await,
        ["1 ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!"]
    );
}

#[tokio::test]
async fn others_provision_the_volumes_of_their_classes() {
    let f = Fixture::start(CONTROLLERS).await;
    create_claim(&f, "none", json!({"storageClassName": "x"})).await;
    assert_eq!(
        told(&f, "none").await,
        ["1 ProvisioningFailed: storageclass.storage.k8s.io \"x\" not found"]
    );
    class(&f, "x", "example.com/disk", "Immediate").await;
    let waiting = claim(&f, "none").await;
    let annotations = &waiting["metadata"]["annotations"];
    for key in [
        "volume.kubernetes.io/storage-provisioner",
        "volume.beta.kubernetes.io/storage-provisioner",
    ] {
        assert_eq!(annotations[key], "example.com/disk");
    }
    let told = told(&f, "none").await;
    assert!(
        told[0].starts_with("1 ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'example.com/disk' or manually"),
        "{told:?}"
    );
    class(&f, "local", "kubernetes.io/no-provisioner", "Immediate").await;
    create_claim(&f, "local", json!({"storageClassName": "local"})).await;
    assert_eq!(
        self::told(&f, "local").await,
        ["1 ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner"]
    );
}

#[tokio::test]
async fn a_simulated_volume_is_made_grown_and_deleted() {
    let f = Fixture::start(CONTROLLERS).await;
    class(&f, "now", "kubewright.dev/simulated", "Immediate").await;
    create_claim(&f, "c", json!({"storageClassName": "now"})).await;
    let bound = claim(&f, "c").await;
    assert_eq!(bound["status"]["phase"], "Bound");
    let name = bound["spec"]["volumeName"].as_str().unwrap();
    assert_eq!(
        name,
        format!("pvc-{}", bound["metadata"]["uid"].as_str().unwrap())
    );
    let made = volume(&f, name).await;
    assert_eq!(made["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    assert_eq!(
        made["metadata"]["annotations"],
        json!({"pv.kubernetes.io/provisioned-by": "kubewright.dev/simulated"})
    );
    let larger = json!({"spec": {"resources": {"requests": {"storage": "3Gi"}}}});
    claims(&f)
        .patch("c", &PatchParams::default(), &Patch::Merge(larger))
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(claim(&f, "c").await["status"]["capacity"]["storage"], "3Gi");
    assert_eq!(volume(&f, name).await["spec"]["capacity"]["storage"], "3Gi");
    let told = told(&f, "c").await;
    for text in [
        "1 ExternalExpanding: waiting for an external controller to expand this PVC",
        "1 VolumeResizeSuccessful: Resize volume succeeded",
        &format!("1 ProvisioningSucceeded: Successfully provisioned volume {name}"),
    ] {
        assert!(told.contains(&text.to_owned()), "{text}: {told:?}");
    }
    delete_claim(&f, "c").await;
    assert!(volumes(&f).get_opt(name).await.unwrap().is_none());
}

#[tokio::test]
async fn a_claim_can_wait_for_its_first_pod() {
    let f = Fixture::start(CONTROLLERS).await;
    f.create(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
        "spec": {"providerID": "kubewright://n1"},
    }))
    .await;
    f.settled().await;
    let classes: Api<StorageClass> = Api::all(f.client());
    assert_eq!(
        classes.get("standard").await.unwrap().provisioner,
        "kubewright.dev/simulated"
    );
    create_claim(&f, "c", json!({})).await;
    assert_eq!(claim(&f, "c").await["spec"]["storageClassName"], "standard");
    assert_eq!(
        told(&f, "c").await,
        ["1 WaitForFirstConsumer: waiting for first consumer to be created before binding"]
    );
    f.create(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "nodeName": "n1", "containers": [{"name": "c", "image": "i"}],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
                {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }}},
            ],
        },
    }))
    .await;
    f.settled().await;
    // The scheduler selects the node of the pod.
    let selected =
        json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}});
    for name in ["c", "p-tmp"] {
        assert_eq!(claim(&f, name).await["status"]["phase"], "Pending");
        claims(&f)
            .patch(name, &PatchParams::default(), &Patch::Merge(&selected))
            .await
            .unwrap();
    }
    f.settled().await;
    let bound = claim(&f, "c").await;
    assert_eq!(bound["status"]["phase"], "Bound");
    let made = volume(&f, bound["spec"]["volumeName"].as_str().unwrap()).await;
    let terms = &made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
    assert_eq!(terms[0]["matchExpressions"][0]["values"], json!(["n1"]));
    // The ephemeral volume of the pod has a claim too, which belongs to it.
    let own = claim(&f, "p-tmp").await;
    assert_eq!(own["status"]["phase"], "Bound");
    assert_eq!(own["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(own["metadata"]["ownerReferences"][0]["kind"], "Pod");
    // A claim in use is protected.
    delete_claim(&f, "c").await;
    assert!(claims(&f).get_opt("c").await.unwrap().is_some());
    f.pods()
        .delete("p", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    f.settled().await;
    assert!(claims(&f).get_opt("c").await.unwrap().is_none());
}

#[tokio::test]
async fn a_claim_that_was_not_made_for_the_pod_is_not_its_ephemeral_volume() {
    let f = Fixture::start(CONTROLLERS).await;
    create_claim(&f, "p-tmp", json!({})).await;
    f.create(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }}}],
        },
    }))
    .await;
    let text = "ephemeral volume tmp: PVC default/p-tmp was not created for pod default/p (pod is not owner)";
    let is_told = async || {
        f.events("p")
            .await
            .contains_key(&("FailedBinding".to_owned(), text.to_owned()))
    };
    while !is_told().await {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn stateful_sets_with_claims_run_on_simulated_nodes() {
    let cluster = kubewright_testing::TestCluster::builder()
        .nodes(2)
        .start()
        .await;
    let list = format!("statefulset,{CONTROLLERS}");
    let controllers = kubewright_builtin_controllers::Controllers::parse(&list).unwrap();
    let f = Fixture::without(cluster).with(&controllers);
    f.settled().await;
    f.create(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "web"}},
            "template": template("nginx", json!({})),
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }],
        },
    }))
    .await;
    f.cluster
        .time()
        .advance(std::time::Duration::from_secs(60))
        .await;
    f.settled().await;
    for name in ["db-0", "db-1"] {
        let pod: Pod = f.pods().get(name).await.unwrap();
        assert!(super::is_ready(&pod), "{name}");
        assert_eq!(
            claim(&f, &format!("data-{}", pod.name_any())).await["status"]["phase"],
            "Bound"
        );
    }
}
