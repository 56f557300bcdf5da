//! `serviceaccounts/token`: the token, its limits and the answers to requests that are wrong.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ACCOUNTS, Api, PODS, parts};

#[tokio::test]
async fn a_token_says_who_it_is_for_and_how_long() {
    let api = Api::start().await;
    let reply = api.request_token(json!({})).await.created();
    assert_eq!(reply.body["kind"], "TokenRequest");
    let account = api.get(&format!("{ACCOUNTS}/web")).await.ok();
    let metadata = json!({
        "name": "web", "namespace": "shop", "uid": account.uid(),
        "creationTimestamp": "2026-05-01T12:00:00Z",
        "managedFields": [{
            "manager": "unknown", "operation": "Update", "subresource": "token",
            "apiVersion": "authentication.k8s.io/v1", "time": "2026-05-01T12:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:expirationSeconds": {}}},
        }],
    });
    assert_eq!(reply.body["metadata"], metadata);
    let spec = json!({
        "audiences": ["https://kubernetes.default.svc"], "boundObjectRef": null,
        "expirationSeconds": 3600,
    });
    assert_eq!(reply.body["spec"], spec);
    assert_eq!(
        reply.body["status"]["expirationTimestamp"],
        "2026-05-01T13:00:00Z"
    );
    let (header, mut claims) = parts(reply.body["status"]["token"].as_str().unwrap());
    assert_eq!(header["alg"], "ES256");
    assert_eq!(header["kid"].as_str().unwrap().len(), 43);
    assert_eq!(header.as_object().unwrap().len(), 2);
    let jti = claims["jti"].take();
    assert_eq!(jti.as_str().unwrap().len(), 36);
    let now = 1_777_636_800;
    let expected = json!({
        "aud": ["https://kubernetes.default.svc"],
        "exp": now + 3600, "iat": now, "nbf": now, "jti": null,
        "iss": "https://kubernetes.default.svc",
        "kubernetes.io": {
            "namespace": "shop",
            "serviceaccount": {"name": "web", "uid": account.uid()},
        },
        "sub": "system:serviceaccount:shop:web",
    });
    assert_eq!(claims, expected);
}

#[tokio::test]
async fn the_token_identifies_the_account() {
    let api = Api::start().await;
    let token = api.token(json!({})).await;
    let uid = api.get(&format!("{ACCOUNTS}/web")).await.ok().uid();
    let jti = parts(&token).1["jti"].as_str().unwrap().to_owned();
    let expected = json!({
        "username": "system:serviceaccount:shop:web",
        "uid": uid,
        "groups": [
            "system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated",
        ],
        "extra": {"authentication.kubernetes.io/credential-id": [format!("JTI={jti}")]},
    });
    // The second time the signature is known.
    for _ in 0..2 {
        assert_eq!(api.user(&token).await, expected);
    }
}

#[tokio::test]
async fn lifetimes_have_limits() {
    let api = Api::start().await;
    let invalid = |value: u64, message: &str| {
        format!(
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: {value}: {message}"
        )
    };
    let short = api.request_token(json!({"expirationSeconds": 599})).await;
    let message = "may not specify a duration less than 10 minutes";
    short.refused(422, &invalid(599, message));
    let long = (1_u64 << 32) + 1;
    let reply = api.request_token(json!({"expirationSeconds": long})).await;
    let message = "may not specify a duration larger than 2^32 seconds";
    reply.refused(422, &invalid(long, message));
    let longest = api
        .request_token(json!({"expirationSeconds": 1_u64 << 32}))
        .await;
    longest.created();
}

#[tokio::test]
async fn a_configured_maximum_shortens_with_a_warning() {
    let api = Api::with(|builder| {
        builder.service_account_max_token_expiration(Duration::from_secs(7200))
    })
    .await;
    let reply = api
        .request_token(json!({"expirationSeconds": 9000}))
        .await
        .created();
    assert_eq!(
        reply.warnings(),
        ["299 - \"requested expiration of 9000 seconds shortened to 7200 seconds\""]
    );
    assert_eq!(reply.body["spec"]["expirationSeconds"], 7200);
    assert_eq!(
        reply.body["status"]["expirationTimestamp"],
        "2026-05-01T14:00:00Z"
    );
    let within = api
        .request_token(json!({"expirationSeconds": 7200}))
        .await
        .created();
    assert!(within.warnings().is_empty());
}

#[tokio::test]
async fn the_body_must_agree_with_the_path() {
    let api = Api::start().await;
    let path = format!("{ACCOUNTS}/web/token");
    let with = |metadata: Value| json!({"metadata": metadata, "spec": {}});
    api.post(&path, with(json!({"name": "other"}))).await.refused(
        422,
        "TokenRequest.authentication.k8s.io \"web\" is invalid: metadata.name: Invalid value: \"other\": must match the service account name if specified",
    );
    api.post(&path, with(json!({"namespace": "other"})))
        .await
        .refused(
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        );
    let uid = api.get(&format!("{ACCOUNTS}/web")).await.ok().uid();
    api.post(&path, with(json!({"uid": "another"}))).await.refused(
        409,
        &format!(
            "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"web\": the UID in the token request (another) does not match the UID of the service account ({uid})"
        ),
    );
    let all = json!({"name": "web", "namespace": "shop", "uid": uid});
    api.post(&path, with(all)).await.created();
    let missing = format!("{ACCOUNTS}/none/token");
    let reply = api.post(&missing, with(json!({}))).await;
    reply.refused(404, "serviceaccounts \"none\" not found");
}

