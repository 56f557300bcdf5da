//! Service CIDRs.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::IMMUTABLE,
};
use serde_json::Value;

use crate::{KindRules, address, general, json::Read, meta};

pub(crate) static RULES: KindRules = KindRules {
    prepare_create: general::drop_status,
    prepare_update: general::keep_status,
    prepare_status_update: general::keep_metadata_and_spec,
    validate_create: |range| {
        let mut errors = meta::validate(range, false, meta::subdomain);
        validate_ranges(&range["spec"]["cidrs"], &mut errors);
        errors
    },
    validate_update,
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};

const NOT_A_RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const ONE_EACH: &str =
    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";

fn path() -> Path {
    Path::new("spec").child("cidrs")
}

/// One range, or one of each family.
fn validate_ranges(ranges: &Value, errors: &mut ErrorList) {
    let list = ranges.items();
    if list.is_empty() {
        errors.push(field::required(&path(), "at least one CIDR required"));
        return;
    }
    if list.len() > 2 {
        let spec = format!("{{\"CIDRs\":{ranges}}}");
        errors.push(field::invalid_raw(
            &path(),
            spec,
            "may only hold up to 2 values",
        ));
        return;
    }
    for (i, range) in list.iter().enumerate() {
        let (text, path) = (range.text(), path().index(i));
        match address::parse_cidr(text) {
            None => errors.push(field::invalid_str(&path, text, NOT_A_RANGE)),
            Some((ip, bits)) if address::network(ip, bits) != ip => {
                let message = "must not have bits set beyond the prefix length";
                errors.push(field::invalid_str(&path, text, message));
            }
            Some((ip, bits)) => {
                let canonical = format!("{ip}/{bits}");
                if canonical != text {
                    let message = format!("must be in canonical form (\"{canonical}\")");
                    errors.push(field::invalid_str(&path, text, message));
                }
            }
        }
    }
    if let [first, second] = list {
        let is_v4 = |range: &Value| address::parse_cidr(range.text()).map(|(ip, _)| ip.is_ipv4());
        if is_v4(first).is_some() && is_v4(first) == is_v4(second) {
            errors.push(field::invalid(&path(), ranges, ONE_EACH));
        }
    }
}

/// Validates an update: ranges do not change, except that a second family may be added.
fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(meta::validate_update(new, old));
    let (after, before) = (&new["spec"]["cidrs"], &old["spec"]["cidrs"]);
    let mut unchanged = |i: usize| {
        let value = &after[i];
        if *value != before[i] {
            errors.push(field::invalid(&path().index(i), value, IMMUTABLE));
        }
    };
    match (before.items().len(), after.items().len()) {
        (old, new) if old == new => (0..old).for_each(unchanged),
        (1, 2) => {
            unchanged(0);
            validate_ranges(after, &mut errors);
        }
        _ => errors.push(field::invalid(&path(), after, IMMUTABLE)),
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ranges_stay_and_a_second_family_may_come() {
        let range = |cidrs: Value| json!({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"cidrs": cidrs}});
        let old = range(json!(["10.0.0.0/24"]));
        assert!(validate_update(&range(json!(["10.0.0.0/24", "fd00::/112"])), &old).is_empty());
        for bad in [
            json!(["10.1.0.0/24"]),
            json!(["10.0.0.0/24", "10.1.0.0/24"]),
            json!([]),
        ] {
            assert_eq!(validate_update(&range(bad), &old).len(), 1);
        }
    }
}
