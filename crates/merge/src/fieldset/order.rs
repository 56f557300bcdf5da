//! A total order on values, and equality where an integer equals the float of the same value.
//!
//! Numbers come before strings, then booleans, lists, maps and `null`.

use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

/// A number as Kubernetes holds it: 64-bit integers, and floats for everything else.
pub(crate) enum Num {
    Int(i64),
    Float(f64),
}

/// Orders two values.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let differing = a
                .iter()
                .zip(b)
                .map(|(a, b)| compare(a, b))
                .find(|o| o.is_ne());
            differing.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => compare_maps(a, b),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

/// Reports whether two values are equal.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || compare_numbers(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Reports whether a value is a map without entries.
pub(crate) fn is_zero_length_map(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

impl Num {
    /// An integer if it fits, else a float.
    pub(crate) fn of(n: &Number) -> Num {
        match n.as_i64() {
            Some(i) => Num::Int(i),
            None => Num::Float(n.as_f64().unwrap_or(0.0)),
        }
    }

    fn float(&self) -> f64 {
        match self {
            Num::Int(i) => *i as f64,
            Num::Float(f) => *f,
        }
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (Num::of(a), Num::of(b)) {
        (Num::Int(a), Num::Int(b)) => a.cmp(&b),
        (a, b) => a.float().partial_cmp(&b.float()).unwrap_or(Ordering::Equal),
    }
}

fn compare_maps(a: &Map<String, Value>, b: &Map<String, Value>) -> Ordering {
    let sorted = |map: &Map<String, Value>| {
        let mut names: Vec<String> = map.keys().cloned().collect();
        names.sort();
        names
    };
    let (a_names, b_names) = (sorted(a), sorted(b));
    for (a_name, b_name) in a_names.iter().zip(&b_names) {
        let order = a_name
            .cmp(b_name)
            .then_with(|| match (a.get(a_name), b.get(b_name)) {
                (Some(a), Some(b)) => compare(a, b),
                _ => Ordering::Equal,
            });
        if order.is_ne() {
            return order;
        }
    }
    a_names.len().cmp(&b_names.len())
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}