#[tokio::test]
async fn tokens_are_bound_to_objects_that_exist() {
    let api = Api::start().await;
    let bound = |reference: Value| json!({"boundObjectRef": reference});
    let pod = |name: &str| json!({"kind": "Pod", "apiVersion": "v1", "name": name});
    for (reference, code, message) in [
        (pod("p"), 404, "pods \"p\" not found"),
        (pod(""), 400, "Name parameter required."),
        (
            json!({"kind": "Secret", "apiVersion": "v1", "name": "s"}),
            404,
            "secrets \"s\" not found",
        ),
        (
            json!({"kind": "Node", "apiVersion": "v1", "name": "n"}),
            404,
            "nodes \"n\" not found",
        ),
        (
            json!({"kind": "ConfigMap", "apiVersion": "v1", "name": "c"}),
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
        (
            json!({"kind": "Pod", "apiVersion": "apps/v1", "name": "p"}),
            400,
            "cannot bind token to object of type apps/v1, Kind=Pod",
        ),
    ] {
        let reply = api.request_token(bound(reference)).await;
        reply.refused(code, message);
    }
    let containers = json!([{"name": "c", "image": "i"}]);
    let other = json!({
        "metadata": {"name": "other"},
        "spec": {"containers": containers, "serviceAccountName": "default"},
    });
    api.post(PODS, other).await.created();
    api.request_token(bound(pod("other"))).await.refused(
        400,
        "cannot bind token for serviceaccount \"web\" to pod running with different serviceaccount name.",
    );
    let own = json!({
        "metadata": {"name": "own"},
        "spec": {"containers": containers, "serviceAccountName": "web"},
    });
    api.post(PODS, own).await.created();
    let mut stale = pod("own");
    stale["uid"] = json!("stale");
    let reply = api.request_token(bound(stale)).await;
    reply.refused(
        409,
        "Operation cannot be fulfilled on Pod \"own\": the UID in the bound object reference (stale) does not match the UID in record. The object might have been deleted and then recreated",
    );
    assert_eq!(reply.body["details"], json!({"name": "own", "kind": "Pod"}));
    api.request_token(bound(pod("own"))).await.created();
    // An apiVersion that is none counts as missing.
    let odd = json!({"kind": "Pod", "apiVersion": "a/b/c", "name": "own"});
    api.request_token(bound(odd)).await.created();
    api.request_token(bound(json!({"kind": "Pod", "name": "own"})))
        .await
        .created();
    let reply = api.request_token(bound(json!({}))).await;
    reply.refused(400, "cannot bind token to object of type /, Kind=");
}

#[tokio::test]
async fn tokens_that_kubernetes_adds_to_pods_live_for_a_year() {
    let api = Api::start().await;
    let pod = json!({
        "metadata": {"name": "own"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "serviceAccountName": "web",
            "nodeName": "gone",
        },
    });
    api.post(PODS, pod).await.created();
    let bound = |seconds: i64, audiences: Value| {
        json!({
            "expirationSeconds": seconds,
            "audiences": audiences,
            "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "own"},
        })
    };
    let reply = api.request_token(bound(3607, json!([]))).await.created();
    assert_eq!(
        reply.body["status"]["expirationTimestamp"],
        "2026-05-01T13:00:07Z"
    );
    let token = reply.body["status"]["token"].as_str().unwrap();
    let claims = parts(token).1;
    let now = claims["iat"].as_i64().unwrap();
    assert_eq!(claims["exp"], now + 365 * 24 * 3600);
    assert_eq!(claims["kubernetes.io"]["warnafter"], now + 3607);
    // A node that does not exist is known by its name only.
    assert_eq!(claims["kubernetes.io"]["node"], json!({"name": "gone"}));
    api.clock.advance(24 * 3600);
    api.user(token).await;
    for spec in [
        bound(3606, json!([])),
        bound(3607, json!(["https://kubernetes.default.svc", "vault"])),
        json!({"expirationSeconds": 3607}),
    ] {
        let claims = parts(&api.token(spec).await).1;
        assert_eq!(claims["kubernetes.io"]["warnafter"], Value::Null);
        let lifetime = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
        assert!(lifetime <= 3607, "{claims}");
    }
}

#[tokio::test]
async fn the_extension_can_be_switched_off() {
    let api = Api::with(|builder| builder.service_account_extend_token_expiration(false)).await;
    let pod = json!({
        "metadata": {"name": "own"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "web"},
    });
    api.post(PODS, pod).await.created();
    let spec = json!({
        "expirationSeconds": 3607,
        "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "own"},
    });
    let claims = parts(&api.token(spec).await).1;
    assert_eq!(claims["kubernetes.io"]["warnafter"], Value::Null);
}
