//! `TokenReview`: who a token belongs to, and for which audiences.

use serde_json::{Value, json};

use super::Api;

const OWN: &str = "https://kubernetes.default.svc";

#[tokio::test]
async fn a_review_names_the_user_and_the_audiences() {
    let api = Api::start().await;
    let token = api.token(json!({"audiences": [OWN, "vault"]})).await;
    for (audiences, shared) in [
        (json!([]), json!([OWN])),
        (json!(["vault"]), json!(["vault"])),
        (json!(["other", "vault", OWN]), json!([OWN, "vault"])),
    ] {
        let spec = json!({"token": token, "audiences": audiences});
        let status = api.review(spec).await.created().body["status"].clone();
        assert_eq!(status["authenticated"], true);
        assert_eq!(status["audiences"], shared, "{audiences}");
        let user = &status["user"];
        assert_eq!(user["username"], "system:serviceaccount:shop:web");
        let groups = &user["groups"];
        assert_eq!(groups[2], "system:authenticated");
    }
    let reply = api.review(json!({"token": ""})).await;
    reply.refused(400, "token is required for TokenReview in authentication");
}

#[tokio::test]
async fn a_token_for_others_is_not_for_the_server() {
    let api = Api::start().await;
    let token = api.token(json!({"audiences": ["vault"]})).await;
    let reason = api.rejection(&token).await;
    let own = format!("[\"{OWN}\"]");
    assert_eq!(
        reason,
        format!("token audiences [\"vault\"] is invalid for the target audiences {own}")
    );
    let spec = json!({"token": token, "audiences": ["db", "cache"]});
    let status = api.review(spec).await.created().body["status"].clone();
    assert_eq!(
        status["error"],
        "[invalid bearer token, token audiences [\"vault\"] is invalid for the target audiences [\"db\" \"cache\"]]"
    );
    let spec = json!({"token": token, "audiences": ["vault"]});
    let status = api.review(spec).await.created().body["status"].clone();
    assert_eq!(status["authenticated"], true);
}

#[tokio::test]
async fn static_tokens_are_for_the_server_itself() {
    let api = Api::start().await;
    let spec = json!({"token": "admin-token"});
    let status = api.review(spec).await.created().body["status"].clone();
    assert_eq!(status["user"]["username"], "admin");
    assert_eq!(status["audiences"], json!([OWN]));
    let spec = json!({"token": "admin-token", "audiences": ["vault"]});
    let status = api.review(spec).await.created().body["status"].clone();
    assert_eq!(status, json!({"user": {}, "error": "invalid bearer token"}));
}

#[tokio::test]
async fn invalid_tokens_are_not_authenticated() {
    let api = Api::start().await;
    for token in ["x", "\u{fc}", "a\nb", "eyJ.eyJ."] {
        let reply = api.review(json!({"token": token})).await.created();
        let status = &reply.body["status"];
        assert_eq!(
            *status,
            json!({"user": {}, "error": "invalid bearer token"}),
            "{token:?}"
        );
    }
}

#[tokio::test]
async fn configured_audiences_replace_the_issuers() {
    let api = Api::with(|builder| builder.api_audiences(["api", "backup"])).await;
    let reply = api.request_token(json!({})).await.created();
    assert_eq!(reply.body["spec"]["audiences"], json!(["api", "backup"]));
    let token = reply.body["status"]["token"].as_str().unwrap();
    api.user(token).await;
    let other = api.token(json!({"audiences": [OWN]})).await;
    assert!(api.rejection(&other).await.starts_with("token audiences"));
    assert_ne!(api.user(token).await, Value::Null);
}
