//! The limits on cost, as kube-apiserver has them.

/// The maximum cost of one evaluation.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// The maximum cost of all rules of one object together.
pub const RUNTIME_COST_BUDGET: i64 = 10_000_000;

/// The maximum estimated cost of a rule, times the number of its runs.
pub const STATIC_COST_LIMIT: u64 = 10_000_000;

/// The maximum estimated cost of all rules of a CRD.
pub const STATIC_CRD_COST_LIMIT: u64 = 100_000_000;

/// The size of the largest request, which bounds lists and strings without a bound.
pub const MAX_REQUEST_BYTES: i64 = kubewright_machinery::limits::MAX_REQUEST_BYTES as i64;

/// The longest message of a `messageExpression`, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// Returns the message for an estimate over its limit; `what` is for example `estimated rule cost`.
pub fn over_budget_message(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        // The estimate is rough, so larger factors are not printed.
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}
