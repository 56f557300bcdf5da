//! Preemption.

use k8s_openapi::api::{policy::v1::PodDisruptionBudget, scheduling::v1::PriorityClass};
use kube::Api;
use serde_json::{Value, from_value, json};

use crate::fixture::{Fixture, requests};

async fn classes(fixture: &Fixture) {
    let classes: Api<PriorityClass> = Api::all(fixture.cluster.client());
    for (name, value, policy) in [
        ("low", 10, "PreemptLowerPriority"),
        ("middle", 100, "PreemptLowerPriority"),
        ("high", 1000, "PreemptLowerPriority"),
        ("polite", 1000, "Never"),
    ] {
        let class = json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": policy});
        let class: PriorityClass = from_value(class).unwrap();
        classes.create(&Default::default(), &class).await.unwrap();
    }
}

fn pod(class: &str, cpu: &str) -> Value {
    let mut spec = requests(json!({"cpu": cpu}));
    spec["priorityClassName"] = json!(class);
    // Without a kubelet, victims must be removed by the test.
    spec["terminationGracePeriodSeconds"] = json!(0);
    json!({"spec": spec})
}

#[tokio::test]
async fn less_important_pods_are_preempted() {
    let fixture = Fixture::start().await;
    classes(&fixture).await;
    fixture.node("n1", json!({})).await;
    fixture.cluster.settled().await.unwrap();
    fixture.pod("small", pod("low", "1")).await;
    fixture.pod("large", pod("low", "3")).await;
    assert_eq!(fixture.nodes_of(&["small", "large"]).await, ["n1", "n1"]);
    fixture.pod("urgent", pod("high", "2")).await;
    assert_eq!(fixture.node_of("urgent").await.as_deref(), Some("n1"));
    // As few victims as possible: the small pod may stay.
    assert!(fixture.exists("small").await && !fixture.exists("large").await);
    let events = fixture.events("large").await;
    let preempted = events
        .iter()
        .find(|e| e.reason.as_deref() == Some("Preempted"));
    let preempted = preempted.expect("there is an event about the victim");
    let uid = fixture
        .pods()
        .get("urgent")
        .await
        .unwrap()
        .metadata
        .uid
        .unwrap();
    let note = format!("Preempted by pod {uid} on node n1");
    assert_eq!(preempted.note.as_deref(), Some(&*note));
    assert_eq!(preempted.action.as_deref(), Some("Preempting"));
    assert_eq!(
        preempted.related.as_ref().unwrap().name.as_deref(),
        Some("urgent")
    );
}

#[tokio::test]
async fn the_nominated_node_is_reserved_until_victims_terminate() {
    let fixture = Fixture::start().await;
    classes(&fixture).await;
    fixture.node("n1", json!({})).await;
    fixture.cluster.settled().await.unwrap();
    let mut victim = pod("low", "3");
    victim["spec"]["terminationGracePeriodSeconds"] = json!(30);
    fixture.pod("victim", victim).await;
    fixture.cluster.settled().await.unwrap();
    fixture.pod("urgent", pod("high", "2")).await;
    assert_eq!(fixture.node_of("urgent").await, None);
    let urgent = fixture.pods().get("urgent").await.unwrap();
    let nominated = urgent.status.unwrap().nominated_node_name;
    assert_eq!(nominated.as_deref(), Some("n1"));
    let victim = fixture.pods().get("victim").await.unwrap();
    assert!(victim.metadata.deletion_timestamp.is_some());
    let conditions = victim.status.unwrap().conditions.unwrap();
    let target = conditions
        .iter()
        .find(|c| c.type_ == "DisruptionTarget")
        .unwrap();
    assert_eq!(target.reason.as_deref(), Some("PreemptionByScheduler"));
    assert_eq!(
        target.message.as_deref(),
        Some("default-scheduler: preempting to accommodate a higher priority pod")
    );
    // Meanwhile, no less important pod takes the room.
    fixture.pod("thief", pod("low", "3")).await;
    assert_eq!(fixture.node_of("thief").await, None);
    let now = kube::api::DeleteParams::default().grace_period(0);
    fixture.pods().delete("victim", &now).await.unwrap();
    assert_eq!(fixture.node_of("urgent").await.as_deref(), Some("n1"));
    assert_eq!(fixture.node_of("thief").await, None);
}

#[tokio::test]
async fn disruption_budgets_are_violated_only_if_nothing_else_helps() {
    let fixture = Fixture::start().await;
    classes(&fixture).await;
    for name in ["n1", "n2"] {
        fixture.node(name, json!({})).await;
    }
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(fixture.cluster.client());
    let budget = json!({
        "metadata": {"name": "guard"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
    });
    let budget = from_value(budget).unwrap();
    budgets.create(&Default::default(), &budget).await.unwrap();
    fixture.cluster.settled().await.unwrap();
    let mut guarded = pod("low", "3");
    guarded["metadata"] = json!({"labels": {"app": "guarded"}});
    guarded["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "n1"});
    fixture.pod("guarded", guarded).await;
    // More important, but nobody guards it.
    let mut other = pod("middle", "3");
    other["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "n2"});
    fixture.pod("other", other).await;
    assert_eq!(fixture.nodes_of(&["guarded", "other"]).await, ["n1", "n2"]);
    fixture.pod("urgent", pod("high", "2")).await;
    assert_eq!(fixture.node_of("urgent").await.as_deref(), Some("n2"));
    assert!(fixture.exists("guarded").await && !fixture.exists("other").await);
    fixture.pod("next", pod("high", "3")).await;
    assert_eq!(fixture.node_of("next").await.as_deref(), Some("n1"));
    assert!(!fixture.exists("guarded").await);
}

#[tokio::test]
async fn pods_with_preemption_policy_never_wait() {
    let fixture = Fixture::start().await;
    classes(&fixture).await;
    fixture.node("n1", json!({})).await;
    fixture.cluster.settled().await.unwrap();
    fixture.pod("first", pod("low", "3")).await;
    fixture.cluster.settled().await.unwrap();
    fixture.pod("polite", pod("polite", "2")).await;
    assert_eq!(
        fixture.message("polite").await,
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    );
    assert!(fixture.exists("first").await);
}
