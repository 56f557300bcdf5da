//! Requests of nodes, decided by the pods on them.

use kubewright_apiserver::registry::payload;
use kubewright_store::{Key, MemoryStore};
use serde_json::{Value, json};

use super::*;

struct Cluster {
    store: Arc<MemoryStore>,
    authorizer: NodeAuthorizer,
}

impl Cluster {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        Self {
            authorizer: NodeAuthorizer::new(store.clone()),
            store,
        }
    }

    async fn put(&self, collection: &str, path: &str, object: Value) {
        let key = Key::new(collection, path);
        self.store.create(key, payload(&object)).await.unwrap();
    }

    /// Creates a pod on a node that refers to one object of each kind.
    async fn pod(&self, name: &str, node: &str, annotations: Value) {
        let pod = json!({
            "metadata": {"name": name, "namespace": "ns", "annotations": annotations},
            "spec": {
                "nodeName": node,
                "serviceAccountName": format!("{name}-account"),
                "volumes": [
                    {"name": "s", "secret": {"secretName": format!("{name}-secret")}},
                    {"name": "m", "configMap": {"name": format!("{name}-map")}},
                    {"name": "c", "persistentVolumeClaim": {"claimName": format!("{name}-claim")}},
                ],
                "resourceClaims": [{"name": "r", "resourceClaimName": format!("{name}-device")}],
            },
        });
        self.put("pods", &format!("ns/{name}"), pod).await;
    }

    /// Asks as the node `n1`: `get secrets ns/name`, `list nodes`, `create serviceaccounts/token ns/name`.
    async fn ask(&self, question: &str) -> Decision {
        self.ask_selecting(question, "").await
    }

    async fn ask_selecting(&self, question: &str, fields: &str) -> Decision {
        let words: Vec<&str> = question.split(' ').collect();
        let (resource, subresource) = words[1].split_once('/').unwrap_or((words[1], ""));
        let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
        let path = words.get(2).copied().unwrap_or_default();
        let (namespace, name) = path.split_once('/').unwrap_or(("", path));
        let target = ResourceAttributes {
            group,
            version: "v1",
            resource,
            subresource,
            namespace,
            name,
            field_selector: Selection::of_text(fields),
            ..ResourceAttributes::default()
        };
        let user = kubelet("n1");
        let attributes = Attributes::of_resource(&user, words[0], target);
        self.authorizer.authorize(&attributes).await
    }

    async fn allows(&self, question: &str) -> bool {
        self.ask(question).await.is_allow()
    }

    async fn reason(&self, question: &str) -> String {
        let decision = self.ask(question).await;
        assert!(!decision.is_allow(), "{question}");
        decision.reason.to_string()
    }
}

fn kubelet(node: &str) -> UserInfo {
    UserInfo {
        name: format!("system:node:{node}"),
        groups: vec!["system:nodes".into()],
        ..UserInfo::default()
    }
}

const UNRELATED: &str = "no relationship found between node 'n1' and this object";

#[tokio::test]
async fn a_node_reads_what_its_pods_refer_to_and_nothing_else() {
    let cluster = Cluster::new();
    cluster.pod("mine", "n1", Value::Null).await;
    cluster.pod("theirs", "n2", Value::Null).await;
    let mirror = json!({"kubernetes.io/config.mirror": "x"});
    cluster.pod("mirror", "n1", mirror).await;
    for question in [
        "get secrets ns/{}-secret",
        "list secrets ns/{}-secret",
        "watch configmaps ns/{}-map",
        "get persistentvolumeclaims ns/{}-claim",
        "update persistentvolumeclaims/status ns/{}-claim",
        "get resourceclaims.resource.k8s.io ns/{}-device",
        "get serviceaccounts ns/{}-account",
        "create serviceaccounts/token ns/{}-account",
    ] {
        let about = |pod: &str| question.replace("{}", pod);
        assert!(cluster.allows(&about("mine")).await, "{question}");
        // A pod that the node created itself must not open doors.
        for other in ["theirs", "mirror", "nobody"] {
            assert_eq!(cluster.reason(&about(other)).await, UNRELATED, "{question}");
        }
        let elsewhere = about("mine").replace("ns/", "other/");
        assert_eq!(cluster.reason(&elsewhere).await, UNRELATED);
    }
    assert!(cluster.allows("get pods ns/mine").await);
    assert!(cluster.allows("get pods ns/mirror").await);
    assert_eq!(cluster.reason("get pods ns/theirs").await, UNRELATED);
}

#[tokio::test]
async fn a_node_reads_the_volumes_of_its_pods_and_their_secrets() {
    let cluster = Cluster::new();
    cluster.pod("mine", "n1", Value::Null).await;
    cluster.pod("theirs", "n2", Value::Null).await;
    for pod in ["mine", "theirs"] {
        let volume = json!({"metadata": {"name": pod}, "spec": {
            "claimRef": {"namespace": "ns", "name": format!("{pod}-claim")},
            "csi": {"nodePublishSecretRef": {"namespace": "far", "name": format!("{pod}-key")}},
        }});
        cluster.put("persistentvolumes", pod, volume).await;
    }
    cluster
        .put("persistentvolumes", "free", json!({"spec": {}}))
        .await;
    assert!(cluster.allows("get persistentvolumes mine").await);
    assert!(cluster.allows("get secrets far/mine-key").await);
    for question in [
        "get persistentvolumes theirs",
        "get persistentvolumes free",
        "get persistentvolumes none",
        "get secrets far/theirs-key",
        "get secrets ns/mine-key",
    ] {
        assert_eq!(cluster.reason(question).await, UNRELATED, "{question}");
    }
}

