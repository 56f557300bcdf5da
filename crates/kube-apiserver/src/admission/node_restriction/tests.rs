//! Writes of nodes, allowed and refused.

use kubewright_apiserver::{auth::AlwaysDeny, request::UserInfo};
use serde_json::json;

use super::*;
use crate::admission::testing::Scene;

fn kubelet(node: &str) -> UserInfo {
    UserInfo {
        name: format!("system:node:{node}"),
        groups: vec!["system:nodes".into()],
        ..UserInfo::default()
    }
}

/// Returns the requests of the node `n1` for a resource or a subresource.
fn scene(group: &str, resource: &str, subresource: &str) -> Scene {
    Scene::at(group, resource, subresource)
        .with_user(kubelet("n1"))
        .with_authorizer(std::sync::Arc::new(AlwaysDeny))
}

fn plugin(scene: &Scene) -> NodeRestriction {
    NodeRestriction::new(scene.store())
}

async fn created(scene: &Scene, object: &Value) -> Result<(), String> {
    let done = scene.mutate(&plugin(scene), &mut object.clone()).await;
    done.map_err(|status| status.message)
}

async fn updated(scene: &Scene, old: &Value, new: &Value) -> Result<(), String> {
    let done = scene.mutate_update(&plugin(scene), old, new).await;
    done.map_err(|status| status.message)
}

async fn deleted(scene: &Scene, old: &Value) -> Result<(), String> {
    let done = scene.mutate_delete(&plugin(scene), old).await;
    done.map_err(|status| status.message)
}

fn refused(message: &str) -> Result<(), String> {
    Err(message.to_owned())
}

fn with(object: &Value, patch: Value) -> Value {
    let mut object = object.clone();
    kubewright_machinery::merge_patch::apply(&mut object, patch).expect("a patch");
    object
}

