//! Placement of pods.

use kubewright_scheduler::{Placement, Scheduler};
use serde_json::{Value, json};

use crate::fixture::{Fixture, merge, requests};

#[tokio::test]
async fn pods_are_bound_with_an_event() {
    let fixture = Fixture::start().await;
    fixture.node("n1", json!({})).await;
    fixture.pod("p", json!({})).await;
    assert_eq!(fixture.node_of("p").await.as_deref(), Some("n1"));
    let condition = fixture.condition("p").await;
    assert_eq!(condition.status, "True");
    let events = fixture.events("p").await;
    assert_eq!(events.len(), 1, "{events:?}");
    let event = &events[0];
    assert_eq!(event.reason.as_deref(), Some("Scheduled"));
    assert_eq!(event.action.as_deref(), Some("Binding"));
    assert_eq!(
        event.note.as_deref(),
        Some("Successfully assigned default/p to n1")
    );
    assert_eq!(
        event.reporting_controller.as_deref(),
        Some("default-scheduler")
    );
    assert_eq!(event.type_.as_deref(), Some("Normal"));
}

#[tokio::test]
async fn pods_are_spread_over_equal_nodes_in_a_fixed_order() {
    let mut placements = Vec::new();
    for _ in 0..2 {
        let fixture = Fixture::start().await;
        for name in ["n3", "n1", "n2"] {
            fixture.node(name, json!({})).await;
        }
        fixture.cluster.settled().await.unwrap();
        for name in ["a", "b", "c", "d"] {
            fixture.pod(name, json!({})).await;
            fixture.cluster.settled().await.unwrap();
        }
        placements.push(fixture.nodes_of(&["a", "b", "c", "d"]).await);
    }
    assert_eq!(placements[0], ["n1", "n2", "n3", "n1"]);
    assert_eq!(placements[0], placements[1]);
}

#[tokio::test]
async fn the_seed_determines_the_order_of_equal_nodes() {
    let mut first = std::collections::BTreeSet::new();
    for seed in 1..6 {
        let fixture = Fixture::with(Scheduler::new().seed(seed)).await;
        for name in ["n1", "n2", "n3"] {
            fixture.node(name, json!({})).await;
        }
        fixture.cluster.settled().await.unwrap();
        fixture.pod("p", json!({})).await;
        first.insert(fixture.node_of("p").await.unwrap());
    }
    assert!(first.len() > 1, "{first:?}");
}

#[tokio::test]
async fn the_emptiest_node_is_preferred() {
    let fixture = Fixture::start().await;
    fixture
        .node("n1", json!({"status": {"allocatable": {"cpu": "2"}}}))
        .await;
    fixture
        .node("n2", json!({"status": {"allocatable": {"cpu": "16"}}}))
        .await;
    fixture.cluster.settled().await.unwrap();
    fixture
        .pod(
            "p",
            json!({"spec": requests(json!({"cpu": "1", "memory": "1Gi"}))}),
        )
        .await;
    assert_eq!(fixture.node_of("p").await.as_deref(), Some("n2"));
}

#[tokio::test]
async fn preferences_decide_between_nodes() {
    let fixture = Fixture::start().await;
    let soft = json!([{"key": "k", "value": "v", "effect": "PreferNoSchedule"}]);
    fixture.node("n1", json!({"spec": {"taints": soft}})).await;
    fixture.node("n2", json!({})).await;
    fixture
        .node("n3", json!({"metadata": {"labels": {"disk": "fast"}}}))
        .await;
    fixture.cluster.settled().await.unwrap();
    let fast = json!({"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]});
    let preferred = json!([{"weight": 10, "preference": fast}]);
    let affinity =
        json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}});
    fixture
        .pod("p", json!({"spec": {"affinity": affinity}}))
        .await;
    assert_eq!(fixture.node_of("p").await.as_deref(), Some("n3"));
    fixture.pod("q", json!({})).await;
    assert_eq!(fixture.node_of("q").await.as_deref(), Some("n2"));
}

fn owned(owner: &str) -> Value {
    json!({"metadata": {"labels": {"app": owner}, "ownerReferences": [{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": true,
    }]}})
}

#[tokio::test]
async fn pods_of_one_controller_are_spread() {
    let fixture = Fixture::start().await;
    fixture.node("n1", json!({})).await;
    fixture
        .node(
            "n2",
            json!({"status": {"allocatable": {"cpu": "64", "memory": "64Gi"}}}),
        )
        .await;
    fixture.cluster.settled().await.unwrap();
    for name in ["a", "b", "c", "d"] {
        fixture.pod(name, owned("web")).await;
    }
    let nodes = fixture.nodes_of(&["a", "b", "c", "d"]).await;
    assert_eq!(
        nodes.iter().filter(|node| *node == "n1").count(),
        2,
        "{nodes:?}"
    );
}

