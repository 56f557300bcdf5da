//! Watches through selectors: what comes into view is added, what goes out of view is deleted.

use kubewright_testing::TestCluster;
use serde_json::json;

use crate::http_client::{Http, MAPS, event, labelled, map, map_with, revision_of};

const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test]
async fn a_label_that_changes_moves_objects_in_and_out_of_view() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let query = format!(
        "resourceVersion={}&labelSelector=colour%3Dred",
        cluster.revision().await
    );
    let mut watch = http.watch(MAPS, &query).await;

    http.post(MAPS, labelled("a", "colour", "blue")).await.ok();
    http.post(MAPS, labelled("b", "colour", "red")).await.ok();
    assert_eq!(watch.step().await, event("ADDED", "b"));

    let entered = http
        .put(&format!("{MAPS}/a"), labelled("a", "colour", "red"))
        .await
        .ok();
    assert_eq!(
        watch.next().await.unwrap(),
        json!({"type": "ADDED", "object": entered})
    );

    let mut still = labelled("a", "colour", "red");
    still["data"] = json!({"value": "last seen"});
    let still = http.put(&format!("{MAPS}/a"), still).await.ok();
    assert_eq!(
        watch.next().await.unwrap(),
        json!({"type": "MODIFIED", "object": still})
    );

    // What leaves is shown as it was last seen, at the revision at which it left.
    let left = http
        .put(&format!("{MAPS}/a"), labelled("a", "colour", "blue"))
        .await
        .ok();
    let mut last_seen = still.clone();
    last_seen["metadata"]["resourceVersion"] = left["metadata"]["resourceVersion"].clone();
    assert_eq!(
        watch.next().await.unwrap(),
        json!({"type": "DELETED", "object": last_seen})
    );

    // Out of view nothing is seen, not even the end.
    http.put(&format!("{MAPS}/a"), map_with("a", "unseen"))
        .await
        .ok();
    http.delete(&format!("{MAPS}/a")).await.ok();
    http.delete(&format!("{MAPS}/b")).await.ok();
    assert_eq!(watch.step().await, event("DELETED", "b"));
}

#[tokio::test]
async fn a_field_that_changes_moves_objects_in_and_out_of_view() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let query = format!(
        "resourceVersion={}&fieldSelector=status.phase%3DRunning",
        cluster.revision().await
    );
    let mut watch = http.watch(PODS, &query).await;
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    });
    http.post(PODS, pod).await.ok();
    let phase = async |phase: &str| {
        let patch = json!({"status": {"phase": phase}});
        http.patch(&format!("{PODS}/p/status"), patch).await.ok()
    };
    let running = phase("Running").await;
    assert_eq!(
        watch.next().await.unwrap(),
        json!({"type": "ADDED", "object": running})
    );
    let failed = phase("Failed").await;
    let gone = watch.next().await.unwrap();
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(gone["object"]["status"]["phase"], "Running");
    assert_eq!(revision_of(&gone["object"]), revision_of(&failed));
    phase("Running").await;
    assert_eq!(watch.step().await, event("ADDED", "p"));
    http.delete(&format!("{PODS}/p?gracePeriodSeconds=0"))
        .await
        .ok();
    let mut step = watch.step().await;
    if step.0 == "MODIFIED" {
        // The mark of a deletion may be seen before the deletion.
        step = watch.step().await;
    }
    assert_eq!(step, event("DELETED", "p"));
}

#[tokio::test]
async fn the_initial_events_go_through_the_selector() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for (name, colour) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        http.post(MAPS, labelled(name, "colour", colour)).await.ok();
    }
    http.post(MAPS, map("d")).await.ok();
    for (selector, wanted) in [
        ("labelSelector=colour", vec!["a", "b", "c"]),
        ("labelSelector=%21colour", vec!["d"]),
        ("labelSelector=colour+in+%28blue%2Cgreen%29", vec!["b"]),
        ("labelSelector=colour+notin+%28red%29", vec!["b", "d"]),
        ("labelSelector=colour%21%3Dred", vec!["b", "d"]),
        ("fieldSelector=metadata.name%21%3Da", vec!["b", "c", "d"]),
        (
            "labelSelector=colour%3Dred&fieldSelector=metadata.name%3Dc",
            vec!["c"],
        ),
        (
            "fieldSelector=metadata.namespace%3Ddefault",
            vec!["a", "b", "c", "d"],
        ),
    ] {
        let mut watch = http
            .watch(MAPS, &format!("{selector}&timeoutSeconds=1000"))
            .await;
        for name in &wanted {
            assert_eq!(watch.step().await, event("ADDED", name), "{selector}");
        }
        // And a list agrees.
        assert_eq!(
            http.get(&format!("{MAPS}?{selector}")).await.names(),
            wanted,
            "{selector}"
        );
    }
}

#[tokio::test]
async fn an_object_deleted_and_made_again_is_two_objects() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let from = cluster.revision().await;
    let first = http.post(MAPS, map("a")).await.ok();
    http.delete(&format!("{MAPS}/a")).await.ok();
    let second = http.post(MAPS, map("a")).await.ok();
    let mut watch = http.watch(MAPS, &format!("resourceVersion={from}")).await;
    assert_eq!(watch.next().await.unwrap()["object"], first);
    assert_eq!(watch.step().await, event("DELETED", "a"));
    assert_eq!(
        watch.next().await.unwrap(),
        json!({"type": "ADDED", "object": second})
    );
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
}
