//! Tokens end with their account and with the object that they are bound to, at once.

use serde_json::{Value, json};

use super::{ACCOUNTS, Api, PODS, SECRETS};

const INVALIDATED: &str = "service account token has been invalidated";

fn pod(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "serviceAccountName": "web",
            "nodeName": "n1",
        },
    })
}

fn bound_to(kind: &str, name: &str) -> Value {
    json!({"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name}})
}

/// Deletes an object without a grace period.
async fn delete_now(api: &Api, path: &str) {
    api.delete(&format!("{path}?gracePeriodSeconds=0"))
        .await
        .ok();
}

#[tokio::test]
async fn tokens_of_a_deleted_account_are_rejected_immediately() {
    let api = Api::start().await;
    let token = api.token(json!({})).await;
    let old = api.get(&format!("{ACCOUNTS}/web")).await.ok().uid();
    api.user(&token).await;
    api.delete(&format!("{ACCOUNTS}/web")).await.ok();
    let reason = api.rejection(&token).await;
    assert_eq!(reason, "serviceaccounts \"web\" not found");
    let account = json!({"metadata": {"name": "web"}});
    let new = api.post(ACCOUNTS, account).await.created().uid();
    assert_eq!(
        api.rejection(&token).await,
        format!("service account UID ({new}) does not match claim ({old})")
    );
}

#[tokio::test]
async fn an_account_that_waits_for_its_finalizers_has_a_minute() {
    let api = Api::start().await;
    let path = format!("{ACCOUNTS}/web");
    let finalizers = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    api.patch(&path, finalizers).await.ok();
    let token = api.token(json!({})).await;
    api.delete(&path).await.ok();
    api.clock.advance(60);
    api.user(&token).await;
    api.clock.advance(1);
    let reason = api.rejection(&token).await;
    assert_eq!(reason, "service account shop/web has been deleted");
}

#[tokio::test]
async fn changes_of_an_account_do_not_matter() {
    let api = Api::start().await;
    let token = api.token(json!({})).await;
    api.user(&token).await;
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    api.patch(&format!("{ACCOUNTS}/web"), labels).await.ok();
    api.user(&token).await;
}

#[tokio::test]
async fn a_pod_takes_its_token_with_it() {
    let api = Api::start().await;
    let node = json!({"metadata": {"name": "n1"}});
    let node = api.post("/api/v1/nodes", node).await.created().uid();
    let old = api.post(PODS, pod("p")).await.created().uid();
    let token = api.token(bound_to("Pod", "p")).await;
    let extra = api.user(&token).await["extra"].clone();
    for (key, value) in [
        ("pod-name", "p"),
        ("pod-uid", &old),
        ("node-name", "n1"),
        ("node-uid", &node),
    ] {
        let key = format!("authentication.kubernetes.io/{key}");
        assert_eq!(extra[key], json!([value]));
    }
    // The node is for information only.
    api.delete("/api/v1/nodes/n1").await.ok();
    api.user(&token).await;
    // In its grace period a pod keeps its token.
    api.delete(&format!("{PODS}/p?gracePeriodSeconds=30"))
        .await
        .ok();
    api.clock.advance(89);
    api.user(&token).await;
    api.clock.advance(2);
    assert_eq!(api.rejection(&token).await, INVALIDATED);
    delete_now(&api, &format!("{PODS}/p")).await;
    assert_eq!(api.rejection(&token).await, INVALIDATED);
    let new = api.post(PODS, pod("p")).await.created().uid();
    assert_eq!(
        api.rejection(&token).await,
        format!("pod UID ({new}) does not match service account pod ref claim ({old})")
    );
}

#[tokio::test]
async fn a_secret_takes_its_token_with_it() {
    let api = Api::start().await;
    let secret = json!({"metadata": {"name": "s"}});
    let old = api.post(SECRETS, secret.clone()).await.created().uid();
    let token = api.token(bound_to("Secret", "s")).await;
    api.user(&token).await;
    delete_now(&api, &format!("{SECRETS}/s")).await;
    assert_eq!(api.rejection(&token).await, INVALIDATED);
    let new = api.post(SECRETS, secret).await.created().uid();
    assert_eq!(
        api.rejection(&token).await,
        format!("secret UID ({new}) does not match service account secret ref claim ({old})")
    );
}

#[tokio::test]
async fn a_node_takes_its_token_with_it() {
    let api = Api::start().await;
    let node = json!({"metadata": {"name": "n1"}});
    let old = api
        .post("/api/v1/nodes", node.clone())
        .await
        .created()
        .uid();
    let token = api.token(bound_to("Node", "n1")).await;
    let extra = api.user(&token).await["extra"].clone();
    assert_eq!(extra["authentication.kubernetes.io/node-uid"], json!([old]));
    api.delete("/api/v1/nodes/n1").await.ok();
    assert_eq!(api.rejection(&token).await, INVALIDATED);
    let new = api.post("/api/v1/nodes", node).await.created().uid();
    assert_eq!(
        api.rejection(&token).await,
        format!("node UID ({new}) does not match service account node ref claim ({old})")
    );
}
