//! Probes.

use std::time::Duration;

use kubewright_nodes::{Behavior, ProbeKind};
use serde_json::{Value, json};

use crate::fixture::{Fixture, container, is_ready};

fn probed(image: &str, probes: Value) -> Value {
    let mut container = json!({"name": "c", "image": image});
    for (name, probe) in probes.as_object().unwrap() {
        container[name] = probe.clone();
        container[name]["httpGet"] = json!({"port": 80});
    }
    json!({"containers": [container]})
}

#[tokio::test(start_paused = true)]
async fn a_container_is_ready_when_its_probe_succeeds() {
    let fixture = Fixture::start().await;
    fixture.nodes.images().register(
        "slow",
        Behavior::runs().ready_after(Duration::from_secs(12)),
    );
    let spec = probed("slow", json!({"readinessProbe": {"periodSeconds": 5}}));
    let status = fixture.create("p", spec).await;
    assert_eq!(status.phase.as_deref(), Some("Running"));
    assert!(!is_ready(&status) && container(&status).started == Some(true));
    fixture.pass(13).await;
    assert!(!is_ready(&fixture.status("p").await));
    // The run after that.
    fixture.pass(3).await;
    assert!(is_ready(&fixture.status("p").await));
    let events = fixture.events("p").await;
    let text = "Readiness probe failed: HTTP probe failed with statuscode: 500";
    assert!(
        events.contains(&("Unhealthy".to_owned(), text.to_owned())),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_succeeds_from_the_start_makes_ready_at_once() {
    let fixture = Fixture::start().await;
    let spec = probed(
        "nginx",
        json!({"readinessProbe": {}, "livenessProbe": {}, "startupProbe": {}}),
    );
    assert!(is_ready(&fixture.create("p", spec).await));
    let delayed = probed(
        "nginx",
        json!({"readinessProbe": {"initialDelaySeconds": 7}}),
    );
    assert!(!is_ready(&fixture.create("q", delayed).await));
    fixture.pass(8).await;
    assert!(is_ready(&fixture.status("q").await));
}

#[tokio::test(start_paused = true)]
async fn a_failing_probe_takes_readiness_away_after_its_threshold() {
    let fixture = Fixture::start().await;
    let spec = probed(
        "nginx",
        json!({"readinessProbe": {"periodSeconds": 1, "failureThreshold": 3}}),
    );
    assert!(is_ready(&fixture.create("p", spec).await));
    fixture.pass(60).await;
    let probe = fixture.nodes.container("default", "p", "c");
    probe.fail_probe(ProbeKind::Readiness, true).await.unwrap();
    assert!(is_ready(&fixture.status("p").await));
    fixture.pass(3).await;
    assert!(!is_ready(&fixture.status("p").await));
    probe.fail_probe(ProbeKind::Readiness, false).await.unwrap();
    fixture.pass(1).await;
    assert!(is_ready(&fixture.status("p").await));
}

#[tokio::test(start_paused = true)]
async fn a_container_that_is_not_alive_is_restarted() {
    let fixture = Fixture::start().await;
    let tired = Behavior::runs().unhealthy_after(Duration::from_secs(100));
    fixture.nodes.images().register("tired", tired);
    let spec = probed(
        "tired",
        json!({"livenessProbe": {"periodSeconds": 10, "failureThreshold": 3}}),
    );
    fixture.create("p", spec).await;
    fixture.pass(115).await;
    assert_eq!(container(&fixture.status("p").await).restart_count, 0);
    fixture.pass(10).await;
    let status = fixture.status("p").await;
    assert_eq!(container(&status).restart_count, 1);
    assert!(is_ready(&status));
    let events = fixture.events("p").await;
    let text = "Container c failed liveness probe, will be restarted";
    assert!(
        events.contains(&("Killing".to_owned(), text.to_owned())),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn startup_probes_hold_the_others_back() {
    let fixture = Fixture::start().await;
    fixture.nodes.images().register(
        "slow",
        Behavior::runs().ready_after(Duration::from_secs(25)),
    );
    let probes = json!({
        "startupProbe": {"periodSeconds": 10, "failureThreshold": 30},
        "livenessProbe": {"periodSeconds": 1, "failureThreshold": 1},
    });
    let status = fixture.create("p", probed("slow", probes)).await;
    assert_eq!(container(&status).started, Some(false));
    assert!(!is_ready(&status));
    fixture.pass(31).await;
    let status = fixture.status("p").await;
    assert_eq!(
        (container(&status).started, container(&status).restart_count),
        (Some(true), 0)
    );
    assert!(is_ready(&status));
}

#[tokio::test(start_paused = true)]
async fn probes_whose_result_cannot_change_do_not_run() {
    let fixture = Fixture::start().await;
    let spec = probed(
        "nginx",
        json!({"readinessProbe": {"periodSeconds": 1}, "livenessProbe": {"periodSeconds": 1}}),
    );
    fixture.create("p", spec).await;
    fixture.settled().await;
    let before = fixture.cluster.revision().await;
    fixture.pass(3600).await;
    assert_eq!(fixture.cluster.revision().await, before);
    assert_eq!(fixture.running.manager().next_due(), None);
}
