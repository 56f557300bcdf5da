//! Images that are functions.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use kube::api::DeleteParams;
use kubewright_controller::wait::wait_for_deletion;
use kubewright_nodes::{Container, LogOptions};
use serde_json::json;

use crate::fixture::{Fixture, container, is_ready};

/// Waits until a pod meets a condition.
async fn until(
    fixture: &Fixture,
    is_true: impl Fn(&k8s_openapi::api::core::v1::PodStatus) -> bool,
) {
    loop {
        let status = fixture.status("p").await;
        if is_true(&status) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn functions_return_the_exit_code() {
    let fixture = Fixture::start().await;
    fixture
        .nodes
        .images()
        .register_fn("greeter", |container: Container| async move {
            assert_eq!((container.pod(), container.name()), ("p", "c"));
            container.log(format!(
                "hello {}",
                container.env("WHO").unwrap_or("nobody")
            ));
            container.set_termination_message("well done");
            7
        });
    let env = json!([{"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "greeter", "env": env}],
    });
    fixture.create("p", spec).await;
    let log = fixture.nodes.container("default", "p", "c");
    assert!(log.wait_for_log("hello p").await.unwrap());
    until(&fixture, |status| status.phase.as_deref() == Some("Failed")).await;
    assert_eq!(log.logs(&LogOptions::default()).unwrap(), "hello p\n");
    let previous = LogOptions {
        previous: true,
        ..LogOptions::default()
    };
    let text = "previous terminated container \"c\" in pod \"p\" not found";
    assert_eq!(log.logs(&previous).unwrap_err().to_string(), text);
    let status = fixture.status("p").await;
    let ended = container(&status)
        .state
        .as_ref()
        .unwrap()
        .terminated
        .as_ref()
        .unwrap();
    assert_eq!(
        (ended.exit_code, ended.message.as_deref()),
        (7, Some("well done"))
    );
}

#[tokio::test]
async fn functions_control_readiness_and_see_the_stop_signal() {
    let fixture = Fixture::start().await;
    let stopped = Arc::new(AtomicUsize::new(0));
    let counter = stopped.clone();
    let (open, opened) = tokio::sync::watch::channel(false);
    fixture
        .nodes
        .images()
        .register_fn("server", move |container: Container| {
            let (counter, mut opened) = (counter.clone(), opened.clone());
            container.set_ready(false);
            async move {
                opened.wait_for(|open| *open).await.unwrap();
                container.set_ready(true);
                container.stopped().await;
                counter.fetch_add(1, Ordering::SeqCst);
                0
            }
        });
    let probe = json!({"httpGet": {"port": 80}, "periodSeconds": 1});
    let spec = json!({"containers": [{"name": "c", "image": "server", "readinessProbe": probe}]});
    assert!(!is_ready(&fixture.create("p", spec).await));
    open.send_replace(true);
    until(&fixture, is_ready).await;
    fixture
        .pods()
        .delete("p", &DeleteParams::default())
        .await
        .unwrap();
    let most = std::time::Duration::from_secs(60);
    wait_for_deletion(&fixture.pods(), "p", None, most)
        .await
        .unwrap();
    assert_eq!(stopped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_function_that_is_no_longer_alive_is_restarted() {
    let fixture = Fixture::start().await;
    let starts = Arc::new(AtomicUsize::new(0));
    let counter = starts.clone();
    fixture
        .nodes
        .images()
        .register_fn("server", move |container: Container| {
            let is_first = counter.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                container.set_alive(!is_first);
                container.stopped().await;
                0
            }
        });
    let probe = json!({"httpGet": {"port": 80}, "periodSeconds": 1, "failureThreshold": 1});
    let spec = json!({"containers": [{"name": "c", "image": "server", "livenessProbe": probe}]});
    fixture.create("p", spec).await;
    until(&fixture, |status| container(status).restart_count == 1).await;
    until(&fixture, is_ready).await;
    assert_eq!(starts.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_panicking_function_exits_with_134() {
    let fixture = Fixture::start().await;
    fixture
        .nodes
        .images()
        .register_fn("broken", |_: Container| async move {
            if true {
                panic!("as planned");
            }
            0
        });
    fixture.run("p", "broken", "Never").await;
    until(&fixture, |status| status.phase.as_deref() == Some("Failed")).await;
    let status = fixture.status("p").await;
    let ended = container(&status)
        .state
        .as_ref()
        .unwrap()
        .terminated
        .as_ref()
        .unwrap();
    assert_eq!(ended.exit_code, 134);
}
