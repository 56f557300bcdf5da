//! Probes.

use std::time::Duration;

use k8s_openapi::api::core::v1::PodStatus;
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
    // The next run.
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
async fn a_container_whose_probe_succeeds_at_first_is_ready_immediately() {
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
async fn readiness_ends_after_the_failure_threshold() {
    let fixture = Fixture::start().await;
    let spec = probed(
        "nginx",
        json!({"readinessProbe": {"periodSeconds": 1, "failureThreshold": 3}}),
    );
    assert!(is_ready(&fixture.create("p", spec).await));
    fixture.pass(60).await;
    let probe = fixture.nodes.container("default", "p", "c");
    probe.fail_probe(ProbeKind::Readiness).await.unwrap();
    assert!(is_ready(&fixture.status("p").await));
    fixture.pass(3).await;
    assert!(!is_ready(&fixture.status("p").await));
    probe.restore_probe(ProbeKind::Readiness).await.unwrap();
    fixture.pass(1).await;
    assert!(is_ready(&fixture.status("p").await));
}

#[tokio::test(start_paused = true)]
async fn readiness_can_flap() {
    let fixture = Fixture::start().await;
    let flaky = Behavior::runs()
        .ready_after(Duration::from_secs(5))
        .flaps(Duration::from_secs(20), Duration::from_secs(10));
    fixture.nodes.images().register("flaky", flaky);
    let probe = json!({"periodSeconds": 1, "failureThreshold": 1});
    let spec = probed("flaky", json!({"readinessProbe": probe}));
    let status = fixture.create("p", spec).await;
    let mut seen = vec![is_ready(&status)];
    // In the middle of each phase.
    for seconds in [15, 15, 15, 15] {
        fixture.pass(seconds).await;
        seen.push(is_ready(&fixture.status("p").await));
    }
    assert_eq!(seen, [false, true, false, true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_container_that_is_held_back_does_not_start_again() {
    let fixture = Fixture::start().await;
    fixture.run("p", "nginx", "Always").await;
    let control = fixture.nodes.container("default", "p", "c");
    control.hold_start().await.unwrap();
    control.exit(1).await.unwrap();
    fixture.pass(600).await;
    let status = fixture.status("p").await;
    assert_eq!(container(&status).restart_count, 0);
    assert!(!is_ready(&status));
    control.release_start().await.unwrap();
    fixture.pass(600).await;
    let status = fixture.status("p").await;
    assert_eq!(container(&status).restart_count, 1);
    assert!(is_ready(&status));
}

#[tokio::test(start_paused = true)]
async fn a_failed_liveness_probe_restarts_the_container() {
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
async fn a_container_that_fails_its_liveness_probe_has_a_hook_and_a_grace_period() {
    let fixture = Fixture::start().await;
    let images = fixture.nodes.images();
    let tired = Behavior::runs().unhealthy_after(Duration::from_secs(100));
    images.register("tired", tired.clone());
    images.register("stubborn", tired.ignores_stop());
    let probe = json!({"periodSeconds": 10, "failureThreshold": 1});
    let mut hooked = probed("tired", json!({"livenessProbe": probe}));
    hooked["restartPolicy"] = json!("OnFailure");
    hooked["containers"][0]["lifecycle"] = json!({"preStop": {"sleep": {"seconds": 5}}});
    fixture.create("hooked", hooked).await;
    let mut stubborn = probed("stubborn", json!({"livenessProbe": probe}));
    stubborn["containers"][0]["livenessProbe"]["terminationGracePeriodSeconds"] = json!(20);
    fixture.create("stubborn", stubborn).await;
    fixture.pass(104).await;
    for pod in ["hooked", "stubborn"] {
        assert_eq!(container(&fixture.status(pod).await).restart_count, 0);
    }
    fixture.pass(3).await;
    let status = fixture.status("hooked").await;
    // It is restarted in spite of its exit code.
    assert_eq!(container(&status).restart_count, 1);
    assert_eq!(last_exit_code(&status), Some(0));
    fixture.pass(12).await;
    assert_eq!(
        container(&fixture.status("stubborn").await).restart_count,
        0
    );
    fixture.pass(3).await;
    let status = fixture.status("stubborn").await;
    assert_eq!(container(&status).restart_count, 1);
    assert_eq!(last_exit_code(&status), Some(137));
}

fn last_exit_code(status: &PodStatus) -> Option<i32> {
    let last = container(status).last_state.as_ref()?;
    Some(last.terminated.as_ref()?.exit_code)
}

#[tokio::test(start_paused = true)]
async fn startup_probes_delay_the_other_probes() {
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
    // The node reports its images.
    fixture.pass(11).await;
    let before = fixture.cluster.revision().await;
    // Events live for an hour.
    fixture.pass(3500).await;
    assert_eq!(fixture.cluster.revision().await, before);
    assert_eq!(fixture.running.manager().next_due(), None);
}

#[tokio::test(start_paused = true)]
async fn a_probe_sees_what_a_command_has_changed() {
    let fixture = Fixture::start().await;
    let probe = json!({"httpGet": {"path": "/index.html", "port": 80}, "periodSeconds": 1, "failureThreshold": 1});
    let container = json!({"name": "web", "image": "nginx", "readinessProbe": probe});
    let status = fixture
        .create("p", json!({"containers": [container]}))
        .await;
    assert!(is_ready(&status));
    let web = fixture.nodes.container("default", "p", "web");
    let page = "/usr/share/nginx/html/index.html";
    let (code, printed) = web.execute(&["mv", "-v", page, "/tmp/"]).await.unwrap();
    assert_eq!(code, 0, "{printed}");
    fixture.pass(3).await;
    assert!(!is_ready(&fixture.status("p").await));
    web.execute(&["mv", "/tmp/index.html", page]).await.unwrap();
    fixture.pass(3).await;
    assert!(is_ready(&fixture.status("p").await));
}
