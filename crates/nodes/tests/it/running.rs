//! Pods that run.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    ResourceExt,
    api::{Patch, WatchEvent, WatchParams},
};
use kubewright_nodes::{Behavior, Nodes};
use serde_json::{Value, from_value, json, to_value};

use crate::fixture::{Fixture, condition, container, is_ready, waiting};

fn spec() -> Value {
    json!({"containers": [{"name": "nginx", "image": "nginx"}]})
}

#[tokio::test]
async fn a_pod_runs_and_is_ready() {
    let fixture = Fixture::start().await;
    let status = fixture.create("p", spec()).await;
    assert_eq!(status.phase.as_deref(), Some("Running"));
    assert!(is_ready(&status));
    let status = to_value(&status).unwrap();
    let names: Vec<&Value> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["type"])
        .collect();
    assert_eq!(
        names,
        [
            "PodReadyToStartContainers",
            "Initialized",
            "Ready",
            "ContainersReady",
            "PodScheduled"
        ]
    );
    for condition in status["conditions"].as_array().unwrap() {
        assert_eq!(condition["status"], "True", "{condition}");
        assert_eq!(condition["observedGeneration"], 1, "{condition}");
        assert!(condition.get("reason").is_none(), "{condition}");
    }
    assert_eq!(status["hostIP"], "172.18.0.2");
    assert_eq!(status["hostIPs"], json!([{"ip": "172.18.0.2"}]));
    assert_eq!(status["podIP"], "10.244.0.2");
    assert_eq!(status["podIPs"], json!([{"ip": "10.244.0.2"}]));
    assert_eq!(status["qosClass"], "BestEffort");
    assert_eq!(status["observedGeneration"], 1);
    let container = &status["containerStatuses"][0];
    assert_eq!(container["image"], "docker.io/library/nginx:latest");
    let id = container["imageID"].as_str().unwrap();
    assert!(id.starts_with("docker.io/library/nginx@sha256:"), "{id}");
    let id = container["containerID"].as_str().unwrap();
    assert_eq!(id.len(), "containerd://".len() + 64, "{id}");
    assert_eq!(container["restartCount"], 0);
    assert_eq!(
        (&container["ready"], &container["started"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(container["lastState"], json!({}));
    assert_eq!(container["resources"], json!({}));
    let user = json!({"linux": {"uid": 0, "gid": 0, "supplementalGroups": [0]}});
    assert_eq!(container["user"], user);
    assert!(container["state"]["running"]["startedAt"].is_string());
}

#[tokio::test]
async fn the_first_status_has_the_reason_container_creating() {
    let fixture = Fixture::start().await;
    let pods = fixture.pods();
    let watch = pods.watch(&WatchParams::default(), "0").await.unwrap();
    let mut watch = Box::pin(watch);
    let status = fixture.create("p", spec()).await;
    assert!(is_ready(&status));
    let mut writes = Vec::new();
    while let Some(event) = watch.next().await {
        let pod = match event.unwrap() {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => pod,
            WatchEvent::Bookmark(_) => continue,
            other => panic!("{other:?}"),
        };
        let done = pod
            .status
            .as_ref()
            .is_some_and(|s| s.phase.as_deref() == Some("Running"));
        writes.push(pod);
        if done {
            break;
        }
    }
    // Created, bound, seen by the node, running.
    assert_eq!(writes.len(), 4, "{writes:#?}");
    let first = writes[2].status.as_ref().unwrap();
    assert_eq!(first.phase.as_deref(), Some("Pending"));
    assert!(first.start_time.is_some() && first.host_ip.is_some() && first.pod_ip.is_none());
    assert_eq!(
        condition(first, "PodReadyToStartContainers").status,
        "False"
    );
    assert_eq!(condition(first, "Initialized").status, "True");
    let ready = condition(first, "Ready");
    assert_eq!(ready.reason.as_deref(), Some("ContainersNotReady"));
    assert_eq!(
        ready.message.as_deref(),
        Some("containers with unready status: [nginx]")
    );
    let state = to_value(container(first)).unwrap();
    assert_eq!(
        state,
        json!({
            "image": "nginx", "imageID": "", "lastState": {}, "name": "nginx", "ready": false,
            "restartCount": 0, "started": false,
            "state": {"waiting": {"reason": "ContainerCreating"}},
        })
    );
    let managers = writes[3].managed_fields();
    let kubelet = managers
        .iter()
        .find(|m| m.manager.as_deref() == Some("kubelet"))
        .unwrap();
    assert_eq!(kubelet.subresource.as_deref(), Some("status"));
}

#[tokio::test]
async fn every_step_of_a_pod_is_an_event() {
    let fixture = Fixture::start().await;
    fixture.create("p", spec()).await;
    let events = fixture.all_events("p").await;
    let kubelet: Vec<_> = events
        .iter()
        .filter(|event| {
            event.source.as_ref().and_then(|s| s.component.as_deref()) == Some("kubelet")
        })
        .collect();
    let told: Vec<(&str, &str)> = kubelet
        .iter()
        .map(|e| (e.reason.as_deref().unwrap(), e.message.as_deref().unwrap()))
        .collect();
    assert_eq!(told[0], ("Pulling", "Pulling image \"nginx\""));
    assert_eq!(told[1].0, "Pulled");
    assert!(told[1].1.starts_with(
        "Successfully pulled image \"nginx\" in 0s (0s including waiting). Image size: "
    ));
    assert_eq!(
        told[2..],
        [
            ("Created", "Container created"),
            ("Started", "Container started")
        ]
    );
    let node = fixture
        .pods()
        .get("p")
        .await
        .unwrap()
        .spec
        .unwrap()
        .node_name;
    for event in kubelet {
        assert_eq!(
            event.involved_object.field_path.as_deref(),
            Some("spec.containers{nginx}")
        );
        assert_eq!(event.source.as_ref().unwrap().host, node);
        assert_eq!(event.reporting_instance, node);
    }
}

#[tokio::test]
async fn a_node_pulls_an_image_once() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    let tagged = json!({"containers": [{"name": "c", "image": "nginx:1"}]});
    fixture.create("a", tagged.clone()).await;
    fixture.create("b", tagged).await;
    let events = fixture.events("b").await;
    let text =
        "Container image \"nginx:1\" already present on machine and can be accessed by the pod";
    assert!(
        events.contains(&("Pulled".to_owned(), text.to_owned())),
        "{events:?}"
    );
    assert!(!events.iter().any(|(reason, _)| reason == "Pulling"));
}

#[tokio::test]
async fn pods_have_unique_addresses_or_that_of_the_host() {
    let fixture = Fixture::start().await;
    let mut seen = BTreeSet::new();
    for i in 0..10 {
        let status = fixture.create(&format!("p{i}"), spec()).await;
        assert!(seen.insert(status.pod_ip.unwrap()));
    }
    let host = json!({"hostNetwork": true, "containers": [{"name": "c", "image": "nginx"}]});
    let status = fixture.create("host", host).await;
    assert_eq!(status.pod_ip, status.host_ip);
}

#[tokio::test]
async fn readiness_gates_are_set_by_other_controllers() {
    let fixture = Fixture::start().await;
    let mut gated = spec();
    gated["readinessGates"] = json!([{"conditionType": "example.com/lb"}]);
    let status = fixture.create("p", gated).await;
    let ready = condition(&status, "Ready");
    assert_eq!(ready.reason.as_deref(), Some("ReadinessGatesNotReady"));
    let text = "corresponding condition of pod readiness gate \"example.com/lb\" does not exist.";
    assert_eq!(ready.message.as_deref(), Some(text));
    let open = |status: &str| {
        Patch::Strategic(
            json!({"status": {"conditions": [{"type": "example.com/lb", "status": status}]}}),
        )
    };
    fixture
        .pods()
        .patch_status("p", &Default::default(), &open("False"))
        .await
        .unwrap();
    let status = fixture.status("p").await;
    let text = "the status of pod readiness gate \"example.com/lb\" is not \"True\", but False";
    assert_eq!(condition(&status, "Ready").message.as_deref(), Some(text));
    fixture
        .pods()
        .patch_status("p", &Default::default(), &open("True"))
        .await
        .unwrap();
    let status = fixture.status("p").await;
    assert!(is_ready(&status));
    // Conditions of other writers come first.
    assert_eq!(status.conditions.unwrap()[0].type_, "example.com/lb");
}

#[tokio::test]
async fn status_changes_of_other_writers_are_corrected() {
    let fixture = Fixture::start().await;
    fixture.create("p", spec()).await;
    let wrong =
        Patch::Strategic(json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}));
    fixture
        .pods()
        .patch_status("p", &Default::default(), &wrong)
        .await
        .unwrap();
    assert!(is_ready(&fixture.status("p").await));
    // A terminal phase is not corrected.
    let ended = Patch::Merge(json!({"status": {"phase": "Failed"}}));
    fixture
        .pods()
        .patch_status("p", &Default::default(), &ended)
        .await
        .unwrap();
    let status = fixture.status("p").await;
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    assert!(!is_ready(&status));
}

