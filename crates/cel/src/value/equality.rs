//! `==`, by the rules of the value on the left.
//!
//! Numbers of different types are equal if they are the same number. Values of different kinds are not equal, except
//! that lists, objects and Kubernetes types from a schema refuse the comparison.

use std::cmp::Ordering;

use serde_json::Value as Json;

use crate::schema::ListType;

use super::list::same_key;
use super::{EvalError, List, Map, Str, Value, order};

type Equality = Result<bool, EvalError>;

/// `a == b`
pub(crate) fn equal(a: &Value<'_>, b: &Value<'_>) -> Equality {
    let same = match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::String(a), Value::String(b)) => a[..] == b[..],
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => matches!(order::compare(a, b), Ok(Ordering::Equal)),
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a.instant() == b.instant(),
        (Value::Type(a), Value::Type(b)) => a.name() == b.name(),
        (Value::List(a), b) => return lists(a, b),
        (Value::Map(a), b) => return maps(a, b),
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => return equal(a, b),
            _ => false,
        },
        (Value::Preserved(a), b) => preserved(a, b),
        (Value::Message(a), Value::Message(b)) => return a.equals(b),
        (Value::Quantity(a), Value::Quantity(b)) => return a.equals(b),
        (Value::Url(a), Value::Url(b)) => a.to_string() == b.to_string(),
        (Value::Ip(a), Value::Ip(b)) => a == b,
        (Value::Cidr(a, a_bits), Value::Cidr(b, b_bits)) => a == b && a_bits == b_bits,
        (Value::Semver(a), Value::Semver(b)) => a.compare(b) == Ordering::Equal,
        (Value::Format(a), Value::Format(b)) => a.name == b.name,
        (
            Value::Quantity(_)
            | Value::Url(_)
            | Value::Ip(_)
            | Value::Cidr(..)
            | Value::Semver(_)
            | Value::Format(_)
            | Value::Access(_),
            _,
        ) => return Err(EvalError::NO_SUCH_OVERLOAD),
        _ => false,
    };
    Ok(same)
}

fn lists(a: &List<'_>, b: &Value<'_>) -> Equality {
    let strict = matches!(a, List::Json(_, Some(_)) | List::Values(_, Some(_)));
    let Value::List(b) = b else {
        return match strict {
            true => Err(EvalError::NO_SUCH_OVERLOAD),
            false => Ok(false),
        };
    };
    if a.len() != b.len() {
        return Ok(false);
    }
    match a.list_type() {
        ListType::Set => all_in_set(a, b),
        ListType::Map => all_by_key(a, b),
        ListType::Atomic => {
            for (x, y) in a.iter().zip(b.iter()) {
                match equal(&x?, &y?) {
                    Ok(true) => {}
                    // Plain lists pass over what cannot be compared.
                    Err(EvalError::Failed(_)) if !strict => {}
                    other => return other,
                }
            }
            Ok(true)
        }
    }
}

/// Reports whether every element of `b` is in the set `a`.
fn all_in_set(a: &List<'_>, b: &List<'_>) -> Equality {
    let members: Vec<Value<'_>> = a.iter().collect::<Result<_, _>>()?;
    if members.len() > 16
        && let Some(texts) = texts(&members)
    {
        for element in b.iter() {
            match element? {
                Value::String(text) if texts.contains(&*text) => {}
                _ => return Ok(false),
            }
        }
        return Ok(true);
    }
    for element in b.iter() {
        let element = element?;
        if !members.iter().any(|m| equal(m, &element) == Ok(true)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn texts<'v>(values: &'v [Value<'_>]) -> Option<std::collections::HashSet<&'v str>> {
    values.iter().map(Value::as_str).collect()
}

/// Reports whether every element of `b` equals the one of the map list `a` with the same key.
fn all_by_key(a: &List<'_>, b: &List<'_>) -> Equality {
    let keys = a.map_keys();
    let members: Vec<Value<'_>> = a.iter().collect::<Result<_, _>>()?;
    for (at, element) in b.iter().enumerate() {
        let element = element?;
        // Most lists have kept their order.
        let same_place = members.get(at).filter(|m| same_key(m, &element, keys));
        let twin = same_place.or_else(|| members.iter().rfind(|m| same_key(m, &element, keys)));
        match twin {
            None => return Ok(false),
            Some(twin) => match equal(twin, &element) {
                Ok(true) => {}
                other => return other,
            },
        }
    }
    Ok(true)
}

fn maps(a: &Map<'_>, b: &Value<'_>) -> Equality {
    let strict = matches!(a, Map::Json(_, Some(_)));
    let Value::Map(b) = b else {
        return match strict {
            true => Err(EvalError::NO_SUCH_OVERLOAD),
            false => Ok(false),
        };
    };
    if a.len() != b.len() {
        return Ok(false);
    }
    if let (Map::Json(x, Some(schema)), Map::Json(y, Some(_))) = (a, b)
        && !schema.properties.is_empty()
    {
        let unknown = x
            .iter()
            .filter(|(k, _)| !schema.properties.contains_key(*k));
        for (key, value) in unknown {
            if y.get(key).is_some_and(|other| other != value) {
                return Ok(false);
            }
        }
    }
    for (key, value) in a.iter() {
        let other = b.find(&key)?;
        if strict && value_is_absent(a, &key)? {
            if other.is_some() {
                return Ok(false);
            }
            continue;
        }
        let Some(other) = other else {
            return Ok(false);
        };
        match equal(&value?, &other) {
            Ok(true) => {}
            Err(EvalError::Failed(_)) if !strict => {}
            other => return other,
        }
    }
    Ok(true)
}

/// Reports whether an object has a field only as null, which counts as missing.
fn value_is_absent(map: &Map<'_>, key: &Value<'_>) -> Result<bool, EvalError> {
    Ok(map.find(key)?.is_none())
}

fn preserved(a: &Json, b: &Value<'_>) -> bool {
    match b {
        Value::Preserved(b) => a == *b,
        Value::String(b) => a.as_str() == Some(b),
        Value::Bool(b) => a.as_bool() == Some(*b),
        Value::Int(b) => a.as_i64() == Some(*b),
        Value::Double(b) => a.is_f64() && a.as_f64() == Some(*b),
        Value::Map(Map::Json(b, _)) => a.as_object() == Some(*b),
        Value::List(List::Json(b, _)) => a.as_array().is_some_and(|a| a.as_slice() == *b),
        _ => false,
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}
