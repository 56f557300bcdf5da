//! Containers that start, exit, and are restarted.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kubewright_nodes::Behavior;
use serde_json::{Value, from_value, json};

use crate::fixture::{Fixture, condition, container, is_ready, waiting};

#[tokio::test]
async fn a_pod_ends_with_its_container_unless_that_is_restarted() {
    let fixture = Fixture::start().await;
    fixture.nodes.images().register("ok", Behavior::exits(0));
    fixture.nodes.images().register("bad", Behavior::exits(3));
    let status = fixture.run("ok", "ok", "Never").await;
    assert_eq!(status.phase.as_deref(), Some("Succeeded"));
    assert_eq!(
        condition(&status, "Ready").reason.as_deref(),
        Some("PodCompleted")
    );
    assert_eq!(
        condition(&status, "Initialized").reason.as_deref(),
        Some("PodCompleted")
    );
    let ended = container(&status)
        .state
        .as_ref()
        .unwrap()
        .terminated
        .as_ref()
        .unwrap();
    assert_eq!(
        (ended.exit_code, ended.reason.as_deref()),
        (0, Some("Completed"))
    );
    let status = fixture.run("bad", "bad", "Never").await;
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    assert_eq!(
        condition(&status, "ContainersReady").reason.as_deref(),
        Some("PodFailed")
    );
    let ended = container(&status)
        .state
        .as_ref()
        .unwrap()
        .terminated
        .as_ref()
        .unwrap();
    assert_eq!(
        (ended.exit_code, ended.reason.as_deref()),
        (3, Some("Error"))
    );
}

#[tokio::test]
async fn pods_run_forever_or_exit_immediately_by_default() {
    let fixture = Fixture::start().await;
    let status = fixture.run("server", "example.com/any", "Always").await;
    assert_eq!(status.phase.as_deref(), Some("Running"));
    for policy in ["Never", "OnFailure"] {
        let status = fixture
            .run(&policy.to_lowercase(), "example.com/any", policy)
            .await;
        assert_eq!(status.phase.as_deref(), Some("Succeeded"));
    }
}

#[tokio::test]
async fn the_end_of_the_log_is_the_termination_message_of_a_failure() {
    let fixture = Fixture::start().await;
    let lines: Vec<String> = (0..100).map(|i| format!("line {i}")).collect();
    let images = fixture.nodes.images();
    images.register("bad", Behavior::exits(3).logs(lines.clone()));
    images.register("ok", Behavior::exits(0).logs(lines));
    let message = async |name: &str, policy: &str| {
        let one = json!({"name": "c", "image": name, "terminationMessagePolicy": policy});
        let spec = json!({"restartPolicy": "Never", "containers": [one]});
        let pod = format!("{name}-{}", policy.to_lowercase());
        let status = fixture.create(&pod, spec).await;
        let state = container(&status).state.clone().unwrap();
        state.terminated.unwrap().message
    };
    let text = message("bad", "FallbackToLogsOnError").await.unwrap();
    assert_eq!(text.lines().count(), 80);
    assert!(
        text.starts_with("line 20\n") && text.ends_with("line 99\n"),
        "{text}"
    );
    assert_eq!(message("bad", "File").await, None);
    assert_eq!(message("ok", "FallbackToLogsOnError").await, None);
}

