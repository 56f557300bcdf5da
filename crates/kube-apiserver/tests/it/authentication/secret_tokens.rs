//! Tokens of Secrets: valid for as long as the Secret holds them.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{ACCOUNTS, Api, SECRETS};

/// Creates a Secret that holds a token of the account `web`.
async fn secret(api: &Api) -> (String, String) {
    let uid = api.get(&format!("{ACCOUNTS}/web")).await.ok().uid();
    let token = api
        .keys
        .secret_token("shop", "web", &uid, "web-token")
        .unwrap();
    let secret = json!({
        "metadata": {
            "name": "web-token",
            "annotations": {"kubernetes.io/service-account.name": "web"},
        },
        "type": "kubernetes.io/service-account-token",
        "data": {"token": BASE64_STANDARD.encode(&token)},
    });
    api.post(SECRETS, secret).await.created();
    (format!("{SECRETS}/web-token"), token)
}

#[tokio::test]
async fn the_token_of_a_secret_identifies_its_account() {
    let api = Api::start().await;
    let (path, token) = secret(&api).await;
    let reply = api.with_token(&token).await.created();
    assert!(reply.warnings().is_empty());
    let user = &reply.body["status"]["userInfo"];
    assert_eq!(user["username"], "system:serviceaccount:shop:web");
    assert_eq!(user["extra"], Value::Null);
    let stored = api.get(&path).await.ok();
    let label = &stored.body["metadata"]["labels"]["kubernetes.io/legacy-token-last-used"];
    assert_eq!(label, "2026-05-01");
    // It has no end, and its use is recorded once a day.
    let version = stored.body["metadata"]["resourceVersion"].clone();
    api.user(&token).await;
    let unchanged = api.get(&path).await.ok();
    assert_eq!(unchanged.body["metadata"]["resourceVersion"], version);
    api.clock.advance(400 * 24 * 3600);
    api.user(&token).await;
    let label = &api.get(&path).await.ok().body["metadata"]["labels"];
    assert_eq!(label["kubernetes.io/legacy-token-last-used"], "2027-06-05");
}

#[tokio::test]
async fn generated_secrets_are_warned_about() {
    let api = Api::start().await;
    let (_, token) = secret(&api).await;
    api.user(&token).await;
    let listed = json!({"secrets": [{"name": "web-token"}]});
    api.patch(&format!("{ACCOUNTS}/web"), listed).await.ok();
    let reply = api.with_token(&token).await.created();
    assert_eq!(
        reply.warnings(),
        [
            "299 - \"Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.\""
        ]
    );
}

#[tokio::test]
async fn a_secret_with_another_token_invalidates_the_first() {
    let api = Api::start().await;
    let (path, token) = secret(&api).await;
    api.user(&token).await;
    let other = json!({"data": {"token": BASE64_STANDARD.encode("other")}});
    api.patch(&path, other).await.ok();
    let reason = api.rejection(&token).await;
    assert_eq!(reason, "Token does not match server's copy");
    api.delete(&path).await.ok();
    assert_eq!(api.rejection(&token).await, "Token has been invalidated");
}

#[tokio::test]
async fn a_secret_that_is_being_deleted_is_none() {
    let api = Api::start().await;
    let (path, token) = secret(&api).await;
    let finalizers = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    api.patch(&path, finalizers).await.ok();
    api.user(&token).await;
    api.delete(&path).await.ok();
    assert_eq!(api.rejection(&token).await, "Token has been invalidated");
}

#[tokio::test]
async fn the_account_must_be_the_same() {
    let api = Api::start().await;
    let (_, token) = secret(&api).await;
    api.user(&token).await;
    let old = api.get(&format!("{ACCOUNTS}/web")).await.ok().uid();
    api.delete(&format!("{ACCOUNTS}/web")).await.ok();
    let reason = api.rejection(&token).await;
    assert_eq!(reason, "serviceaccounts \"web\" not found");
    let account = json!({"metadata": {"name": "web"}});
    let new = api.post(ACCOUNTS, account).await.created().uid();
    assert_eq!(
        api.rejection(&token).await,
        format!("ServiceAccount UID ({new}) does not match claim ({old})")
    );
}

#[tokio::test]
async fn a_secret_can_be_marked_as_invalid() {
    let api = Api::start().await;
    let (path, token) = secret(&api).await;
    let label = json!({
        "metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}},
    });
    api.patch(&path, label).await.ok();
    assert_eq!(
        api.rejection(&token).await,
        "the token in secret shop/web-token for service account shop/web has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the 'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token"
    );
    let labels = &api.get(&path).await.ok().body["metadata"]["labels"];
    assert_eq!(labels["kubernetes.io/legacy-token-last-used"], "2026-05-01");
}
