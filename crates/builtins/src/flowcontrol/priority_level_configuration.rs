//! Priority level configurations.

use serde_json::Value;

use crate::{KindRules, general, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    prepare_status_update: general::keep_metadata_and_spec,
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};

fn default(level: &mut Value) {
    level.with("spec", |spec| {
        spec.with("exempt", |exempt| {
            exempt.put_if_unset("nominalConcurrencyShares", 0);
            exempt.put_if_unset("lendablePercent", 0);
        });
        spec.with("limited", |limited| {
            limited.put_if_unset("nominalConcurrencyShares", 30);
            limited.put_if_unset("lendablePercent", 0);
            limited.with("limitResponse", |response| {
                response.with("queuing", |queuing| {
                    queuing.put_if_blank("handSize", 8);
                    queuing.put_if_blank("queues", 64);
                    queuing.put_if_blank("queueLengthLimit", 50);
                });
            });
        });
    });
}
