//! Service accounts.

use serde_json::{Value, json};

use crate::{KindRules, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    prepare_create: clean_references,
    prepare_update: |new, _| clean_references(new),
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