#[tokio::test]
async fn restarted_nodes_take_over_their_pods() {
    let fixture = Fixture::start().await;
    let before = fixture.create("p", spec()).await;
    let Fixture {
        cluster, running, ..
    } = fixture;
    running.stop().await.unwrap();
    let fixture = Fixture::on(cluster, Nodes::new(2)).await;
    let after = fixture.status("p").await;
    assert_eq!(before, after);
    // New pods get unused addresses.
    let node = fixture
        .pods()
        .get("p")
        .await
        .unwrap()
        .spec
        .unwrap()
        .node_name;
    let mut same = spec();
    same["nodeName"] = json!(node);
    let other = fixture.create("q", same).await;
    assert_ne!(other.pod_ip, after.pod_ip);
}

#[tokio::test(start_paused = true)]
async fn restarted_nodes_continue_the_backoff_of_containers() {
    let fixture = Fixture::start().await;
    let images = fixture.nodes.images();
    images.register("bad", Behavior::exits(3).logs(["no disk"]));
    let container =
        json!({"name": "c", "image": "bad", "terminationMessagePolicy": "FallbackToLogsOnError"});
    let spec = json!({"restartPolicy": "Always", "containers": [container]});
    let before = fixture.create("p", spec).await;
    assert_eq!(waiting(&before), Some("CrashLoopBackOff"));
    let Fixture {
        cluster, running, ..
    } = fixture;
    running.stop().await.unwrap();
    let nodes = Nodes::new(2);
    nodes.images().register("bad", Behavior::exits(3));
    let fixture = Fixture::on(cluster, nodes).await;
    assert_eq!(fixture.status("p").await, before);
    fixture.pass(8).await;
    assert_eq!(fixture.status("p").await, before);
    fixture.pass(3).await;
    let status = fixture.status("p").await;
    let container = crate::fixture::container(&status);
    assert_eq!(container.restart_count, 2);
    let state = container.state.as_ref().unwrap().waiting.as_ref().unwrap();
    let message = state.message.as_deref().unwrap_or_default();
    assert!(message.starts_with("back-off 20s "), "{message}");
}

#[tokio::test]
async fn pods_of_unknown_nodes_are_ignored() {
    let fixture = Fixture::start().await;
    let mut elsewhere = spec();
    elsewhere["nodeName"] = json!("elsewhere");
    let status = fixture.create("p", elsewhere).await;
    assert_eq!(status.phase.as_deref(), Some("Pending"));
    assert!(status.start_time.is_none());
    let pod: Pod = from_value(json!({"metadata": {"name": "p"}})).unwrap();
    assert!(fixture.all_events(&pod.name_any()).await.is_empty());
}