#[tokio::test(start_paused = true)]
async fn restarts_back_off_exponentially() {
    let fixture = Fixture::start().await;
    fixture.nodes.images().register("bad", Behavior::exits(1));
    let status = fixture.run("p", "bad", "Always").await;
    // The first restart is immediate.
    assert_eq!(waiting(&status), Some("CrashLoopBackOff"));
    assert_eq!(container(&status).restart_count, 1);
    assert_eq!(status.phase.as_deref(), Some("Running"));
    let uid = fixture.pods().get("p").await.unwrap().metadata.uid.unwrap();
    let state = container(&status).state.as_ref().unwrap();
    let text = format!("back-off 10s restarting failed container=c pod=p_default({uid})");
    assert_eq!(
        state.waiting.as_ref().unwrap().message.as_deref(),
        Some(&*text)
    );
    let last = container(&status).last_state.as_ref().unwrap();
    assert_eq!(last.terminated.as_ref().unwrap().exit_code, 1);
    fixture.pass(9).await;
    assert_eq!(container(&fixture.status("p").await).restart_count, 1);
    fixture.pass(2).await;
    let status = fixture.status("p").await;
    assert_eq!(container(&status).restart_count, 2);
    let state = container(&status).state.as_ref().unwrap();
    let text = format!("back-off 20s restarting failed container=c pod=p_default({uid})");
    assert_eq!(
        state.waiting.as_ref().unwrap().message.as_deref(),
        Some(&*text)
    );
    let events = fixture.events("p").await;
    let text = format!("Back-off restarting failed container c in pod p_default({uid})");
    assert!(events.contains(&("BackOff".to_owned(), text)), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn commands_determine_exit_codes() {
    let fixture = Fixture::start().await;
    let script = "echo working; sleep 60; exit 4";
    let container_ = json!({"name": "c", "image": "busybox", "command": ["sh", "-c", script]});
    let spec = json!({"restartPolicy": "Never", "containers": [container_]});
    let status = fixture.create("p", spec).await;
    assert_eq!(status.phase.as_deref(), Some("Running"));
    fixture.pass(61).await;
    let status = fixture.status("p").await;
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    let ended = container(&status)
        .state
        .as_ref()
        .unwrap()
        .terminated
        .as_ref()
        .unwrap();
    assert_eq!(ended.exit_code, 4);
}

#[tokio::test(start_paused = true)]
async fn failed_pulls_are_retried() {
    let fixture = Fixture::start().await;
    let missing = Behavior::fails_to_pull("manifest unknown").pull_failures(2);
    fixture.nodes.images().register("missing", missing);
    let status = fixture.run("p", "missing", "Always").await;
    assert_eq!(waiting(&status), Some("ImagePullBackOff"));
    assert_eq!(status.phase.as_deref(), Some("Pending"));
    let error =
        "failed to pull and unpack image \"docker.io/library/missing:latest\": manifest unknown";
    let state = container(&status).state.as_ref().unwrap();
    let text = format!("Back-off pulling image \"missing\": ErrImagePull: {error}");
    assert_eq!(
        state.waiting.as_ref().unwrap().message.as_deref(),
        Some(&*text)
    );
    let events = fixture.events("p").await;
    for (reason, message) in [
        (
            "Failed",
            format!("Failed to pull image \"missing\": {error}"),
        ),
        ("Failed", "Error: ErrImagePull".to_owned()),
        ("BackOff", "Back-off pulling image \"missing\"".to_owned()),
        ("Failed", "Error: ImagePullBackOff".to_owned()),
    ] {
        assert!(events.contains(&(reason.to_owned(), message)), "{events:?}");
    }
    fixture.pass(11).await;
    assert_eq!(
        waiting(&fixture.status("p").await),
        Some("ImagePullBackOff")
    );
    fixture.pass(21).await;
    assert!(is_ready(&fixture.status("p").await));
}

#[tokio::test]
async fn images_with_policy_never_must_be_present() {
    let fixture = Fixture::start().await;
    let never = json!({"name": "c", "image": "local", "imagePullPolicy": "Never"});
    let status = fixture.create("p", json!({"containers": [never]})).await;
    assert_eq!(waiting(&status), Some("ErrImageNeverPull"));
}

#[tokio::test(start_paused = true)]
async fn slow_images_delay_start_and_readiness() {
    let fixture = Fixture::start().await;
    let slow = Behavior::runs()
        .pulled_after(Duration::from_secs(3))
        .starts_after(Duration::from_secs(2));
    fixture.nodes.images().register("slow", slow);
    let status = fixture.run("p", "slow", "Always").await;
    assert_eq!(waiting(&status), Some("ContainerCreating"));
    fixture.pass(4).await;
    assert_eq!(
        waiting(&fixture.status("p").await),
        Some("ContainerCreating")
    );
    fixture.pass(2).await;
    assert!(is_ready(&fixture.status("p").await));
}

#[tokio::test(start_paused = true)]
async fn init_containers_run_one_after_another() {
    let fixture = Fixture::start().await;
    fixture
        .nodes
        .images()
        .register("step", Behavior::exits(0).after(Duration::from_secs(5)));
    let spec = json!({
        "initContainers": [{"name": "one", "image": "step"}, {"name": "two", "image": "step"}],
        "containers": [{"name": "c", "image": "nginx"}],
    });
    let status = fixture.create("p", spec).await;
    assert_eq!(status.phase.as_deref(), Some("Pending"));
    assert_eq!(waiting(&status), Some("PodInitializing"));
    let initialized = condition(&status, "Initialized");
    assert_eq!(
        initialized.reason.as_deref(),
        Some("ContainersNotInitialized")
    );
    let text = "containers with incomplete status: [one two]";
    assert_eq!(initialized.message.as_deref(), Some(text));
    fixture.pass(6).await;
    let status = fixture.status("p").await;
    let text = "containers with incomplete status: [two]";
    assert_eq!(
        condition(&status, "Initialized").message.as_deref(),
        Some(text)
    );
    let init = status.init_container_statuses.unwrap();
    assert!(init[0].ready && !init[1].ready);
    fixture.pass(5).await;
    let status = fixture.status("p").await;
    assert!(is_ready(&status));
    assert_eq!(condition(&status, "Initialized").status, "True");
}

#[tokio::test]
async fn an_init_container_that_is_not_restarted_fails_the_pod() {
    let fixture = Fixture::start().await;
    fixture.nodes.images().register("bad", Behavior::exits(2));
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "one", "image": "bad"}],
        "containers": [{"name": "c", "image": "nginx"}],
    });
    let status = fixture.create("p", spec).await;
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    assert_eq!(waiting(&status), Some("PodInitializing"));
}

