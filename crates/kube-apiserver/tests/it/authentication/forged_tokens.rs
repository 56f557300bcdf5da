//! Tokens that must not be accepted: expired, altered, signed by others, or by nobody.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use kubewright_kube_apiserver::ServiceAccountKeys;
use ring::hmac;
use serde_json::{Value, json};

use super::{ACCOUNTS, Api, parts};

const CRYPTO: &str = "go-jose/go-jose: error in cryptographic primitive";

fn encode(part: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(part.to_string())
}

/// A token with another header or other claims and the signature as it was.
fn altered(token: &str, change: impl FnOnce(&mut Value, &mut Value)) -> String {
    let (mut header, mut claims) = parts(token);
    change(&mut header, &mut claims);
    let signature = token.rsplit('.').next().unwrap();
    format!("{}.{}.{signature}", encode(&header), encode(&claims))
}

#[tokio::test]
async fn a_token_ends_a_minute_after_it_expires() {
    let api = Api::start().await;
    let token = api.token(json!({})).await;
    api.clock.advance(3660);
    api.user(&token).await;
    api.clock.advance(1);
    assert_eq!(
        api.rejection(&token).await,
        "service account token has expired"
    );
}

#[tokio::test]
async fn a_token_of_the_future_is_not_valid_yet() {
    let api = Api::start().await;
    api.clock.advance(3600);
    let token = api.token(json!({})).await;
    api.clock.advance(-60);
    api.user(&token).await;
    api.clock.advance(-1);
    let reason = api.rejection(&token).await;
    assert_eq!(reason, "service account token is not valid yet");
}

#[tokio::test]
async fn signed_claims_cannot_be_changed() {
    let api = Api::start().await;
    let token = api.token(json!({})).await;
    // Known or not, the signature belongs to these claims only.
    for known in [false, true] {
        if known {
            api.user(&token).await;
        }
        let promoted = altered(&token, |_, claims| {
            claims["kubernetes.io"]["serviceaccount"]["name"] = json!("default");
            claims["sub"] = json!("system:serviceaccount:kube-system:admin");
        });
        assert_eq!(api.rejection(&promoted).await, CRYPTO);
        let prolonged = altered(&token, |_, claims| claims["exp"] = json!(9_999_999_999_i64));
        assert_eq!(api.rejection(&prolonged).await, CRYPTO);
    }
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let first = if signature.starts_with('A') { "B" } else { "A" };
    let other = format!("{first}{}", &signature[1..]);
    for signature in ["", "AAAA", &signature[..20], &other] {
        let reason = api.rejection(&format!("{signed}.{signature}")).await;
        assert_eq!(reason, CRYPTO, "{signature}");
    }
}

#[tokio::test]
async fn the_key_decides_about_the_algorithm() {
    let api = Api::start().await;
    let token = api.token(json!({})).await;
    for algorithm in ["none", "None", "", "HS256", "RS256", "ES384", "PS256"] {
        let other = altered(&token, |header, _| header["alg"] = json!(algorithm));
        assert_eq!(api.rejection(&other).await, CRYPTO, "{algorithm}");
        let unsigned = format!("{}.", other.rsplit_once('.').unwrap().0);
        assert_eq!(api.rejection(&unsigned).await, CRYPTO, "{algorithm}");
    }
    // The public key is no secret, so it must not serve as one.
    let keys = api.get("/openid/v1/jwks").await.ok();
    let key = &keys.body["keys"][0];
    let point = ["x", "y"].map(|part| {
        let part = key[part].as_str().unwrap();
        BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()
    });
    let point = [&[4][..], &point[0], &point[1]].concat();
    let mut spki = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00".to_vec();
    spki.extend(&point);
    let (mut header, claims) = parts(&token);
    header["alg"] = json!("HS256");
    let signed = format!("{}.{}", encode(&header), encode(&claims));
    for secret in [point, spki] {
        let tag = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, &secret),
            signed.as_bytes(),
        );
        let forged = format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag));
        assert_eq!(api.rejection(&forged).await, CRYPTO);
    }
}

