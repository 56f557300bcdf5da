//! Deletion of pods.

use std::time::Duration;

use k8s_openapi::api::core::v1::PodStatus;
use kube::api::{DeleteParams, Patch};
use kubewright_nodes::{Behavior, ProbeKind};
use serde_json::json;

use crate::fixture::{Fixture, container, is_ready};

#[tokio::test]
async fn a_deleted_pod_terminates_and_is_removed() {
    let fixture = Fixture::start().await;
    fixture.run("p", "nginx", "Always").await;
    fixture
        .pods()
        .delete("p", &DeleteParams::default())
        .await
        .unwrap();
    assert!(!fixture.exists("p").await);
    let events = fixture.events("p").await;
    let killing = ("Killing".to_owned(), "Stopping container c".to_owned());
    assert!(events.contains(&killing), "{events:?}");
}

#[tokio::test]
async fn a_finalizer_keeps_the_final_status() {
    let fixture = Fixture::start().await;
    fixture.run("p", "nginx", "Always").await;
    let keep = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/keep"]}}));
    fixture
        .pods()
        .patch("p", &Default::default(), &keep)
        .await
        .unwrap();
    fixture
        .pods()
        .delete("p", &DeleteParams::default())
        .await
        .unwrap();
    let status = fixture.status("p").await;
    assert_eq!(status.phase.as_deref(), Some("Succeeded"));
    assert!(!is_ready(&status));
    let ended = container(&status)
        .state
        .as_ref()
        .unwrap()
        .terminated
        .as_ref()
        .unwrap();
    assert_eq!(ended.exit_code, 0);
    let leave = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    fixture
        .pods()
        .patch("p", &Default::default(), &leave)
        .await
        .unwrap();
    assert!(!fixture.exists("p").await);
}

#[tokio::test(start_paused = true)]
async fn a_container_is_killed_after_its_grace_period() {
    let fixture = Fixture::start().await;
    fixture
        .nodes
        .images()
        .register("stubborn", Behavior::runs().ignores_stop());
    fixture.run("p", "stubborn", "Always").await;
    fixture
        .pods()
        .delete("p", &DeleteParams::default())
        .await
        .unwrap();
    fixture.pass(29).await;
    let status = fixture.status("p").await;
    assert!(is_ready(&status), "ready until the containers have stopped");
    fixture.pass(2).await;
    assert!(!fixture.exists("p").await);
}

#[tokio::test(start_paused = true)]
async fn a_sleeping_pre_stop_hook_delays_termination() {
    let fixture = Fixture::start().await;
    let hook = json!({"preStop": {"sleep": {"seconds": 5}}});
    let spec = json!({"containers": [{"name": "c", "image": "nginx", "lifecycle": hook}]});
    fixture.create("p", spec).await;
    fixture
        .pods()
        .delete("p", &DeleteParams::default())
        .await
        .unwrap();
    fixture.pass(4).await;
    assert!(fixture.exists("p").await);
    fixture.pass(2).await;
    assert!(!fixture.exists("p").await);
}