#[tokio::test]
async fn sidecars_run_until_the_other_containers_end() {
    let fixture = Fixture::start().await;
    let sidecar = json!({"name": "proxy", "image": "proxy", "restartPolicy": "Always"});
    let server =
        json!({"initContainers": [sidecar], "containers": [{"name": "c", "image": "nginx"}]});
    let status = fixture.create("server", server).await;
    assert!(is_ready(&status));
    assert!(status.init_container_statuses.unwrap()[0].ready);
    let job = json!({
        "restartPolicy": "Never", "initContainers": [sidecar],
        "containers": [{"name": "c", "image": "job"}],
    });
    let status = fixture.create("job", job).await;
    assert_eq!(status.phase.as_deref(), Some("Succeeded"));
    let state = status
        .init_container_statuses
        .unwrap()
        .remove(0)
        .state
        .unwrap();
    assert!(state.terminated.is_some());
}

#[tokio::test(start_paused = true)]
async fn containers_wait_for_referenced_objects() {
    let fixture = Fixture::start().await;
    let env =
        json!([{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}]);
    let spec = json!({"containers": [{"name": "c", "image": "nginx", "env": env}]});
    let status = fixture.create("p", spec).await;
    let state = container(&status)
        .state
        .as_ref()
        .unwrap()
        .waiting
        .as_ref()
        .unwrap();
    assert_eq!(state.reason.as_deref(), Some("CreateContainerConfigError"));
    assert_eq!(
        state.message.as_deref(),
        Some("configmap \"settings\" not found")
    );
    let volume = json!([{"name": "v", "secret": {"secretName": "password"}}]);
    let spec = json!({"volumes": volume, "containers": [{"name": "c", "image": "nginx"}]});
    let status = fixture.create("q", spec).await;
    assert_eq!(waiting(&status), Some("ContainerCreating"));
    let events = fixture.events("q").await;
    let text = "MountVolume.SetUp failed for volume \"v\" : secret \"password\" not found";
    assert!(
        events.contains(&("FailedMount".to_owned(), text.to_owned())),
        "{events:?}"
    );
    let maps: Api<ConfigMap> = Api::default_namespaced(fixture.cluster.client());
    let map = from_value(json!({"metadata": {"name": "settings"}, "data": {"a": "b"}})).unwrap();
    maps.create(&Default::default(), &map).await.unwrap();
    fixture.pass(2).await;
    assert!(is_ready(&fixture.status("p").await));
}

