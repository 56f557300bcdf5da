//! Virtual time: minutes pass at once.

use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kubewright::testing::Pressure;

use crate::*;

#[tokio::test(start_paused = true)]
async fn an_app_that_is_not_ready_in_time_says_so() {
    let cluster = operator().start_test_with_nodes(1).await.unwrap();
    // The node has no room.
    let node = cluster.nodes().unwrap().node("node-1");
    node.begin_pressure(Pressure::Memory).await;
    run(&cluster, &app("shop")).await;
    let began = ready_condition(&cluster, "shop").await.last_transition_time;

    cluster.time().advance(Duration::from_secs(500)).await;
    cluster.settled().await.unwrap();
    assert_eq!(
        ready_condition(&cluster, "shop").await.reason,
        "Progressing"
    );
    cluster.time().advance(Duration::from_secs(200)).await;
    cluster.settled().await.unwrap();
    let late = ready_condition(&cluster, "shop").await;
    assert_eq!(late.reason, "DeadlineExceeded");
    // It was not ready before, so this is no transition.
    assert_eq!(late.last_transition_time, began);
    let events = api::<Event>(&cluster)
        .list(&ListParams::default())
        .await
        .unwrap();
    let warning = events
        .iter()
        .find(|event| event.reason.as_deref() == Some("DeadlineExceeded"))
        .unwrap();
    assert_eq!(warning.type_.as_deref(), Some("Warning"));
    let age = warning
        .event_time
        .as_ref()
        .unwrap()
        .0
        .duration_since(began.0);
    assert!((600..=601).contains(&age.as_secs()), "{age}");

    // It may still become ready later.
    node.end_pressure(Pressure::Memory).await;
    cluster.time().advance(Duration::from_secs(600)).await;
    cluster.settled().await.unwrap();
    assert_eq!(ready_condition(&cluster, "shop").await.reason, "Available");
}
