//! Pods of a local cluster, with ConfigMaps in place of the operator's objects.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, ResourceQuota},
};
use kube::api::Patch;
use kubewright_cluster::{Cluster, Profile};
use kubewright_controller::wait::wait_for;
use serde_json::{Value, from_value, json};

use super::*;
use crate::{
    commands::dev::{observer, screen::View},
    terminal::{Size, style::Style},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a line with all these texts.
async fn shows(screen: &Screen, texts: &[&str]) {
    let size = Size {
        lines: 200,
        columns: 2000,
    };
    let seen = async {
        loop {
            let lines = screen.lines(size);
            if lines
                .iter()
                .any(|line| texts.iter().all(|text| line.contains(text)))
            {
                return;
            }
            screen.changed().await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, seen).await;
    assert!(in_time.is_ok(), "no {texts:?} in {:#?}", screen.lines(size));
}

fn deployment(name: &str, owner: Option<Value>, image: &str) -> Deployment {
    let object = json!({
        "metadata": {"name": name, "ownerReferences": owner.map(|owner| vec![owner])},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    });
    from_value(object).unwrap()
}

#[tokio::test]
async fn pods_of_owned_workloads_are_shown_with_the_reason_of_their_failure() {
    let cluster = Cluster::builder()
        .profile(Profile::Full)
        .nodes(1)
        .start()
        .await
        .unwrap();
    let client = cluster.client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let map: ConfigMap = from_value(json!({"metadata": {"name": "shop"}})).unwrap();
    let map = maps.create(&Default::default(), &map).await.unwrap();
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "shop", "uid": map.metadata.uid, "controller": true,
    });
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    for object in [
        deployment("owned", Some(owner), "nginx"),
        deployment("other", None, "nginx"),
    ] {
        deployments
            .create(&Default::default(), &object)
            .await
            .unwrap();
    }
    let screen = Screen::new(View::Live, Style::Plain, "crew");
    let owners = Owners::new(client.clone(), vec![String::new()]);
    let story = async {
        shows(
            &screen,
            &[
                "pod       default/owned-",
                "of configmap/shop",
                "Running, 1/1 ready",
            ],
        )
        .await;
        let image = |image: &str| {
            let containers = json!([{"name": "main", "image": image}]);
            Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": containers}}}}))
        };
        let params = Default::default();
        let patched = deployments
            .patch("owned", &params, &image("example.invalid/x"))
            .await;
        patched.unwrap();
        shows(
            &screen,
            &["default/owned-", "ImagePull", "example.invalid/x"],
        )
        .await;
        let fails =
            json!([{"name": "main", "image": "busybox", "command": ["sh", "-c", "exit 9"]}]);
        let fails = json!({"spec": {"template": {"spec": {"containers": fails}}}});
        deployments
            .patch("owned", &params, &Patch::Strategic(fails))
            .await
            .unwrap();
        shows(&screen, &["CrashLoopBackOff", "the last exit code was 9"]).await;
        let huge = json!([{"name": "main", "resources": {"requests": {"cpu": "1000"}}}]);
        let huge = json!({"spec": {"template": {"spec": {"containers": huge}}}});
        deployments
            .patch("owned", &params, &Patch::Strategic(huge))
            .await
            .unwrap();
        shows(&screen, &["Unschedulable", "1 Insufficient cpu"]).await;
        // An object between the operator's and the pods cannot create them.
        let quota: ResourceQuota =
            from_value(json!({"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}))
                .unwrap();
        let quotas: Api<ResourceQuota> = Api::default_namespaced(client.clone());
        quotas.create(&Default::default(), &quota).await.unwrap();
        let counted = wait_for(
            &quotas,
            "none",
            PATIENCE,
            |quota: Option<&ResourceQuota>| {
                let status = quota.and_then(|quota| quota.status.as_ref());
                status.is_some_and(|status| status.used.is_some())
            },
        );
        counted.await.unwrap();
        deployments
            .patch("owned", &params, &image("nginx:2"))
            .await
            .unwrap();
        shows(
            &screen,
            &[
                "event     replicaset/owned-",
                "FailedCreate",
                "exceeded quota",
            ],
        )
        .await;
    };
    let events = observer::events(client.clone(), &owners, screen.clone());
    tokio::select! {
        () = story => {}
        () = pods(client.clone(), &owners, screen.clone()) => {}
        () = events => {}
    }
    let size = Size {
        lines: 500,
        columns: 2000,
    };
    let lines = screen.lines(size);
    assert!(
        !lines
            .iter()
            .any(|line| line.contains("pod       default/other-")),
        "{lines:#?}"
    );
}

#[test]
fn states_are_those_that_kubectl_shows() {
    let state = |status: Value| {
        let pod: Pod = from_value(json!({"metadata": {"name": "p"}, "status": status})).unwrap();
        let state = PodState::of(&pod);
        (state.text, state.failed)
    };
    let container = |state: Value, ready: bool, restarts: i32| json!({"name": "c", "image": "i", "imageID": "", "ready": ready, "restartCount": restarts, "state": state});
    assert_eq!(state(json!({})), ("Pending".to_owned(), false));
    let waiting = container(
        json!({"waiting": {"reason": "ContainerCreating"}}),
        false,
        0,
    );
    let status = json!({"phase": "Pending", "containerStatuses": [waiting]});
    assert_eq!(state(status), ("Pending".to_owned(), false));
    let running = container(json!({"running": {}}), true, 2);
    let status = json!({"phase": "Running", "containerStatuses": [running]});
    assert_eq!(
        state(status),
        ("Running, 1/1 ready, restarted 2 times".to_owned(), false)
    );
    let ended = container(
        json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
        false,
        0,
    );
    let status = json!({"phase": "Failed", "containerStatuses": [ended]});
    assert_eq!(state(status), ("OOMKilled".to_owned(), true));
    let status = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
    assert_eq!(state(status), ("Evicted".to_owned(), true));
    let status = json!({"phase": "Succeeded", "containerStatuses": [container(json!({"terminated": {"exitCode": 0}}), false, 0)]});
    assert_eq!(state(status), ("Completed".to_owned(), false));
}
