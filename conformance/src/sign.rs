//! Tokens of service accounts, made by the runner: expired ones, tampered ones, confused ones.
//!
//! A description has `claims` and `header`, to which the usual ones are added; `from`, a token to start from instead; and
//! `key`: `server` (the key of the server, the default), `other`, `none` (no signature), `public` (HMAC with the public key
//! of the server) or `kept` (the signature of the token in `from`). The texts `now` and `now+60` in claims are numbers.

use anyhow::{Context, Result, anyhow, bail};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest, hmac,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use serde_json::{Map, Value};

use crate::identities::{Identities, unarmored};

/// Makes the token that a description asks for.
pub fn sign(identities: &Identities, description: &Value, now: i64) -> Result<String> {
    let signer = match description["key"].as_str() {
        Some("other") => "other-sa",
        _ => "sa",
    };
    let mut header = Map::new();
    let mut claims = Map::new();
    let mut signature = String::new();
    match description["from"].as_str() {
        Some(token) => {
            let mut parts = token.split('.');
            header = part(parts.next())?;
            claims = part(parts.next())?;
            parts.next().unwrap_or_default().clone_into(&mut signature);
        }
        None => {
            header.insert("alg".to_owned(), "ES256".into());
            let kid = key_id(&unarmored(identities.file(&format!("{signer}.pub"))?)?);
            header.insert("kid".to_owned(), kid.into());
        }
    }
    overlay(&mut header, &description["header"], now);
    overlay(&mut claims, &description["claims"], now);
    let encode =
        |fields: Map<String, Value>| URL_SAFE_NO_PAD.encode(Value::from(fields).to_string());
    let text = format!("{}.{}", encode(header), encode(claims));
    let signature = match description["key"].as_str() {
        Some("none") => String::new(),
        Some("kept") => signature,
        Some("public") => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, identities.file("sa.pub")?.as_bytes());
            URL_SAFE_NO_PAD.encode(hmac::sign(&key, text.as_bytes()))
        }
        None | Some("server" | "other") => {
            let document = unarmored(identities.file(&format!("{signer}.key"))?)?;
            let (curve, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
            let key = EcdsaKeyPair::from_pkcs8(curve, &document, &random)
                .map_err(|e| anyhow!("not a key: {e}"))?;
            let signature = key.sign(&random, text.as_bytes());
            URL_SAFE_NO_PAD.encode(signature.map_err(|e| anyhow!("cannot sign: {e}"))?)
        }
        Some(other) => bail!("{other:?} is not a key"),
    };
    Ok(format!("{text}.{signature}"))
}

/// Returns the id of a public key: what `kid` says.
fn key_id(public: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, public))
}

fn part(encoded: Option<&str>) -> Result<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(encoded.context("not a token")?)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Sets fields, and removes those that are null.
fn overlay(fields: &mut Map<String, Value>, given: &Value, now: i64) {
    for (name, value) in given.as_object().into_iter().flatten() {
        match value {
            Value::Null => fields.remove(name),
            value => fields.insert(name.clone(), timed(value, now)),
        };
    }
}

fn timed(value: &Value, now: i64) -> Value {
    match value {
        Value::String(text) => {
            let Some(offset) = text.strip_prefix("now") else {
                return value.clone();
            };
            match offset {
                "" => now.into(),
                offset => match offset.parse::<i64>() {
                    Ok(offset) => (now + offset).into(),
                    Err(_) => value.clone(),
                },
            }
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), timed(value, now)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}
