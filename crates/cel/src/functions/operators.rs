//! Operators: arithmetic, comparison, membership, and the inner functions that macros use.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::ast::operators as op;
use crate::value::map::Entries;
use crate::value::{EvalError, EvalResult, Map, Str, Value, order};

use super::{Registry, no_such_overload};

/// Types and the names that overloads have for them, in the order of the comparison overloads.
const ORDERED: [(&str, &str, &str); 14] = [
    ("bool", "bool", "bool"),
    ("int64", "int", "int"),
    ("int64_double", "int", "double"),
    ("int64_uint64", "int", "uint"),
    ("uint64", "uint", "uint"),
    ("uint64_double", "uint", "double"),
    ("uint64_int64", "uint", "int"),
    ("double", "double", "double"),
    ("double_int64", "double", "int"),
    ("double_uint64", "double", "uint"),
    ("string", "string", "string"),
    ("bytes", "bytes", "bytes"),
    ("timestamp", "timestamp", "timestamp"),
    ("duration", "duration", "duration"),
];

pub(super) fn declare(r: &mut Registry) {
    r.global(op::CONDITIONAL, "conditional", "bool A A", "A", None);
    r.global(op::AND, "logical_and", "bool bool", "bool", None);
    r.global(op::OR, "logical_or", "bool bool", "bool", None);
    r.global(op::NOT, "logical_not", "bool", "bool", None);
    r.shared(op::NOT, not);
    r.global(
        op::NOT_STRICTLY_FALSE,
        "not_strictly_false",
        "bool",
        "bool",
        None,
    );
    r.global(op::EQUALS, "equals", "A A", "bool", None);
    r.global(op::NOT_EQUALS, "not_equals", "A A", "bool", None);
    for (id, params, result) in [
        ("add_bytes", "bytes bytes", "bytes"),
        ("add_double", "double double", "double"),
        ("add_duration_duration", "duration duration", "duration"),
        ("add_duration_timestamp", "duration timestamp", "timestamp"),
        ("add_timestamp_duration", "timestamp duration", "timestamp"),
        ("add_int64", "int int", "int"),
        ("add_list", "list(A) list(A)", "list(A)"),
        ("add_string", "string string", "string"),
        ("add_uint64", "uint uint", "uint"),
    ] {
        r.global(op::ADD, id, params, result, None);
    }
    r.shared(op::ADD, add);
    for (id, params, result) in [
        ("subtract_double", "double double", "double"),
        (
            "subtract_duration_duration",
            "duration duration",
            "duration",
        ),
        ("subtract_int64", "int int", "int"),
        (
            "subtract_timestamp_duration",
            "timestamp duration",
            "timestamp",
        ),
        (
            "subtract_timestamp_timestamp",
            "timestamp timestamp",
            "duration",
        ),
        ("subtract_uint64", "uint uint", "uint"),
    ] {
        r.global(op::SUBTRACT, id, params, result, None);
    }
    r.shared(op::SUBTRACT, subtract);
    for (function, ids, implementation) in [
        (
            op::DIVIDE,
            ["divide_double", "divide_int64", "divide_uint64"],
            divide as super::Implementation,
        ),
        (
            op::MULTIPLY,
            ["multiply_double", "multiply_int64", "multiply_uint64"],
            multiply,
        ),
    ] {
        r.global(function, ids[0], "double double", "double", None);
        r.global(function, ids[1], "int int", "int", None);
        r.global(function, ids[2], "uint uint", "uint", None);
        r.shared(function, implementation);
    }
    r.global(op::MODULO, "modulo_int64", "int int", "int", None);
    r.global(op::MODULO, "modulo_uint64", "uint uint", "uint", None);
    r.shared(op::MODULO, modulo);
    r.global(op::NEGATE, "negate_double", "double", "double", None);
    r.global(op::NEGATE, "negate_int64", "int", "int", None);
    r.shared(op::NEGATE, negate);
    comparisons(r);
    r.global(op::INDEX, "index_list", "list(A) int", "A", None);
    r.global(op::INDEX, "index_map", "map(A B) A", "B", None);
    r.global(op::IN, "in_list", "A list(A)", "bool", None);
    r.global(op::IN, "in_map", "A map(A B)", "bool", None);
    r.shared(op::IN, contains);
    r.global(
        op::MAP_INSERT,
        "@mapInsert_map_key_value",
        "map(K V) K V",
        "map(K V)",
        None,
    );
    r.global(
        op::MAP_INSERT,
        "@mapInsert_map_map",
        "map(K V) map(K V)",
        "map(K V)",
        None,
    );
    r.shared(op::MAP_INSERT, map_insert);
}

