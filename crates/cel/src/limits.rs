//! The limits on cost, as kube-apiserver has them.

/// The most that one evaluation may cost.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// What all rules of one object may cost together.
pub const RUNTIME_COST_BUDGET: i64 = 10_000_000;

/// What all match conditions of one webhook or policy may cost together.
pub const MATCH_CONDITIONS_COST_BUDGET: i64 = 2_500_000;

/// The most that a rule may cost by estimate, times how often it can run.
pub const STATIC_COST_LIMIT: u64 = 10_000_000;

/// The most that all rules of a CRD may cost by estimate.
pub const STATIC_CRD_COST_LIMIT: u64 = 100_000_000;

/// The largest request, which bounds what has no other bound.
pub const MAX_REQUEST_BYTES: i64 = 3 * 1024 * 1024;

/// The longest message that a `messageExpression` may give, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// What is said of an estimate over its limit: `what` is `estimated rule cost`, for one.
pub fn over_budget_message(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        // More is not told: the estimate is rough.
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
