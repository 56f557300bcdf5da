//! Service accounts.

use kubewright_machinery::field::ErrorList;
use serde_json::{Value, json};

use crate::{
    KindRules,
    json::{Read, Write},
    meta,
};

const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";

pub(crate) static RULES: KindRules = KindRules {
    prepare_create: clean_references,
    prepare_update: |new, _| clean_references(new),
    validate_create,
    validate_update,
    warnings_on_create: |account| warnings(account, &Value::Null),
    warnings_on_update: warnings,
    returns_deleted_object: true,
    ..KindRules::GENERAL
};

/// A reference to a secret is its name and nothing else.
fn clean_references(account: &mut Value) {
    account.each("secrets", |secret| {
        *secret = match secret.get("name") {
            Some(name) => json!({"name": name}),
            None => json!({}),
        };
    });
}

fn validate_create(account: &Value) -> ErrorList {
    meta::validate(account, true, meta::subdomain)
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    errors.extend(validate_create(new));
    errors
}

fn warnings(new: &Value, old: &Value) -> Vec<String> {
    let has = |account: &Value| account["metadata"]["annotations"][ENFORCE].is_set();
    if has(old) || !has(new) {
        return Vec::new();
    }
    vec![format!(
        "metadata.annotations[{ENFORCE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    )]
}