#[tokio::test]
async fn keys_of_others_do_not_count() {
    let api = Api::start().await;
    let uid = api.get(&format!("{ACCOUNTS}/web")).await.ok().uid();
    let mallory = ServiceAccountKeys::generate();
    let token = mallory.secret_token("shop", "web", &uid, "s").unwrap();
    assert_eq!(
        api.rejection(&token).await,
        "invalid signature, no keys found"
    );
    // With the id of the right key, or with none at all.
    let own = parts(&api.token(json!({})).await).0;
    let named = altered(&token, |header, _| header["kid"] = own["kid"].clone());
    assert_eq!(api.rejection(&named).await, CRYPTO);
    let nameless = altered(&token, |header, _| {
        header.as_object_mut().unwrap().remove("kid");
    });
    assert_eq!(api.rejection(&nameless).await, CRYPTO);
    // A key that the token itself brings along is ignored.
    let brought = altered(&token, |header, _| {
        header["jwk"] = json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"});
        header["jku"] = json!("https://mallory.example.com/keys");
    });
    assert_eq!(
        api.rejection(&brought).await,
        "invalid signature, no keys found"
    );
}

#[tokio::test]
async fn malformed_tokens_are_rejected() {
    let api = Api::start().await;
    let token = api.token(json!({})).await;
    let long = format!("{token}{}", "A".repeat(70_000));
    let deep = BASE64_URL_SAFE_NO_PAD.encode("[".repeat(20_000));
    let other_issuer = altered(&token, |_, claims| claims["iss"] = json!("https://other"));
    for token in [
        "a.b.c",
        "..",
        "eyJhbGciOiJub25lIn0.e30.",
        &token.replace('.', ".."),
        &format!("{token}.x"),
        &format!("{{{token}"),
        &token.replacen('e', "=", 1),
        &format!("e30.{deep}.e30"),
        &long,
        &other_issuer,
    ] {
        let reason = api.rejection(token).await;
        assert_eq!(reason, "invalid bearer token", "{:.40}", token);
    }
}

#[tokio::test]
async fn tokens_of_a_rotated_key_are_accepted() {
    let old = ServiceAccountKeys::generate();
    let pem = old.signing_key_pem().unwrap();
    let first = Api::with(|builder| builder.service_account_keys(old.clone())).await;
    let store = first.server.store().clone();
    let token = first.token(json!({})).await;
    let restarted = async |keys: ServiceAccountKeys| {
        let clock = first.clock.clone();
        let server = kubewright_kube_apiserver::KubeApiServer::builder()
            .store(store.clone())
            .clock(clock.clone())
            .token_file(
                kubewright_apiserver::auth::TokenFile::parse("admin-token,a,1,system:masters")
                    .unwrap(),
            )
            .service_account_keys(keys.clone());
        let server = server.build().await.unwrap();
        Api {
            server,
            keys,
            clock,
        }
    };
    let same = ServiceAccountKeys::from_pem(pem.as_bytes()).unwrap();
    restarted(same).await.user(&token).await;
    let rotated = ServiceAccountKeys::generate().verify_with_pem(pem.as_bytes());
    let rotated = restarted(rotated.unwrap()).await;
    rotated.user(&token).await;
    let new = rotated.token(json!({})).await;
    assert_ne!(parts(&new).0["kid"], parts(&token).0["kid"]);
    rotated.user(&new).await;
    let replaced = restarted(ServiceAccountKeys::generate()).await;
    let reason = replaced.rejection(&token).await;
    assert_eq!(reason, "invalid signature, no keys found");
}

#[tokio::test]
async fn every_issuer_verifies_and_the_first_signs() {
    let api =
        Api::with(|builder| builder.service_account_issuers(["https://new", "https://old"])).await;
    let token = api.token(json!({})).await;
    assert_eq!(parts(&token).1["iss"], "https://new");
    assert_eq!(
        parts(&token).1["aud"],
        json!(["https://new", "https://old"])
    );
    api.user(&token).await;
    let twice = kubewright_kube_apiserver::KubeApiServer::builder()
        .service_account_issuers(["https://a", "https://a"])
        .build()
        .await;
    let message = twice.err().unwrap().message;
    assert_eq!(
        message,
        "service-account-issuer \"https://a\" is already specified"
    );
}
