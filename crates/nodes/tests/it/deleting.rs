//! Pods that are deleted.

use std::time::Duration;

use kube::api::{DeleteParams, Patch};
use kubewright_nodes::Behavior;
use serde_json::json;

use crate::fixture::{Fixture, container, is_ready};

#[tokio::test]
async fn a_deleted_pod_ends_and_goes() {
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
async fn the_last_status_stays_with_a_finalizer() {
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
async fn a_container_that_does_not_stop_is_killed_in_the_end() {
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
async fn a_hook_that_sleeps_delays_the_end() {
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
async fn a_pod_that_is_forced_away_takes_its_containers_along() {
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
async fn a_pod_that_has_not_started_goes_too() {
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