#[tokio::test]
async fn attachments_and_slices_belong_to_the_node_that_they_name() {
    let cluster = Cluster::new();
    for node in ["n1", "n2"] {
        let object = json!({"metadata": {"name": node}, "spec": {"nodeName": node}});
        for collection in [
            "storage.k8s.io/volumeattachments",
            "resource.k8s.io/resourceslices",
        ] {
            cluster.put(collection, node, object.clone()).await;
        }
    }
    assert!(
        cluster
            .allows("get volumeattachments.storage.k8s.io n1")
            .await
    );
    assert!(
        !cluster
            .allows("get volumeattachments.storage.k8s.io n2")
            .await
    );
    assert!(
        cluster
            .allows("update resourceslices.resource.k8s.io n1")
            .await
    );
    assert!(
        !cluster
            .allows("delete resourceslices.resource.k8s.io n2")
            .await
    );
    let slices = "list resourceslices.resource.k8s.io";
    let selected = cluster.ask_selecting(slices, "spec.nodeName=n1").await;
    assert!(selected.is_allow());
    assert!(
        cluster
            .reason(slices)
            .await
            .ends_with("with nodeName field selector")
    );
}

#[tokio::test]
async fn pods_are_listed_by_the_name_of_the_node() {
    let cluster = Cluster::new();
    for (fields, allowed) in [
        ("spec.nodeName=n1", true),
        ("spec.nodeName==n1,status.phase!=Failed", true),
        ("spec.nodeName=n2", false),
        ("spec.nodeName!=n1", false),
        ("", false),
        ("===", false),
    ] {
        let decision = cluster.ask_selecting("watch pods", fields).await;
        assert_eq!(decision.is_allow(), allowed, "{fields}");
        if !allowed {
            assert_eq!(
                decision.reason.to_string(),
                "can only list/watch pods with spec.nodeName field selector"
            );
        }
    }
}

#[tokio::test]
async fn refusals_say_what_nodes_can_do() {
    let cluster = Cluster::new();
    for (question, reason) in [
        (
            "create secrets ns/s",
            "can only read resources of this type",
        ),
        (
            "get secrets s",
            "can only read namespaced object of this type",
        ),
        ("list configmaps ns/", "No Object name found"),
        (
            "list persistentvolumes",
            "can only get individual resources of this type",
        ),
        (
            "get persistentvolumeclaims/status ns/c",
            "can only get/update/patch this type",
        ),
        (
            "update serviceaccounts ns/a",
            "can only create tokens for individual service accounts",
        ),
        (
            "create serviceaccounts/other ns/a",
            "can only create token subresource of serviceaccount",
        ),
        (
            "list leases.coordination.k8s.io kube-node-lease/",
            "can only get, create, update, patch, or delete a node lease",
        ),
        (
            "get leases.coordination.k8s.io ns/n1",
            r#"can only access leases in the "kube-node-lease" system namespace"#,
        ),
        (
            "get leases.coordination.k8s.io kube-node-lease/n2",
            "can only access node lease with the same name as the requesting node",
        ),
        (
            "get csinodes.storage.k8s.io n2",
            "can only access CSINode with the same name as the requesting node",
        ),
        (
            "list nodes",
            "node 'n1' cannot read all nodes, only its own Node object",
        ),
        (
            "get nodes n2",
            "node 'n1' cannot read 'n2', only its own Node object",
        ),
        ("delete nodes n1", ""),
        ("update pods ns/p", ""),
        ("list deployments.apps", ""),
    ] {
        assert_eq!(cluster.reason(question).await, reason, "{question}");
    }
    for question in [
        "get nodes n1",
        "create nodes",
        "patch nodes/status n1",
        "create leases.coordination.k8s.io kube-node-lease/",
        "update leases.coordination.k8s.io kube-node-lease/n1",
        "create pods ns/",
        "patch pods/status ns/p",
        "create pods/eviction ns/p",
        "list services",
        "create events ns/",
        "create certificatesigningrequests.certificates.k8s.io",
    ] {
        assert!(cluster.allows(question).await, "{question}");
    }
}

#[tokio::test]
async fn it_has_no_opinion_about_others() {
    let cluster = Cluster::new();
    let attributes = |user| {
        Attributes::of_resource(
            user,
            "create",
            ResourceAttributes {
                resource: "nodes",
                ..ResourceAttributes::default()
            },
        )
    };
    let without_group = UserInfo {
        groups: Vec::new(),
        ..kubelet("n1")
    };
    let decision = cluster
        .authorizer
        .authorize(&attributes(&without_group))
        .await;
    assert_eq!(decision, Decision::no_opinion(""));
    let nameless = kubelet("");
    let decision = cluster.authorizer.authorize(&attributes(&nameless)).await;
    let reason = r#"unknown node for user "system:node:""#;
    assert_eq!(decision, Decision::no_opinion(reason));
    let rules = cluster.authorizer.rules_for(&kubelet("n1"), "ns").await;
    assert!(rules.incomplete);
    let rules = cluster.authorizer.rules_for(&without_group, "ns").await;
    assert_eq!(rules, Rules::default());
}