#[tokio::test(start_paused = true)]
async fn forced_deletion_kills_the_containers() {
    let fixture = Fixture::start().await;
    fixture
        .nodes
        .images()
        .register("stubborn", Behavior::runs().ignores_stop());
    let first = fixture.run("p", "stubborn", "Always").await;
    let now = DeleteParams::default().grace_period(0);
    fixture.pods().delete("p", &now).await.unwrap();
    assert!(!fixture.exists("p").await);
    assert!(
        fixture
            .nodes
            .container("default", "p", "c")
            .exit(0)
            .await
            .is_err()
    );
    // Another pod of that name is another pod.
    let second = fixture.run("p", "nginx", "Always").await;
    assert_ne!(
        container(&first).container_id,
        container(&second).container_id
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_has_not_started_is_removed() {
    let fixture = Fixture::start().await;
    fixture.nodes.images().register(
        "slow",
        Behavior::runs().pulled_after(Duration::from_secs(60)),
    );
    fixture.run("p", "slow", "Always").await;
    fixture
        .pods()
        .delete("p", &DeleteParams::default())
        .await
        .unwrap();
    assert!(!fixture.exists("p").await);
}

/// Returns the state of a sidecar that has ended: its exit code, and the second in which it finished.
fn ended(status: &PodStatus, i: usize) -> Option<(i32, i64)> {
    let state = status.init_container_statuses.as_ref()?[i].state.as_ref()?;
    let ended = state.terminated.as_ref()?;
    Some((ended.exit_code, ended.finished_at.as_ref()?.0.as_second()))
}

#[tokio::test(start_paused = true)]
async fn sidecars_stop_in_reverse_order_within_the_grace_period() {
    let fixture = Fixture::start().await;
    let images = fixture.nodes.images();
    images.register("stubborn", Behavior::runs().ignores_stop());
    let sidecar = |name, image| json!({"name": name, "image": image, "restartPolicy": "Always"});
    let spec = json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "initContainers": [sidecar("first", "nginx"), sidecar("second", "stubborn")],
        "containers": [{"name": "c", "image": "job"}],
    });
    let status = fixture.create("p", spec).await;
    assert_eq!(status.phase.as_deref(), Some("Running"));
    fixture.pass(4).await;
    let status = fixture.status("p").await;
    assert_eq!((ended(&status, 0), ended(&status, 1)), (None, None));
    fixture.pass(2).await;
    let status = fixture.status("p").await;
    assert_eq!(status.phase.as_deref(), Some("Succeeded"));
    let (first, second) = (ended(&status, 0).unwrap(), ended(&status, 1).unwrap());
    assert_eq!((first.0, second.0), (0, 137));
    assert!(first.1 >= second.1, "{first:?} {second:?}");
}

#[tokio::test(start_paused = true)]
async fn a_sidecar_whose_turn_comes_late_gets_two_seconds() {
    let fixture = Fixture::start().await;
    let images = fixture.nodes.images();
    images.register("stubborn", Behavior::runs().ignores_stop());
    let sidecar = json!({"name": "s", "image": "stubborn", "restartPolicy": "Always"});
    let spec = json!({
        "terminationGracePeriodSeconds": 5,
        "initContainers": [sidecar], "containers": [{"name": "c", "image": "stubborn"}],
    });
    fixture.create("p", spec).await;
    fixture
        .pods()
        .delete("p", &DeleteParams::default())
        .await
        .unwrap();
    fixture.pass(6).await;
    let status = fixture.status("p").await;
    assert!(container(&status).state.as_ref().unwrap().running.is_none());
    assert_eq!(ended(&status, 0), None);
    fixture.pass(2).await;
    assert!(!fixture.exists("p").await);
}

#[tokio::test(start_paused = true)]
async fn readiness_is_probed_until_the_containers_of_a_deleted_pod_end() {
    let fixture = Fixture::start().await;
    let images = fixture.nodes.images();
    images.register("stubborn", Behavior::runs().ignores_stop());
    let probe = json!({"httpGet": {"port": 80}, "periodSeconds": 1, "failureThreshold": 1});
    let container =
        json!({"name": "c", "image": "stubborn", "readinessProbe": probe, "livenessProbe": probe});
    let status = fixture
        .create("p", json!({"containers": [container]}))
        .await;
    assert!(is_ready(&status));
    fixture
        .pods()
        .delete("p", &DeleteParams::default())
        .await
        .unwrap();
    let control = fixture.nodes.container("default", "p", "c");
    for kind in [ProbeKind::Readiness, ProbeKind::Liveness] {
        control.fail_probe(kind).await.unwrap();
    }
    fixture.pass(3).await;
    let status = fixture.status("p").await;
    assert!(!is_ready(&status));
    assert_eq!(crate::fixture::container(&status).restart_count, 0);
}
