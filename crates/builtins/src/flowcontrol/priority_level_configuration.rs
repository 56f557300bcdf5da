//! Priority level configurations.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::validate_condition_types;
use crate::{
    KindRules, checks, general,
    json::{Read, Write},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    prepare_status_update: general::keep_metadata_and_spec,
    validate_create: validate,
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate(new));
        errors
    },
    validate_status_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        validate_condition_types(&new["status"], &mut errors);
        errors
    },
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};

/// The level without limits.
const EXEMPT: &str = "exempt";
/// An annotation of an older version, which could not distinguish a share of zero from none.
const KEPT_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
const MAX_QUEUES: i64 = 10_000_000;
const MAX_HASH_BITS: i64 = 60;

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

fn validate(level: &Value) -> ErrorList {
    let mut errors = meta::validate(level, false, meta::subdomain);
    if level["metadata"]["annotations"][KEPT_ZERO].is_set() {
        let message = format!("annotation '{KEPT_ZERO}' is forbidden");
        let path = Path::new("metadata").child("annotations");
        errors.push(field::forbidden(&path, message));
    }
    let name = level["metadata"]["name"].text();
    validate_spec(&level["spec"], name, &mut errors);
    validate_condition_types(&level["status"], &mut errors);
    errors
}

fn validate_spec(spec: &Value, name: &str, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let (exempt, limited) = (&spec["exempt"], &spec["limited"]);
    let kind = spec["type"].text();
    if (name == EXEMPT) != (kind == "Exempt") {
        let message = "must be 'Exempt' if and only if `name` is 'exempt'";
        // A missing type is reported only once.
        if kind == "Exempt" || name == EXEMPT {
            errors.push(field::invalid_str(&path.child("type"), kind, message));
        }
    }
    match kind {
        "Exempt" => {
            if limited.is_set() {
                let message = "must be nil if the type is not Limited";
                errors.push(field::forbidden(&path.child("limited"), message));
            }
            let path = path.child("exempt");
            validate_shares(exempt, &path, errors);
            validate_lendable(exempt, &path, errors);
        }
        "Limited" => {
            if exempt.is_set() {
                let message = "must be nil if the type is Limited";
                errors.push(field::forbidden(&path.child("exempt"), message));
            }
            let path = path.child("limited");
            match limited.is_set() {
                true => validate_limited(limited, &path, errors),
                false => errors.push(field::required(
                    &path,
                    "must not be empty when type is Limited",
                )),
            }
        }
        _ => checks::one_of(
            &spec["type"],
            &["Exempt", "Limited"],
            &path.child("type"),
            errors,
        ),
    }
}

fn validate_shares(level: &Value, path: &Path, errors: &mut ErrorList) {
    let shares = &level["nominalConcurrencyShares"];
    if shares.int() < 0 {
        errors.push(field::invalid(
            &path.child("nominalConcurrencyShares"),
            shares,
            "must be a non-negative integer",
        ));
    }
}

fn validate_lendable(level: &Value, path: &Path, errors: &mut ErrorList) {
    let percent = &level["lendablePercent"];
    if !(0..=100).contains(&percent.int()) {
        let message = "must be between 0 and 100, inclusive";
        errors.push(field::invalid(
            &path.child("lendablePercent"),
            percent,
            message,
        ));
    }
}

fn validate_limited(limited: &Value, path: &Path, errors: &mut ErrorList) {
    validate_shares(limited, path, errors);
    let (response, at) = (&limited["limitResponse"], path.child("limitResponse"));
    let (queuing, queuing_path) = (&response["queuing"], at.child("queuing"));
    match response["type"].text() {
        "Reject" if queuing.is_set() => errors.push(field::forbidden(
            &queuing_path,
            "must be nil if limited.limitResponse.type is not Limited",
        )),
        "Reject" => {}
        "Queue" if !queuing.is_set() => errors.push(field::required(
            &queuing_path,
            "must not be empty if limited.limitResponse.type is Limited",
        )),
        "Queue" => validate_queuing(queuing, &queuing_path, errors),
        _ => checks::one_of(
            &response["type"],
            &["Queue", "Reject"],
            &at.child("type"),
            errors,
        ),
    }
    validate_lendable(limited, path, errors);
    let limit = &limited["borrowingLimitPercent"];
    if limit.int() < 0 {
        errors.push(field::invalid(
            &path.child("borrowingLimitPercent"),
            limit,
            "if specified, must be a non-negative integer",
        ));
    }
}

fn validate_queuing(queuing: &Value, path: &Path, errors: &mut ErrorList) {
    let count = |name: &str| queuing[name].int();
    let mut refuse = |name: &str, message: String| {
        errors.push(field::invalid(&path.child(name), &queuing[name], message));
    };
    if count("queueLengthLimit") <= 0 {
        refuse("queueLengthLimit", "must be positive".to_owned());
    }
    let (queues, hand) = (count("queues"), count("handSize"));
    if queues <= 0 {
        refuse("queues", "must be positive".to_owned());
    } else if queues > MAX_QUEUES {
        refuse("queues", format!("must not be greater than {MAX_QUEUES}"));
    }
    if hand <= 0 {
        refuse("handSize", "must be positive".to_owned());
    } else if hand > queues {
        refuse(
            "handSize",
            format!("should not be greater than queues ({queues})"),
        );
    } else if entropy_bits(queues, hand) > MAX_HASH_BITS {
        let message = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MAX_HASH_BITS}"
        );
        refuse("handSize", message);
    }
}

/// Returns the number of bits needed to deal a hand from a deck of queues.
fn entropy_bits(queues: i64, hand: i64) -> i64 {
    ((queues as f64).log2() * hand as f64).ceil() as i64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hand_takes_bits_to_deal() {
        assert_eq!(entropy_bits(64, 8), 48);
        assert_eq!(entropy_bits(128, 9), 63);
    }

    #[test]
    fn a_limited_level_says_how() {
        let level = |spec: Value| json!({"metadata": {"name": "a"}, "spec": spec});
        let messages = |spec: Value| -> Vec<String> {
            validate(&level(spec))
                .iter()
                .map(|e| e.to_string())
                .collect()
        };
        assert_eq!(
            messages(json!({"type": "Limited"})),
            ["spec.limited: Required value: must not be empty when type is Limited"]
        );
        assert_eq!(messages(json!({})), ["spec.type: Required value"]);
        assert!(
            messages(json!({"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}))
                .is_empty()
        );
    }
}
