//! `<` and its kin.

use std::cmp::Ordering;

use super::{EvalError, Value};

/// Compares two values; an error if they have no order.
pub(crate) fn compare(a: &Value<'_>, b: &Value<'_>) -> Result<Ordering, EvalError> {
    use Value::*;
    let order = match (a, b) {
        (Int(a), Int(b)) => a.cmp(b),
        (Uint(a), Uint(b)) => a.cmp(b),
        (Int(a), Uint(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Uint(a), Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Double(a), Double(b)) => doubles(*a, *b)?,
        (Double(a), Int(b)) => double_to_int(*a, *b)?,
        (Int(a), Double(b)) => double_to_int(*b, *a)?.reverse(),
        (Double(a), Uint(b)) => double_to_uint(*a, *b)?,
        (Uint(a), Double(b)) => double_to_uint(*b, *a)?.reverse(),
        (String(a), String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Bytes(a), Bytes(b)) => a.cmp(b),
        (Bool(a), Bool(b)) => a.cmp(b),
        (Duration(a), Duration(b)) => a.cmp(b),
        (Timestamp(a), Timestamp(b)) => a.instant().cmp(&b.instant()),
        _ => return Err(EvalError::NO_SUCH_OVERLOAD),
    };
    Ok(order)
}

/// Reports whether values of this type have an order.
pub(crate) fn is_ordered(value: &Value<'_>) -> bool {
    use Value::*;
    matches!(
        value,
        Int(_) | Uint(_) | Double(_) | String(_) | Bytes(_) | Bool(_) | Duration(_) | Timestamp(_)
    )
}

fn doubles(a: f64, b: f64) -> Result<Ordering, EvalError> {
    a.partial_cmp(&b)
        .ok_or_else(|| EvalError::new("NaN values cannot be ordered"))
}

fn double_to_int(a: f64, b: i64) -> Result<Ordering, EvalError> {
    doubles(a, b as f64)
}

fn double_to_uint(a: f64, b: u64) -> Result<Ordering, EvalError> {
    doubles(a, b as f64)
}
