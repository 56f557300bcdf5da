//! Resizes of pods that run.

use k8s_openapi::api::core::v1::{PodCondition, PodStatus};
use kube::api::{Patch, PatchParams};
use kubewright_nodes::Nodes;
use serde_json::{Value, json};

use crate::fixture::{Fixture, container};

#[tokio::test]
async fn a_resize_happens_in_place_or_waits_until_the_node_has_room() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    let resources = |cpu: &str| json!({"requests": {"cpu": cpu}, "limits": {"cpu": cpu}});
    let pod = |cpu: &str| {
        json!({"containers": [{
            "name": "c", "image": "nginx", "resources": resources(cpu),
            "resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}],
        }]})
    };
    fixture.create("a", pod("3")).await;
    fixture.create("b", pod("3")).await;
    let resize = async |name: &str, resources: Value| {
        let patch = json!({"spec": {"containers": [{"name": "c", "resources": resources}]}});
        let patch = Patch::Strategic(patch);
        let pods = fixture.pods();
        pods.patch_subresource("resize", name, &PatchParams::default(), &patch)
            .await
            .unwrap();
        fixture.settled().await;
        fixture.status(name).await
    };
    let requested = |status: &PodStatus| {
        let shown = container(status).resources.clone().unwrap();
        shown.requests.unwrap()["cpu"].0.clone()
    };
    let pending = |status: &PodStatus| {
        let conditions = status.conditions.iter().flatten();
        let mut pending = conditions.filter(|c| c.type_ == "PodResizePending");
        pending
            .next()
            .map(|c| (c.reason.clone().unwrap(), c.message.clone().unwrap()))
    };

    let status = resize("a", resources("4")).await;
    assert_eq!(requested(&status), "4");
    assert_eq!(pending(&status), None);
    let is_of_resize = |c: &PodCondition| c.type_.starts_with("PodResize");
    assert!(
        !status.conditions.iter().flatten().any(is_of_resize),
        "{status:?}"
    );
    assert_eq!(container(&status).restart_count, 0);
    let reasons: Vec<String> = fixture
        .events("a")
        .await
        .into_iter()
        .map(|(reason, _)| reason)
        .collect();
    assert!(reasons.contains(&"ResizeStarted".to_owned()), "{reasons:?}");
    assert!(
        reasons.contains(&"ResizeCompleted".to_owned()),
        "{reasons:?}"
    );

    let status = resize("b", resources("5")).await;
    assert_eq!(requested(&status), "3");
    let (reason, message) = pending(&status).unwrap();
    assert_eq!(reason, "Deferred");
    assert_eq!(
        message,
        "Node didn't have enough resource: cpu, requested: 5000, used: 4000, capacity: 8000"
    );

    // The room that another pod gives back is used.
    resize("a", resources("2")).await;
    let status = fixture.status("b").await;
    assert_eq!(requested(&status), "5");
    assert_eq!(pending(&status), None);
    assert_eq!(container(&status).restart_count, 0);

    let more = json!({"requests": {"cpu": "5", "memory": "512Mi"}, "limits": {"cpu": "5", "memory": "1Gi"}});
    let status = resize("b", more).await;
    assert_eq!(container(&status).restart_count, 1);
}

#[tokio::test]
async fn the_resources_of_a_pod_are_shown_and_resized_as_a_whole() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    let resources = |cpu: &str| json!({"requests": {"cpu": cpu}, "limits": {"cpu": cpu}});
    let spec =
        json!({"resources": resources("1"), "containers": [{"name": "c", "image": "nginx"}]});
    let shown = |status: &PodStatus| {
        let resources = status.resources.clone().unwrap().requests.unwrap();
        let allocated = status.allocated_resources.clone().unwrap();
        (resources["cpu"].0.clone(), allocated["cpu"].0.clone())
    };
    let status = fixture.create("p", spec).await;
    assert_eq!(shown(&status), ("1".to_owned(), "1".to_owned()));
    let patch = Patch::Strategic(json!({"spec": {"resources": resources("2")}}));
    let pods = fixture.pods();
    pods.patch_subresource("resize", "p", &PatchParams::default(), &patch)
        .await
        .unwrap();
    fixture.settled().await;
    let status = fixture.status("p").await;
    assert_eq!(shown(&status), ("2".to_owned(), "2".to_owned()));
    let reasons = fixture.events("p").await;
    assert!(
        reasons
            .iter()
            .any(|(reason, _)| reason == "ResizeCompleted"),
        "{reasons:?}"
    );
}