fn near(side: &str, app: &str) -> Value {
    let term = json!({
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": app}},
    });
    let mut affinity = json!({});
    affinity[side] = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
    json!({"spec": {"affinity": affinity}})
}

#[tokio::test]
async fn affinity_and_anti_affinity_to_pods_hold() {
    let fixture = Fixture::start().await;
    for name in ["n1", "n2"] {
        fixture.node(name, json!({})).await;
    }
    fixture.cluster.settled().await.unwrap();
    let mut first = near("podAffinity", "db");
    merge(&mut first, &json!({"metadata": {"labels": {"app": "db"}}}));
    fixture.pod("first", first).await;
    let home = fixture.node_of("first").await.unwrap();
    fixture.pod("near", near("podAffinity", "db")).await;
    assert_eq!(
        fixture.node_of("near").await.as_deref(),
        Some(home.as_str())
    );
    fixture.pod("apart", near("podAntiAffinity", "db")).await;
    let apart = fixture.node_of("apart").await.unwrap();
    assert_ne!(apart, home);
    // The pod with anti-affinity keeps others away.
    fixture
        .pod("late", json!({"metadata": {"labels": {"app": "db"}}}))
        .await;
    assert_eq!(
        fixture.node_of("late").await.as_deref(),
        Some(home.as_str())
    );
}

#[tokio::test]
async fn topology_spread_constraints_hold() {
    let fixture = Fixture::start().await;
    for (name, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b")] {
        let labels = json!({"metadata": {"labels": {"zone": zone}}});
        fixture.node(name, labels).await;
    }
    fixture.cluster.settled().await.unwrap();
    let constraint = json!([{
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }]);
    let spec = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"topologySpreadConstraints": constraint}});
    for name in ["a", "b", "c", "d"] {
        fixture.pod(name, spec.clone()).await;
    }
    let nodes = fixture.nodes_of(&["a", "b", "c", "d"]).await;
    assert_eq!(
        nodes.iter().filter(|node| *node == "n3").count(),
        2,
        "{nodes:?}"
    );
}

#[tokio::test]
async fn pods_of_other_schedulers_are_ignored() {
    let fixture = Fixture::with(Scheduler::new().name("one").name("two")).await;
    fixture.node("n1", json!({})).await;
    for name in ["one", "two", "default-scheduler"] {
        fixture
            .pod(name, json!({"spec": {"schedulerName": name}}))
            .await;
    }
    assert_eq!(
        fixture.nodes_of(&["one", "two", "default-scheduler"]).await,
        ["n1", "n1", ""]
    );
    let events = fixture.events("two").await;
    assert_eq!(events[0].reporting_controller.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_function_can_place_pods() {
    let last = Scheduler::new().place_by(|pod, nodes| {
        if pod.metadata.name.as_deref() == Some("none") {
            return Placement::Unschedulable("not today".to_owned());
        }
        match nodes.last() {
            Some(node) => Placement::Node(node.name().to_owned()),
            None => Placement::Unschedulable("nothing there".to_owned()),
        }
    });
    let fixture = Fixture::with(last).await;
    fixture.node("n1", json!({})).await;
    fixture.node("n2", json!({})).await;
    fixture.cluster.settled().await.unwrap();
    fixture.pod("some", json!({})).await;
    fixture.pod("none", json!({})).await;
    assert_eq!(fixture.node_of("some").await.as_deref(), Some("n2"));
    assert_eq!(
        fixture.message("none").await,
        "0/2 nodes are available: not today."
    );
}

#[tokio::test]
async fn many_pods_fill_the_nodes_evenly() {
    let fixture = Fixture::start().await;
    for i in 0..4 {
        let allocatable =
            json!({"status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}}});
        fixture.node(&format!("n{i}"), allocatable).await;
    }
    fixture.cluster.settled().await.unwrap();
    for i in 0..200 {
        fixture.pod(&format!("p{i}"), owned("web")).await;
    }
    fixture.cluster.settled().await.unwrap();
    let pods = fixture.pods().list(&Default::default()).await.unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for pod in pods {
        *counts.entry(pod.spec.unwrap().node_name).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 4);
    assert!(counts.values().all(|count| *count == 50), "{counts:?}");
}
