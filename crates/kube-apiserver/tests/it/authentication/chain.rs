//! Several kinds of credentials in one request, and none.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Method;
use kubewright_kube_apiserver::{AnonymousAccess, KubeApiServer};
use serde_json::{Value, json};

use super::Api;

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

async fn name(api: &Api, headers: &[(&str, &str)]) -> Result<String, u16> {
    let reply = api
        .send_with(Method::POST, REVIEWS, &json!({}), headers)
        .await;
    match reply.code {
        201 => Ok(reply.body["status"]["userInfo"]["username"]
            .as_str()
            .unwrap()
            .to_owned()),
        code => Err(code),
    }
}

#[tokio::test]
async fn requests_without_credentials_are_rejected_where_there_are_users() {
    let api = Api::start().await;
    assert_eq!(name(&api, &[]).await, Err(401));
    let open = KubeApiServer::builder().build().await.unwrap();
    let request = http::Request::get("/api").body(kubewright_apiserver::Body::empty());
    assert_eq!(open.server().handle(request.unwrap()).await.status(), 200);
}

#[tokio::test]
async fn a_bad_token_is_not_anonymous() {
    let api = Api::with(|builder| builder.anonymous(AnonymousAccess::Enabled)).await;
    let anonymous = Ok("system:anonymous".to_owned());
    assert_eq!(name(&api, &[]).await, anonymous);
    assert_eq!(
        name(&api, &[("authorization", "Basic YTpi")]).await,
        anonymous
    );
    assert_eq!(
        name(&api, &[("authorization", "Bearer bad")]).await,
        Err(401)
    );
    let more = [("authorization", "Bearer admin-token more")];
    assert_eq!(name(&api, &more).await, Ok("admin".to_owned()));
}

#[tokio::test]
async fn a_second_space_hides_the_token_with_a_warning() {
    let api = Api::with(|builder| builder.anonymous(AnonymousAccess::Enabled)).await;
    let spaced = [("authorization", "Bearer  admin-token")];
    let reply = api
        .send_with(Method::POST, REVIEWS, &json!({}), &spaced)
        .await
        .created();
    assert_eq!(
        reply.body["status"]["userInfo"]["username"],
        "system:anonymous"
    );
    assert_eq!(
        reply.warnings(),
        [
            "299 - \"the provided Authorization header contains extra space before the bearer token, and is ignored\""
        ]
    );
    let strict = Api::start().await;
    let reply = strict
        .send_with(Method::POST, REVIEWS, &json!({}), &spaced)
        .await;
    assert_eq!((reply.code, reply.warnings().len()), (401, 1));
}

#[tokio::test]
async fn anonymous_requests_can_be_limited_to_paths() {
    let paths = ["/livez", "/readyz"].map(str::to_owned).to_vec();
    let api = Api::with(|builder| builder.anonymous(AnonymousAccess::Paths(paths))).await;
    let ask = async |path: &str| {
        api.send_with(Method::GET, path, &Value::Null, &[])
            .await
            .code
    };
    assert_eq!(ask("/livez").await, 200);
    assert_eq!(ask("/livez?verbose").await, 200);
    assert_eq!(ask("/livez/ping").await, 401);
    assert_eq!(ask("/version").await, 401);
}

#[tokio::test]
async fn browsers_send_the_token_as_a_subprotocol() {
    let api = Api::start().await;
    let protocols = "v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.YWRtaW4tdG9rZW4";
    let headers = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-protocol", protocols),
    ];
    assert_eq!(name(&api, &headers).await, Ok("admin".to_owned()));
    assert_eq!(name(&api, &headers[2..]).await, Err(401));
    let bad = [
        headers[0],
        headers[1],
        ("sec-websocket-protocol", &protocols[19..]),
    ];
    assert_eq!(name(&api, &bad).await, Err(401));
}

#[tokio::test]
async fn bootstrap_tokens_work_where_they_are_enabled() {
    let secret = |id: &str| {
        let data = |text: &str| json!(BASE64_STANDARD.encode(text));
        json!({
            "metadata": {"name": format!("bootstrap-token-{id}")},
            "type": "bootstrap.kubernetes.io/token",
            "data": {
                "token-id": data(id),
                "token-secret": data("0123456789abcdef"),
                "usage-bootstrap-authentication": data("true"),
                "auth-extra-groups": data("system:bootstrappers:workers"),
                "expiration": data("2026-05-01T13:00:00Z"),
            },
        })
    };
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    let token = "abc123.0123456789abcdef";
    let api = Api::with(|builder| builder.bootstrap_tokens(true)).await;
    assert_eq!(api.rejection(token).await, "invalid bearer token");
    api.post(secrets, secret("abc123")).await.created();
    let user = api.user(token).await;
    assert_eq!(user["username"], "system:bootstrap:abc123");
    assert_eq!(
        user["groups"],
        json!([
            "system:bootstrappers",
            "system:bootstrappers:workers",
            "system:authenticated"
        ])
    );
    let wrong = api.rejection("abc123.0123456789abcdee").await;
    assert_eq!(wrong, "invalid bearer token");
    api.clock.advance(3600);
    assert_eq!(api.rejection(token).await, "invalid bearer token");
    let off = Api::start().await;
    off.post(secrets, secret("abc123")).await.created();
    assert_eq!(off.rejection(token).await, "invalid bearer token");
}

#[tokio::test]
async fn headers_of_a_proxy_are_nothing_without_its_certificate() {
    let api = Api::with(|builder| builder.anonymous(AnonymousAccess::Enabled)).await;
    let forged = [
        ("x-remote-user", "admin"),
        ("x-remote-group", "system:masters"),
    ];
    assert_eq!(name(&api, &forged).await, Ok("system:anonymous".to_owned()));
}
