//! Mutating and validating webhook configurations.

use serde_json::{Value, json};

use crate::{
    KindRules, general,
    json::{Write, same},
};

pub(crate) static VALIDATING_RULES: KindRules = KindRules {
    default: |config| config.each("webhooks", default_webhook),
    prepare_create: general::start_generation,
    prepare_update,
    allow_unconditional_update: false,
    ..KindRules::GENERAL
};

pub(crate) static MUTATING_RULES: KindRules = KindRules {
    default: |config| {
        config.each("webhooks", |webhook| {
            default_webhook(webhook);
            webhook.put_if_unset("reinvocationPolicy", "Never");
        });
    },
    ..VALIDATING_RULES
};

/// The defaults of a rule that says which requests are meant.
pub(crate) fn default_rule(rule: &mut Value) {
    rule.put_if_unset("scope", "*");
}

fn default_webhook(webhook: &mut Value) {
    webhook.put_if_unset("failurePolicy", "Fail");
    webhook.put_if_unset("matchPolicy", "Equivalent");
    webhook.put_if_unset("namespaceSelector", json!({}));
    webhook.put_if_unset("objectSelector", json!({}));
    webhook.put_if_unset("timeoutSeconds", 10);
    webhook.with("clientConfig", |c| c.with("service", |s| s.put_if_unset("port", 443)));
    webhook.each("rules", default_rule);
}

fn prepare_update(new: &mut Value, old: &Value) {
    if !same(&new["webhooks"], &old["webhooks"]) {
        general::next_generation(new, old);
    }
}
