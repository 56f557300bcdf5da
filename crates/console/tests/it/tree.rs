//! Owners and owned objects.

use serde_json::{Value, json};

use crate::scene::Scene;

async fn owned(scene: &Scene, name: &str, owner: &Value) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": [owner]}});
    scene
        .create("/api/v1/namespaces/default/configmaps", object)
        .await
}

async fn tree(scene: &Scene, of: &Value) -> Value {
    let uid = of["metadata"]["uid"].as_str().unwrap();
    let (code, tree) = scene
        .get(&format!(
            "/kubewright/v1/console/tree?uid={uid}&namespace=default"
        ))
        .await;
    assert_eq!(code, 200, "{tree}");
    tree
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_has_owners_above_and_owned_objects_below() {
    let scene = Scene::start().await;
    let root = scene.config_map("root").await;
    let middle = owned(&scene, "middle", &root).await;
    owned(&scene, "leaf", &middle).await;
    let tree = tree(&scene, &middle).await;
    assert_eq!(tree["owners"][0]["name"], "root");
    assert_eq!(tree["object"]["name"], "middle");
    assert_eq!(tree["object"]["owns"][0]["name"], "leaf");
    assert_eq!(tree["omitted"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_of_the_past_has_the_objects_of_that_revision() {
    let scene = Scene::start().await;
    let root = scene.config_map("root").await;
    let leaf = owned(&scene, "leaf", &root).await;
    owned(&scene, "late", &root).await;
    let at = |revision: &Value| {
        let uid = root["metadata"]["uid"].as_str().unwrap();
        let revision = revision["metadata"]["resourceVersion"].as_str().unwrap();
        format!("/kubewright/v1/console/tree?uid={uid}&namespace=default&at={revision}")
    };
    let (code, then) = scene.get(&at(&leaf)).await;
    assert_eq!(code, 200, "{then}");
    let names = |tree: &Value| {
        let owns = tree["object"]["owns"].as_array().unwrap();
        let names = owns
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&then), ["leaf"]);
    assert_eq!(names(&tree(&scene, &root).await), ["late", "leaf"]);
    assert_eq!(names(&scene.get(&at(&root)).await.1), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_owner_is_marked() {
    let scene = Scene::start().await;
    let gone = json!({"metadata": {"name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}});
    let orphan = owned(&scene, "orphan", &gone).await;
    let tree = tree(&scene, &orphan).await;
    assert_eq!(
        (&tree["owners"][0]["name"], &tree["owners"][0]["missing"]),
        (&json!("gone"), &json!(true))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_tree_is_cut_and_a_cycle_ends() {
    let scene = Scene::start().await;
    let root = scene.config_map("root").await;
    for n in 0..230 {
        owned(&scene, &format!("m{n:03}"), &root).await;
    }
    let tree = tree(&scene, &root).await;
    assert_eq!(tree["object"]["owns"].as_array().unwrap().len(), 199);
    assert_eq!(tree["omitted"], 31);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_object_has_no_tree() {
    let scene = Scene::start().await;
    let (code, _) = scene.get("/kubewright/v1/console/tree?uid=none").await;
    assert_eq!(code, 404);
}
