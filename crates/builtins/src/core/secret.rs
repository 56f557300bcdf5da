//! Secrets: `stringData` is merged into `data`, the type has a default, is immutable and requires keys.

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::Value;

use super::config_map::{MAX_SIZE, decoded_len, validate_immutable};
use crate::{
    KindRules, checks, go_json,
    json::{Read, Write},
    meta,
};

const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_update,
    validate_create,
    validate_update,
    warnings_on_create: warnings,
    warnings_on_update: |new, _| warnings(new),
    ..KindRules::GENERAL
};

fn default(secret: &mut Value) {
    secret.put_if_blank("type", "Opaque");
    if let Some(plain) = secret.as_object_mut().and_then(|s| s.remove("stringData")) {
        for (key, value) in plain.entries() {
            let encoded = STANDARD.encode(value.text());
            secret.field("data").put(key, encoded);
        }
    }
}

fn prepare_update(new: &mut Value, old: &Value) {
    let before = old["type"].clone();
    new.put_if_blank("type", before);
}

fn validate_create(secret: &Value) -> ErrorList {
    let mut errors = meta::validate(secret, true, meta::subdomain);
    let path = Path::new("data");
    let mut size = 0;
    for (key, value) in secret["data"].entries() {
        checks::messages(
            key,
            names::is_config_map_key(key),
            &path.key(key),
            &mut errors,
        );
        size += decoded_len(value.text());
    }
    if size > MAX_SIZE {
        errors.push(field::too_long(&path, MAX_SIZE));
    }
    validate_type(secret, &path, &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    checks::immutable(&new["type"], &old["type"], &Path::new("type"), &mut errors);
    validate_immutable(new, old, &["data"], &mut errors);
    errors.extend(validate_create(new));
    errors
}

/// Checks the keys that the type asks for.
fn validate_type(secret: &Value, path: &Path, errors: &mut ErrorList) {
    let has = |key: &str| secret["data"].get(key).is_some();
    let mut require = |key: &str| errors.push(field::required(&path.key(key), ""));
    match secret["type"].text() {
        "kubernetes.io/service-account-token"
            if secret["metadata"]["annotations"][ACCOUNT_NAME].is_blank() =>
        {
            let path = Path::new("metadata").child("annotations");
            errors.push(field::required(&path.key(ACCOUNT_NAME), ""));
        }
        "kubernetes.io/dockercfg" => validate_json(secret, ".dockercfg", path, errors),
        "kubernetes.io/dockerconfigjson" => {
            validate_json(secret, ".dockerconfigjson", path, errors)
        }
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            require("username");
            require("password");
        }
        "kubernetes.io/ssh-auth" if secret["data"]["ssh-privatekey"].is_blank() => {
            require("ssh-privatekey")
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if !has(key) {
                    require(key);
                }
            }
        }
        _ => {}
    }
}

/// A key that must hold a JSON object.
fn validate_json(secret: &Value, key: &str, path: &Path, errors: &mut ErrorList) {
    let Some(data) = secret["data"].get(key) else {
        errors.push(field::required(&path.key(key), ""));
        return;
    };
    let bytes = STANDARD.decode(data.text()).unwrap_or_default();
    let problem = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => {
            let found = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Number(_) => "number",
                _ => "bool",
            };
            format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )
        }
        Err(e) => go_json::syntax_error(&bytes, &e),
    };
    errors.push(field::invalid_str(
        &path.key(key),
        "<secret contents redacted>",
        problem,
    ));
}

/// Warns about a TLS secret without PEM, which cannot work.
fn warnings(secret: &Value) -> Vec<String> {
    if secret["type"] != "kubernetes.io/tls" {
        return Vec::new();
    }
    for (key, what) in [("tls.crt", "certificate"), ("tls.key", "key")] {
        let bytes = STANDARD
            .decode(secret["data"][key].text())
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        if !(text.contains("-----BEGIN ") && text.contains("-----END ")) {
            return vec![format!("tls: failed to find any PEM data in {what} input")];
        }
    }
    Vec::new()
}