fn comparisons(r: &mut Registry) {
    for (function, prefix, implementation) in [
        (op::LESS, "less", less as super::Implementation),
        (op::LESS_EQUALS, "less_equals", less_equals),
        (op::GREATER, "greater", greater),
        (op::GREATER_EQUALS, "greater_equals", greater_equals),
    ] {
        for (name, left, right) in ORDERED {
            let params = format!("{left} {right}");
            r.global(function, format!("{prefix}_{name}"), &params, "bool", None);
        }
        r.shared(function, implementation);
    }
}

fn overflow<'a>(what: &'static str) -> EvalResult<'a> {
    Err(EvalError::new(what))
}

/// The error of an operator that the value on its left does not have.
fn refused<'a>(function: &str, left: &Value<'a>, has: bool) -> EvalResult<'a> {
    if has
        || matches!(
            left,
            Value::String(_) | Value::Timestamp(_) | Value::Duration(_)
        )
    {
        return no_such_overload();
    }
    Err(EvalError::new(format!("no such overload: {function}")))
}

fn not<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Bool(b)] => Ok(Value::Bool(!b)),
        _ => no_such_overload(),
    }
}

pub(crate) fn add<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    use Value::*;
    let [left, right] = args else {
        return no_such_overload();
    };
    match (left, right) {
        (Int(a), Int(b)) => match a.checked_add(*b) {
            Some(sum) => Ok(Int(sum)),
            None => overflow("integer overflow"),
        },
        (Uint(a), Uint(b)) => match a.checked_add(*b) {
            Some(sum) => Ok(Uint(sum)),
            None => overflow("unsigned integer overflow"),
        },
        (Double(a), Double(b)) => Ok(Double(a + b)),
        (String(a), String(b)) => {
            let mut text = std::string::String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Ok(String(Str::of(text)))
        }
        (Bytes(a), Bytes(b)) => Ok(Bytes(Arc::from([&a[..], &b[..]].concat()))),
        (List(a), List(b)) => a.add(b),
        (Duration(a), Duration(b)) => match a.checked_add(*b) {
            Some(sum) => Ok(Duration(sum)),
            None => overflow("integer overflow"),
        },
        (Timestamp(at), Duration(by)) | (Duration(by), Timestamp(at)) => match at.plus(*by) {
            Some(sum) => Ok(Timestamp(sum)),
            None => overflow("timestamp overflow"),
        },
        (left, _) => {
            let adds = matches!(left, Int(_) | Uint(_) | Double(_) | Bytes(_) | List(_));
            refused(op::ADD, left, adds)
        }
    }
}

fn subtract<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    use Value::*;
    let [left, right] = args else {
        return no_such_overload();
    };
    match (left, right) {
        (Int(a), Int(b)) => match a.checked_sub(*b) {
            Some(difference) => Ok(Int(difference)),
            None => overflow("integer overflow"),
        },
        (Uint(a), Uint(b)) => match a.checked_sub(*b) {
            Some(difference) => Ok(Uint(difference)),
            None => overflow("unsigned integer overflow"),
        },
        (Double(a), Double(b)) => Ok(Double(a - b)),
        (Duration(a), Duration(b)) => match a.checked_sub(*b) {
            Some(difference) => Ok(Duration(difference)),
            None => overflow("integer overflow"),
        },
        (Timestamp(at), Duration(by)) => match by.checked_neg().and_then(|by| at.plus(by)) {
            Some(difference) => Ok(Timestamp(difference)),
            None => overflow("timestamp overflow"),
        },
        (Timestamp(a), Timestamp(b)) => match a.since(*b) {
            Some(nanos) => Ok(Duration(nanos)),
            None => overflow("integer overflow"),
        },
        (left, _) => refused(
            op::SUBTRACT,
            left,
            matches!(left, Int(_) | Uint(_) | Double(_)),
        ),
    }
}

