//! `create`: names given and made up, what the server fills in, what must not be there.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{Http, MAPS, map, map_with, name_of};

async fn start() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    (cluster, http)
}

#[tokio::test]
async fn created_objects_can_be_read() {
    let (cluster, http) = start().await;
    let answer = http.post(MAPS, map_with("a", "x")).await;
    assert_eq!(answer.code, 201);
    let created = answer.ok();
    assert_eq!(
        (&created["kind"], &created["apiVersion"]),
        (&json!("ConfigMap"), &json!("v1"))
    );
    let metadata = &created["metadata"];
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(
        metadata["resourceVersion"],
        cluster.revision().await.to_string()
    );
    assert_eq!(metadata["uid"].as_str().map(str::len), Some(36));
    assert!(
        metadata["creationTimestamp"]
            .as_str()
            .is_some_and(|t| t.ends_with('Z'))
    );
    assert_eq!(metadata["generation"], Value::Null);
    assert_eq!(http.get(&format!("{MAPS}/a")).await.ok(), created);
    // In a list an item does not say again what the list says.
    let mut item = created.clone();
    let fields = item.as_object_mut().unwrap();
    fields.remove("kind");
    fields.remove("apiVersion");
    assert_eq!(http.get(MAPS).await.ok()["items"], json!([item]));
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let (cluster, http) = start().await;
    http.post(MAPS, map("a")).await.ok();
    let before = cluster.revision().await;
    let status = http
        .post(MAPS, map("a"))
        .await
        .refused_with(409, "configmaps \"a\" already exists");
    assert_eq!(status["reason"], "AlreadyExists");
    assert_eq!(
        status["details"],
        json!({"name": "a", "kind": "configmaps"})
    );
    assert_eq!(cluster.revision().await, before);
    // In another namespace it is another name.
    http.post("/api/v1/namespaces/kube-public/configmaps", map("a"))
        .await
        .ok();
}

#[tokio::test]
async fn a_name_can_be_made_up() {
    let (_cluster, http) = start().await;
    let suffix = |text: &str| {
        text.len() == 5
            && text
                .bytes()
                .all(|b| b"bcdfghjklmnpqrstvwxz2456789".contains(&b))
    };
    let mut names = Vec::new();
    for _ in 0..20 {
        let created = http
            .post(MAPS, json!({"metadata": {"generateName": "gen-"}}))
            .await
            .ok();
        assert_eq!(created["metadata"]["generateName"], "gen-");
        let name = name_of(&created).to_owned();
        assert!(name.strip_prefix("gen-").is_some_and(suffix), "{name}");
        names.push(name);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 20);
    // A long beginning is cut, so that the name fits where names must be labels.
    let long = "x".repeat(80);
    let created = http
        .post(MAPS, json!({"metadata": {"generateName": long}}))
        .await
        .ok();
    let name = name_of(&created);
    assert_eq!(name.len(), 63);
    assert!(name.strip_prefix(&long[..58]).is_some_and(suffix), "{name}");
    // A name that is given wins.
    let both = json!({"metadata": {"name": "mine", "generateName": "gen-"}});
    assert_eq!(name_of(&http.post(MAPS, both).await.ok()), "mine");
}

#[tokio::test]
async fn a_nameless_object_is_invalid() {
    let (cluster, http) = start().await;
    let before = cluster.revision().await;
    let status = http.post(MAPS, json!({})).await.refused_with(
        422,
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
    );
    let cause = json!({
        "reason": "FieldValueRequired",
        "message": "Required value: name or generateName is required",
        "field": "metadata.name",
    });
    assert_eq!(
        status["details"],
        json!({"kind": "ConfigMap", "causes": [cause]})
    );
    assert_eq!(cluster.revision().await, before);
}

#[tokio::test]
async fn a_resource_version_must_not_be_given() {
    let (_cluster, http) = start().await;
    let object = json!({"metadata": {"name": "a", "resourceVersion": "5"}});
    let status = http.post(MAPS, object).await.refused_with(
        500,
        "resourceVersion should not be set on objects to be created",
    );
    assert!(status["reason"].is_null());
}

#[tokio::test]
async fn the_namespace_is_that_of_the_path() {
    let (_cluster, http) = start().await;
    let object = json!({"metadata": {"name": "a", "namespace": "kube-public"}});
    http.post(MAPS, object).await.refused_with(
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    );
    let object = json!({"metadata": {"name": "a", "namespace": "default"}});
    assert_eq!(
        http.post(MAPS, object).await.ok()["metadata"]["namespace"],
        "default"
    );
}

#[tokio::test]
async fn fields_of_the_server_cannot_be_set() {
    let (_cluster, http) = start().await;
    let object = json!({"metadata": {
        "name": "a",
        "uid": "mine",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "selfLink": "/mine",
    }});
    let metadata = http.post(MAPS, object).await.ok()["metadata"].clone();
    assert_ne!(metadata["uid"], "mine");
    assert_ne!(metadata["creationTimestamp"], "2001-01-01T00:00:00Z");
    for key in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        assert_eq!(metadata[key], Value::Null, "{key}");
    }
}

#[tokio::test]
async fn unqualified_finalizers_are_invalid() {
    let (_cluster, http) = start().await;
    let object = json!({"metadata": {"name": "f", "finalizers": ["nodomain"]}});
    http.post(MAPS, object).await.refused_with(
        422,
        "ConfigMap \"f\" is invalid: metadata.finalizers[0]: Invalid value: \"nodomain\": name is neither a standard finalizer name nor is it fully qualified",
    );
}

#[tokio::test]
async fn resources_that_are_not_served_are_not_found_or_not_allowed() {
    let (_cluster, http) = start().await;
    let not_found = "the server could not find the requested resource";
    for path in [
        "/api/v1/nope",
        "/api/v9/pods",
        "/apis/apps/v9/deployments",
        "/api/v1/namespaces/default/nope/x",
    ] {
        let status = http.get(path).await.refused_with(404, not_found);
        assert_eq!(
            (&status["reason"], &status["details"]),
            (&json!("NotFound"), &json!({})),
            "{path}"
        );
    }
    http.get(&format!("{MAPS}/a/b/c/d"))
        .await
        .refused_with(404, not_found);
    let answer = http.get("/apis/nope/v1/x").await;
    assert_eq!(
        (answer.code, &answer.body[..]),
        (404, &b"404 page not found\n"[..])
    );

    let not_allowed = "the server does not allow this method on the requested resource";
    http.post(&format!("{MAPS}/x"), json!({}))
        .await
        .refused_with(405, not_allowed);
    http.put(MAPS, json!({}))
        .await
        .refused_with(405, not_allowed);
    http.delete("/api/v1/namespaces")
        .await
        .refused_with(405, not_allowed);
    let brew = http::Method::from_bytes(b"BREW").unwrap();
    http.send(brew, MAPS, "", "")
        .await
        .refused_with(405, not_allowed);
}
