//! The reviews that webhooks get, by verb.

use http::Method;
use serde_json::{Value, json};

use super::{MUTATING, Scene, VALIDATING, allow, rule};
use crate::http_client::{MAPS, map};

#[tokio::test]
async fn a_create_shows_the_new_object() {
    let scene = Scene::new().await;
    let mutating = scene.serve("a", allow);
    let validating = scene.serve("b", allow);
    scene.register(MUTATING, "a", json!({})).await;
    scene.register(VALIDATING, "b", json!({})).await;
    let object = json!({"metadata": {"generateName": "m-"}});
    let path = format!("{MAPS}?fieldManager=me&fieldValidation=Strict");
    let created = scene.http.post(&path, object).await.ok();
    let request = validating.lock()[0]["request"].clone();
    assert_eq!(request["name"], created["metadata"]["name"]);
    assert_eq!(
        request["object"]["metadata"]["uid"],
        created["metadata"]["uid"]
    );
    let mut request = mutating.lock()[0]["request"].clone();
    assert!(request.get("name").is_none());
    let object = request["object"].take();
    assert_eq!(
        (&object["kind"], &object["apiVersion"]),
        (&json!("ConfigMap"), &json!("v1"))
    );
    assert_eq!(object["metadata"]["managedFields"][0]["manager"], "me");
    let uid = request["uid"].take();
    assert_eq!(uid.as_str().unwrap_or_default().len(), 36);
    let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
    let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
    let user = request["userInfo"].take();
    assert!(user["groups"].is_array(), "{user}");
    assert_eq!(
        request,
        json!({
            "uid": null, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "namespace": "default", "operation": "CREATE", "userInfo": null, "object": null, "oldObject": null,
            "dryRun": false, "options": {
                "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me",
                "fieldValidation": "Strict",
            },
        })
    );
}

#[tokio::test]
async fn verbs_have_their_contents() {
    let scene = Scene::new().await;
    let seen = scene.serve("a", allow);
    scene.register(VALIDATING, "a", json!({})).await;
    let http = &scene.http;
    let one = format!("{MAPS}/m");
    http.post(MAPS, map("m")).await.ok();
    http.patch(&one, json!({"data": {"a": "1"}})).await.ok();
    let options = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Orphan"});
    http.delete_with(&one, options).await.ok();
    http.post(MAPS, map("n")).await.ok();
    http.delete(MAPS).await.ok();
    let reviews = seen.lock().clone();
    let request = |i: usize| reviews[i]["request"].clone();
    let (update, delete, collection) = (request(1), request(2), request(4));
    assert_eq!(update["oldObject"]["metadata"]["name"], "m");
    assert_eq!(update["object"]["data"]["a"], "1");
    assert_eq!(update["options"]["kind"], "UpdateOptions");
    assert_eq!(delete["operation"], "DELETE");
    assert_eq!(delete["object"], Value::Null);
    assert_eq!(delete["oldObject"]["data"]["a"], "1");
    assert_eq!(
        delete["options"],
        json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 0,
            "propagationPolicy": "Orphan"})
    );
    assert!(collection.get("name").is_none(), "{collection}");
}

#[tokio::test]
async fn subresources_and_connects_have_their_own_kinds() {
    let scene = Scene::new().await;
    let seen = scene.serve("a", allow);
    let rules = json!({"rules": [rule("apps", "deployments/scale"), rule("", "pods/*")]});
    scene.register(VALIDATING, "a", rules).await;
    let http = &scene.http;
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}}, "template": template}});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    http.post(deployments, deployment).await.ok();
    let scale = format!("{deployments}/d/scale");
    http.patch(&scale, json!({"spec": {"replicas": 3}}))
        .await
        .ok();
    let request = seen.lock()[0]["request"].clone();
    assert_eq!(
        request["kind"],
        json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
    );
    assert_eq!(
        (&request["subResource"], &request["name"]),
        (&json!("scale"), &json!("d"))
    );
    assert_eq!(request["object"]["spec"]["replicas"], 3);
    assert_eq!(request["oldObject"]["spec"]["replicas"], 1);
    let pods = "/api/v1/namespaces/default/pods";
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    http.post(pods, pod).await.ok();
    let exec = format!("{pods}/p/exec?command=ls&command=-l&stdout=true&container=c");
    http.send(Method::POST, &exec, "application/json", "")
        .await
        .refused(400);
    let request = seen.lock().last().expect("a review")["request"].clone();
    assert_eq!(request["operation"], "CONNECT");
    assert_eq!(request["kind"]["kind"], "PodExecOptions");
    assert_eq!(request["options"], Value::Null);
    assert_eq!(
        request["object"],
        json!({"kind": "PodExecOptions", "apiVersion": "v1", "stdout": true, "container": "c",
            "command": ["ls", "-l"]})
    );
    let before = seen.lock().len();
    http.get(&format!("{pods}/p/log")).await;
    assert_eq!(seen.lock().len(), before);
    let dry = format!("{exec}&dryRun=All");
    let dry = http.send(Method::POST, &dry, "application/json", "").await;
    dry.refused_with(400, "dryRun is not supported");
}

#[tokio::test]
async fn objects_are_converted_to_the_version_of_the_rule() {
    let scene = Scene::new().await;
    let seen = scene.serve("a", allow);
    let mut autoscalers = rule("autoscaling", "horizontalpodautoscalers");
    autoscalers["apiVersions"] = json!(["v1"]);
    scene
        .register(VALIDATING, "a", json!({"rules": [autoscalers]}))
        .await;
    let scaler = json!({"metadata": {"name": "h"}, "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}],
    }});
    let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    scene.http.post(path, scaler).await.ok();
    let request = seen.lock()[0]["request"].clone();
    assert_eq!(request["kind"]["version"], "v1");
    assert_eq!(request["resource"]["version"], "v1");
    assert_eq!(request["requestKind"]["version"], "v2");
    assert_eq!(request["object"]["apiVersion"], "autoscaling/v1");
    assert_eq!(
        request["object"]["spec"]["targetCPUUtilizationPercentage"],
        50
    );
}