fn mirror() -> Value {
    json!({
        "metadata": {
            "name": "p",
            "annotations": {"kubernetes.io/config.mirror": "x"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1", "controller": true},
            ],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    })
}

#[tokio::test]
async fn only_nodes_are_restricted() {
    let scene = Scene::at("", "nodes", "").with_user(UserInfo {
        name: "system:node:n1".into(),
        ..UserInfo::default()
    });
    let other = json!({"metadata": {"name": "n2"}});
    assert_eq!(created(&scene, &other).await, Ok(()));
    let nameless = Scene::at("", "nodes", "").with_user(kubelet(""));
    assert_eq!(
        created(&nameless, &other).await,
        refused(r#"nodes "n2" is forbidden: could not determine node from user "system:node:""#)
    );
}

#[tokio::test]
async fn a_node_creates_mirrors_of_its_own_pods_only() {
    let scene = scene("", "pods", "");
    let pod = mirror();
    assert_eq!(
        created(&scene, &pod).await,
        refused(r#"node "n1" not found"#)
    );
    let node = json!({"metadata": {"name": "n1", "uid": "u1"}});
    scene.put("nodes", "n1", node).await;
    assert_eq!(created(&scene, &pod).await, Ok(()));
    let own = |patch: Value| {
        let owner = with(&pod["metadata"]["ownerReferences"][0], patch);
        json!({"metadata": {"ownerReferences": [owner]}})
    };
    let cases = [
        (
            json!({"metadata": {"annotations": null}}),
            r#"pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods"#,
        ),
        (
            json!({"spec": {"nodeName": "n2"}}),
            r#"node "n1" can only create pods with spec.nodeName set to itself"#,
        ),
        (
            json!({"metadata": {"ownerReferences": null}}),
            r#"node "n1" can only create pods with an owner reference set to itself"#,
        ),
        (
            json!({"metadata": {"ownerReferences": [{}, {}]}}),
            r#"node "n1" can only create pods with a single owner reference set to itself"#,
        ),
        (
            own(json!({"name": "n2"})),
            r#"node "n1" can only create pods with an owner reference set to itself"#,
        ),
        (
            own(json!({"controller": null})),
            r#"node "n1" can only create pods with a controller owner reference set to itself"#,
        ),
        (
            own(json!({"blockOwnerDeletion": true})),
            r#"node "n1" must not set blockOwnerDeletion on an owner reference"#,
        ),
        (
            own(json!({"uid": "u2"})),
            "node n1 UID mismatch: expected u2 got u1",
        ),
        (
            json!({"spec": {"serviceAccountName": "a"}}),
            r#"node "n1" can not create pods that reference serviceaccounts"#,
        ),
        (
            json!({"spec": {"imagePullSecrets": [{"name": "s"}]}}),
            r#"node "n1" can not create pods that reference secrets"#,
        ),
        (
            json!({"spec": {"volumes": [{"name": "v", "configMap": {}}]}}),
            r#"node "n1" can not create pods that reference configmaps (via configmap volumes)"#,
        ),
        (
            json!({"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}}),
            r#"node "n1" can not create pods that reference persistentvolumeclaims"#,
        ),
        (
            json!({"spec": {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}}),
            r#"node "n1" can not create pods that reference serviceaccounts (via projected volumes)"#,
        ),
        (
            json!({"spec": {"volumes": [{"name": "v", "newest": {}}]}}),
            r#"error checking mirror pod for API references: unknown volume type for volume  "v""#,
        ),
    ];
    for (patch, cause) in cases {
        let message = format!(r#"pods "p" is forbidden: {cause}"#);
        assert_eq!(created(&scene, &with(&pod, patch)).await, Err(message));
    }
    let plain = with(
        &pod,
        json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}),
    );
    assert_eq!(created(&scene, &plain).await, Ok(()));
    assert_eq!(
        updated(&scene, &pod, &pod).await,
        refused(
            r#"pods "p" is forbidden: unexpected operation "UPDATE", node "n1" can only create and delete mirror pods"#
        )
    );
}

#[tokio::test]
async fn a_node_deletes_and_evicts_the_pods_that_it_runs() {
    let delete = scene("", "pods", "");
    let evict = scene("", "pods", "eviction");
    let eviction = json!({"metadata": {"name": "p"}});
    let mut pod = mirror();
    assert_eq!(
        deleted(&delete, &pod).await,
        refused(r#"pod "p" not found"#)
    );
    for scene in [&delete, &evict] {
        scene.put("pods", "ns/p", pod.clone()).await;
    }
    assert_eq!(deleted(&delete, &pod).await, Ok(()));
    assert_eq!(created(&evict, &eviction).await, Ok(()));
    pod["spec"]["nodeName"] = json!("n2");
    for scene in [&delete, &evict] {
        scene.put("pods", "ns/p", pod.clone()).await;
    }
    assert_eq!(
        deleted(&delete, &pod).await,
        refused(
            r#"pods "p" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself"#
        )
    );
    assert_eq!(
        created(&evict, &eviction).await,
        refused(
            r#"pods "p" is forbidden: node n1 can only evict pods with spec.nodeName set to itself"#
        )
    );
    let binding = scene("", "pods", "binding");
    assert_eq!(
        created(&binding, &eviction).await,
        refused(
            r#"pods "p" is forbidden: unexpected pod subresource "binding", only 'status' and 'eviction' are allowed"#
        )
    );
}

#[tokio::test]
async fn a_node_reports_the_status_of_its_pods_and_changes_nothing_else() {
    let scene = scene("", "pods", "status");
    let pod = mirror();
    let running = with(&pod, json!({"status": {"phase": "Running"}}));
    assert_eq!(updated(&scene, &pod, &running).await, Ok(()));
    let cases = [
        (
            json!({"metadata": {"labels": {"a": "b"}}}),
            r#"node "n1" cannot update labels through pod status"#,
        ),
        (
            json!({"status": {"resourceClaimStatuses": [{"name": "a"}]}}),
            r#"node "n1" cannot update resource claim statues"#,
        ),
        (
            json!({"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c"}}}),
            r#"node "n1" cannot update extended resource claim status"#,
        ),
    ];
    for (patch, cause) in cases {
        let message = format!(r#"pods "p" is forbidden: {cause}"#);
        assert_eq!(
            updated(&scene, &pod, &with(&pod, patch)).await,
            Err(message)
        );
    }
    let elsewhere = with(&pod, json!({"spec": {"nodeName": "n2"}}));
    let refusal = updated(&scene, &elsewhere, &elsewhere).await;
    assert!(refusal.is_err_and(|e| e.contains("can only update pod status for pods with")));
}

#[tokio::test]
async fn a_node_writes_its_own_object_without_taints_and_labels_that_steer_pods() {
    let scene = scene("", "nodes", "");
    let node = json!({"metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}}});
    assert_eq!(created(&scene, &node).await, Ok(()));
    let other = json!({"metadata": {"name": "n2"}});
    let not_allowed = r#"nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2""#;
    assert_eq!(created(&scene, &other).await, refused(not_allowed));
    assert_eq!(deleted(&scene, &other).await, refused(not_allowed));
    let labels =
        json!({"metadata": {"labels": {"k8s.io/b": "1", "node-restriction.kubernetes.io/a": "1"}}});
    assert_eq!(
        created(&scene, &with(&node, labels.clone())).await,
        refused(
            r#"nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: k8s.io/b, node-restriction.kubernetes.io/a"#
        )
    );
    let cases = [
        (
            labels,
            "is not allowed to modify labels: k8s.io/b, node-restriction.kubernetes.io/a",
        ),
        (
            json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
            r#"node "n1" is not allowed to modify taints"#,
        ),
        (
            json!({"metadata": {"ownerReferences": [{"name": "x"}]}}),
            r#"node "n1" is not allowed to modify ownerReferences"#,
        ),
        (
            json!({"spec": {"configSource": {}}}),
            r#"node "n1" is not allowed to update configSource to a new non-nil configSource"#,
        ),
    ];
    for (patch, cause) in cases {
        let message = format!(r#"nodes "n1" is forbidden: {cause}"#);
        assert_eq!(
            updated(&scene, &node, &with(&node, patch)).await,
            Err(message)
        );
    }
    let fine = with(
        &node,
        json!({"metadata": {"labels": {"example.com/x": "1"}}}),
    );
    assert_eq!(updated(&scene, &node, &fine).await, Ok(()));
}

#[tokio::test]
async fn a_node_requests_tokens_that_its_pods_name() {
    let scene = scene("", "serviceaccounts", "token");
    let request = |spec: Value| json!({"metadata": {"name": "a"}, "spec": spec});
    let bound = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"});
    let mut pod = json!({
        "metadata": {"name": "p", "uid": "u"},
        "spec": {"nodeName": "n1", "volumes": [
            {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"audience": "vault"}}]}},
            {"name": "d", "csi": {"driver": "d.example.com"}},
        ]},
    });
    let driver = json!({"spec": {"tokenRequests": [{"audience": "driver"}]}});
    scene
        .put("storage.k8s.io/csidrivers", "d.example.com", driver)
        .await;
    scene.put("pods", "ns/p", pod.clone()).await;
    let ask = async |audiences: &[&str]| {
        let spec = json!({"boundObjectRef": bound, "audiences": audiences});
        created(&scene, &request(spec)).await
    };
    assert_eq!(ask(&["vault"]).await, Ok(()));
    assert_eq!(ask(&["driver"]).await, Ok(()));
    let refusal = |cause: &str| Err(format!(r#"serviceaccounts "a" is forbidden: {cause}"#));
    assert_eq!(
        ask(&["other"]).await,
        refusal(
            r#"audience "other" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience"#
        )
    );
    assert_eq!(
        ask(&["vault", "driver"]).await,
        refusal("node may only request 0 or 1 audiences")
    );
    for (reference, cause) in [
        (Value::Null, "node requested token not bound to a pod"),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "name": "p"}),
            "node requested token with a pod binding without a uid",
        ),
        (
            with(&bound, json!({"uid": "v"})),
            "the UID in the bound object reference (v) does not match the UID in record. The object might have been deleted and then recreated",
        ),
    ] {
        let spec = json!({"boundObjectRef": reference});
        assert_eq!(created(&scene, &request(spec)).await, refusal(cause));
    }
    pod["spec"]["nodeName"] = json!("n2");
    scene.put("pods", "ns/p", pod).await;
    assert_eq!(
        ask(&["vault"]).await,
        refusal("node requested token bound to a pod scheduled on a different node")
    );
}

#[tokio::test]
async fn leases_csi_nodes_slices_and_claims_are_those_of_the_node() {
    let named = |name: &str| json!({"metadata": {"name": name}});
    let leases = || scene("coordination.k8s.io", "leases", "");
    assert!(created(&leases(), &named("n1")).await.is_err_and(|e| {
        e.ends_with(r#"can only access leases in the "kube-node-lease" system namespace"#)
    }));
    let leases = leases().in_namespace(LEASES);
    assert_eq!(created(&leases, &named("n1")).await, Ok(()));
    let refusal = created(&leases, &named("n2")).await;
    assert!(refusal.is_err_and(|e| e.contains("can only access node lease with the same name")));
    let csi = scene("storage.k8s.io", "csinodes", "");
    assert_eq!(created(&csi, &named("n1")).await, Ok(()));
    assert!(created(&csi, &named("n2")).await.is_err());

    let slices = scene("resource.k8s.io", "resourceslices", "");
    let slice = |node: &str| json!({"metadata": {"name": "s"}, "spec": {"nodeName": node}});
    assert_eq!(created(&slices, &slice("n1")).await, Ok(()));
    assert!(created(&slices, &slice("n2")).await.is_err());
    assert_eq!(deleted(&slices, &slice("n1")).await, Ok(()));
    assert!(deleted(&slices, &slice("n2")).await.is_err());

    let claims = scene("", "persistentvolumeclaims", "status");
    let claim = json!({"metadata": {"name": "c"}, "spec": {}, "status": {}});
    let grown = with(&claim, json!({"status": {"capacity": {"storage": "1Gi"}}}));
    assert_eq!(updated(&claims, &claim, &grown).await, Ok(()));
    let labelled = with(&claim, json!({"metadata": {"labels": {"a": "b"}}}));
    let refusal = updated(&claims, &claim, &labelled).await;
    assert!(refusal.is_err_and(|e| e.ends_with("status.conditions: metadata")));
    let whole = scene("", "persistentvolumeclaims", "");
    let refusal = updated(&whole, &claim, &claim).await;
    assert!(refusal.is_err_and(|e| e.ends_with("may only update PVC status")));
}
