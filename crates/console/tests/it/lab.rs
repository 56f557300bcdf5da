//! The lab: faults, the clock and forks, and where it is absent.

use http::Method;
use kubewright_cluster::{Cluster, Lab};
use kubewright_console::Console;
use serde_json::{Value, json};

use crate::scene::Scene;

const LAB: &str = "/kubewright/v1/console/lab";

async fn scene() -> (Cluster, Scene) {
    let lab = Lab::new();
    let cluster = Cluster::builder().lab(lab.clone()).start().await.unwrap();
    let console = Console::builder(cluster.direct_client()).local().lab(lab);
    let console = console.start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    (cluster, Scene::of(console))
}

async fn act(scene: &Scene, action: Value) -> Value {
    let (code, state) = scene.call(Method::POST, LAB, Some(&action)).await;
    assert_eq!(code, 200, "{state}");
    state
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_hit_clients_but_not_the_console() {
    let (cluster, scene) = scene().await;
    assert_eq!(scene.get(LAB).await.1["active"], false);
    let fault = json!({"do": "inject", "fault": {"type": "gone"}, "on": {"verb": "list", "resource": "pods"}, "times": 2});
    let state = act(&scene, fault).await;
    assert_eq!(
        (&state["active"], &state["faults"][0]["times"]),
        (&json!(true), &json!(2))
    );
    let (code, _) = scene.get("/api/v1/pods").await;
    assert_eq!(code, 200);
    let list = http::Request::get("/api/v1/pods").body(Vec::new()).unwrap();
    let refused = cluster.client().request::<Value>(list).await;
    assert!(refused.is_err());
    let id = state["faults"][0]["id"].clone();
    let state = act(&scene, json!({"do": "remove", "id": id})).await;
    assert_eq!(state["faults"], json!([]));

    let state = act(&scene, json!({"do": "down"})).await;
    assert_eq!(state["down"], true);
    assert_eq!(scene.get("/version").await.0, 200);
    assert_eq!(act(&scene, json!({"do": "clear"})).await["active"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_is_moved_and_stopped() {
    let (_cluster, scene) = scene().await;
    let state = act(&scene, json!({"do": "advance", "seconds": 3600})).await;
    assert_eq!(state["offsetSeconds"], 3600.0);
    assert_eq!(state["active"], true);
    assert_eq!(
        act(&scene, json!({"do": "rate", "rate": 0})).await["rate"],
        0.0
    );
    let first = scene.config_map("one").await;
    let second = scene.config_map("two").await;
    let created = |object: &Value| object["metadata"]["creationTimestamp"].clone();
    assert_eq!(created(&first), created(&second));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_has_its_own_console_and_is_compared() {
    let (_cluster, scene) = scene().await;
    scene.config_map("kept").await;
    scene.config_map("changed").await;
    let state = act(&scene, json!({"do": "fork"})).await;
    let url = state["forks"][0]["url"].as_str().unwrap();
    let fork = Scene::at(url);
    let maps = "/api/v1/namespaces/default/configmaps";
    let patch = json!({"data": {"k": "w"}});
    let mut request = fork.request(Method::PATCH, &format!("{maps}/changed"), Some(&patch));
    let merge = http::HeaderValue::from_static("application/merge-patch+json");
    request.headers_mut().insert("content-type", merge);
    assert_eq!(fork.code(request).await, 200);
    fork.config_map("new").await;
    assert_eq!(scene.get(&format!("{maps}/new")).await.0, 404);
    assert_eq!(fork.get(LAB).await.0, 404, "a fork has no lab");

    let (code, found) = scene.get(&format!("{LAB}/compare?number=1")).await;
    assert_eq!(code, 200, "{found}");
    let items = found["items"].as_array().unwrap().iter();
    let maps: Vec<&Value> = items.filter(|it| it["resource"] == "configmaps").collect();
    let changes: Vec<(&str, &str)> = maps
        .iter()
        .filter(|it| it["namespace"] == "default" && it["name"] != "kube-root-ca.crt")
        .map(|it| (it["name"].as_str().unwrap(), it["change"].as_str().unwrap()))
        .collect();
    assert_eq!(changes, [("changed", "updated"), ("new", "created")]);
    let changed = maps.iter().find(|it| it["name"] == "changed").unwrap();
    assert_eq!(changed["diff"][0]["path"], "data.k");

    let state = act(&scene, json!({"do": "drop", "number": 1})).await;
    assert_eq!(state["forks"], json!([]));
    assert_eq!(scene.get(&format!("{LAB}/compare?number=1")).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_lab_there_are_no_experiments() {
    let scene = Scene::start().await;
    assert_eq!(
        scene.get("/kubewright/v1/console/session").await.1["lab"],
        false
    );
    assert_eq!(scene.get(LAB).await.0, 404);
    let (code, _) = scene
        .call(Method::POST, LAB, Some(&json!({"do": "down"})))
        .await;
    assert_eq!(code, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_actions_are_rejected() {
    let (_cluster, scene) = scene().await;
    for action in [
        json!({"do": "explode"}),
        json!({"do": "inject", "fault": {"type": "conflict"}, "on": {"verb": "juggle"}}),
        json!({}),
    ] {
        let (code, answer) = scene.call(Method::POST, LAB, Some(&action)).await;
        assert_eq!(code, 400, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn experiments_need_the_token() {
    let (_cluster, scene) = scene().await;
    let mut request = scene.request(Method::POST, LAB, Some(&json!({"do": "down"})));
    request.headers_mut().remove("authorization");
    assert_eq!(scene.code(request).await, 401);
    assert_eq!(scene.get(LAB).await.1["down"], false);
}