#[tokio::test(start_paused = true)]
async fn a_pod_fails_at_its_active_deadline() {
    let fixture = Fixture::start().await;
    let spec =
        json!({"activeDeadlineSeconds": 30, "containers": [{"name": "c", "image": "nginx"}]});
    assert!(is_ready(&fixture.create("p", spec).await));
    fixture.pass(31).await;
    let status = fixture.status("p").await;
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    assert_eq!(status.reason.as_deref(), Some("DeadlineExceeded"));
    let text = "Pod was active on the node longer than the specified deadline";
    assert_eq!(status.message.as_deref(), Some(text));
}

#[tokio::test]
async fn annotations_override_images() {
    let fixture = Fixture::start().await;
    let pod = json!({
        "metadata": {"name": "p", "annotations": {"behavior.kubewright.dev/c": "exit 9"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "nginx"}]},
    });
    fixture
        .pods()
        .create(&Default::default(), &from_value(pod).unwrap())
        .await
        .unwrap();
    let status = fixture.status("p").await;
    let ended = container(&status)
        .state
        .as_ref()
        .unwrap()
        .terminated
        .as_ref()
        .unwrap();
    assert_eq!(ended.exit_code, 9);
}

#[tokio::test]
async fn containers_fail_on_demand() {
    let fixture = Fixture::start().await;
    fixture.run("p", "nginx", "Always").await;
    let of = |name| fixture.nodes.container("default", "p", name);
    of("c").run_out_of_memory().await.unwrap();
    // The effect is in the store when the method returns.
    let status = fixture.pods().get("p").await.unwrap().status.unwrap();
    let last = container(&status)
        .last_state
        .as_ref()
        .unwrap()
        .terminated
        .as_ref()
        .unwrap();
    assert_eq!(
        (last.exit_code, last.reason.as_deref()),
        (137, Some("OOMKilled"))
    );
    assert_eq!(container(&status).restart_count, 1);
    assert!(of("unknown").exit(1).await.is_err());
    assert!(
        fixture
            .nodes
            .container("default", "q", "c")
            .exit(1)
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn a_container_whose_hook_fails_after_its_start_is_restarted() {
    let fixture = Fixture::start().await;
    let hook = |command: &str| json!({"postStart": {"exec": {"command": ["sh", "-c", command]}}});
    let container =
        |hook: Value| json!({"containers": [{"name": "c", "image": "nginx", "lifecycle": hook}]});
    let status = fixture
        .create("good", container(hook("touch /tmp/started")))
        .await;
    assert!(is_ready(&status));
    let good = fixture.nodes.container("default", "good", "c");
    let (code, _) = good.execute(&["ls", "/tmp/started"]).await.unwrap();
    assert_eq!(code, 0);

    let status = fixture.create("bad", container(hook("exit 1"))).await;
    assert!(!is_ready(&status));
    let events = fixture.events("bad").await;
    let failed = (
        "FailedPostStartHook".to_owned(),
        "PostStartHook failed".to_owned(),
    );
    assert!(events.contains(&failed), "{events:?}");
    let container = &status.container_statuses.unwrap()[0];
    assert!(container.restart_count >= 1);
}

#[tokio::test(start_paused = true)]
async fn a_hook_before_the_stop_ends_with_the_grace_period() {
    let fixture = Fixture::start().await;
    let hook = json!({"preStop": {"exec": {"command": ["sleep", "600"]}}});
    let spec = json!({
        "terminationGracePeriodSeconds": 5,
        "containers": [{"name": "c", "image": "nginx", "lifecycle": hook}],
    });
    fixture.create("p", spec).await;
    fixture
        .pods()
        .delete("p", &Default::default())
        .await
        .unwrap();
    assert!(fixture.exists("p").await);
    fixture.pass(6).await;
    assert!(!fixture.exists("p").await);
}
