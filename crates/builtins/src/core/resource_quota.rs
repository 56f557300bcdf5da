//! Resource quotas.

use serde_json::Value;

use super::resources;
use crate::{KindRules, general, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status,
    prepare_update: general::keep_status,
    returns_deleted_object: true,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn default(quota: &mut Value) {
    quota.with("spec", |s| s.with("hard", resources::round_up));
    quota.with("status", |s| {
        s.with("hard", resources::round_up);
        s.with("used", resources::round_up);
    });
}
