//! The documents of the issuer of service-account tokens.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use http::Method;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};

use super::{Api, parts};

const CONFIGURATION: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/openid/v1/jwks";

#[tokio::test]
async fn others_can_verify_tokens() {
    let api = Api::start().await;
    let configuration = api.get(CONFIGURATION).await.ok();
    assert_eq!(configuration.headers["content-type"], "application/json");
    assert_eq!(
        configuration.headers["cache-control"],
        "public, max-age=3600"
    );
    assert_eq!(
        configuration.body,
        json!({
            "issuer": "https://kubernetes.default.svc",
            "jwks_uri": "https://10.0.0.1:6443/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    );
    let keys = api.get(KEYS).await.ok();
    assert_eq!(keys.headers["content-type"], "application/jwk-set+json");
    assert_eq!(keys.headers["cache-control"], "public, max-age=3600");
    let token = api.token(json!({})).await;
    let key = &keys.body["keys"][0];
    assert_eq!(key["kid"], parts(&token).0["kid"]);
    let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
    let coordinate = |name: &str| decode(key[name].as_str().unwrap());
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        .verify(signed.as_bytes(), &decode(signature))
        .unwrap();
}

#[tokio::test]
async fn the_keys_have_one_representation() {
    let api = Api::start().await;
    let ask = async |path: &str, method: Method, accept: &str| {
        let headers = [("authorization", "Bearer admin-token"), ("accept", accept)];
        api.send_with(method, path, &Value::Null, &headers)
            .await
            .code
    };
    assert_eq!(ask(KEYS, Method::GET, "application/json").await, 406);
    assert_eq!(ask(KEYS, Method::GET, "*/*").await, 200);
    assert_eq!(
        ask(KEYS, Method::GET, "application/jwk-set+json").await,
        200
    );
    assert_eq!(
        ask(CONFIGURATION, Method::GET, "application/json").await,
        200
    );
    assert_eq!(ask(CONFIGURATION, Method::GET, "text/plain").await, 406);
    assert_eq!(ask(KEYS, Method::POST, "*/*").await, 405);
    let root = api.get("/").await.ok();
    let paths = root.body["paths"].as_array().unwrap();
    for path in [CONFIGURATION, KEYS] {
        assert!(paths.contains(&json!(path)), "{path}");
    }
}

#[tokio::test]
async fn an_issuer_that_is_not_an_address_has_no_documents() {
    let api = Api::with(|builder| builder.service_account_issuers(["api"])).await;
    assert_eq!(api.get(CONFIGURATION).await.code, 404);
    assert_eq!(api.get(KEYS).await.code, 404);
    // Its tokens work all the same.
    let token = api.token(json!({})).await;
    api.user(&token).await;
}