fn multiply<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    use Value::*;
    let [left, right] = args else {
        return no_such_overload();
    };
    match (left, right) {
        (Int(a), Int(b)) => match a.checked_mul(*b) {
            Some(product) => Ok(Int(product)),
            None => overflow("integer overflow"),
        },
        (Uint(a), Uint(b)) => match a.checked_mul(*b) {
            Some(product) => Ok(Uint(product)),
            None => overflow("unsigned integer overflow"),
        },
        (Double(a), Double(b)) => Ok(Double(a * b)),
        (left, _) => refused(
            op::MULTIPLY,
            left,
            matches!(left, Int(_) | Uint(_) | Double(_)),
        ),
    }
}

fn divide<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    use Value::*;
    let [left, right] = args else {
        return no_such_overload();
    };
    match (left, right) {
        (Int(_), Int(0)) | (Uint(_), Uint(0)) => overflow("division by zero"),
        (Int(a), Int(b)) => match a.checked_div(*b) {
            Some(quotient) => Ok(Int(quotient)),
            None => overflow("integer overflow"),
        },
        (Uint(a), Uint(b)) => Ok(Uint(a / b)),
        (Double(a), Double(b)) => Ok(Double(a / b)),
        (left, _) => refused(
            op::DIVIDE,
            left,
            matches!(left, Int(_) | Uint(_) | Double(_)),
        ),
    }
}

fn modulo<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    use Value::*;
    let [left, right] = args else {
        return no_such_overload();
    };
    match (left, right) {
        (Int(_), Int(0)) | (Uint(_), Uint(0)) => overflow("modulus by zero"),
        (Int(a), Int(b)) => match a.checked_rem(*b) {
            Some(rest) => Ok(Int(rest)),
            None => overflow("integer overflow"),
        },
        (Uint(a), Uint(b)) => Ok(Uint(a % b)),
        (left, _) => refused(op::MODULO, left, matches!(left, Int(_) | Uint(_))),
    }
}

fn negate<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    use Value::*;
    match args {
        [Int(a)] => match a.checked_neg() {
            Some(a) => Ok(Int(a)),
            None => overflow("integer overflow"),
        },
        [Double(a)] => Ok(Double(-a)),
        [Duration(a)] => match a.checked_neg() {
            Some(a) => Ok(Duration(a)),
            None => overflow("duration overflow"),
        },
        [other] => refused(op::NEGATE, other, matches!(other, Bool(_))),
        _ => no_such_overload(),
    }
}

fn compare(function: &str, args: &[Value<'_>]) -> Result<Ordering, EvalError> {
    let [left, right] = args else {
        return Err(EvalError::NO_SUCH_OVERLOAD);
    };
    if !order::is_ordered(left) {
        return Err(EvalError::new(format!("no such overload: {function}")));
    }
    order::compare(left, right)
}

fn less<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    compare(op::LESS, args).map(|order| Value::Bool(order.is_lt()))
}

fn less_equals<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    compare(op::LESS_EQUALS, args).map(|order| Value::Bool(order.is_le()))
}

fn greater<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    compare(op::GREATER, args).map(|order| Value::Bool(order.is_gt()))
}

fn greater_equals<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    compare(op::GREATER_EQUALS, args).map(|order| Value::Bool(order.is_ge()))
}

fn contains<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [element, Value::List(list)] => list.contains(element).map(Value::Bool),
        [key, Value::Map(map)] => Ok(Value::Bool(map.find(key)?.is_some())),
        _ => no_such_overload(),
    }
}

/// A map with an entry more, or with the entries of another map more.
pub(crate) fn map_insert<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let Some((Value::Map(map), rest)) = args.split_first() else {
        return no_such_overload();
    };
    let mut entries = Entries::default();
    for (key, value) in map.iter() {
        entries.insert(key, value?);
    }
    insert_into(&mut entries, rest)?;
    Ok(Value::Map(Map::Values(Arc::new(entries))))
}

/// Adds a key and a value, or all entries of a map. A key may be there only once.
pub(crate) fn insert_into<'a>(
    entries: &mut Entries<'a>,
    what: &[Value<'a>],
) -> Result<(), EvalError> {
    let mut insert = |key: Value<'a>, value: Value<'a>| {
        if entries.get(&key).is_some() {
            return Err(EvalError::new(format!(
                "insert failed: key {key} already exists"
            )));
        }
        entries.insert(key, value);
        Ok(())
    };
    match what {
        [key, value] => insert(key.clone(), value.clone()),
        [Value::Map(more)] => more.iter().try_for_each(|(key, value)| insert(key, value?)),
        _ => Err(EvalError::NO_SUCH_OVERLOAD),
    }
}
