//! Decoded objects, read and written with Go's zero values.
//!
//! Reading never fails: a field that is missing or of another type reads as the zero value of the wanted type, as it
//! does in Go. Writing creates the objects on the way.
//!
//! Paths are written `&object["spec"]["replicas"]`: indexing a shared [`Value`] returns `null` for a missing field.
//!
//! ```
//! use kubewright_machinery::json::{Read, Write};
//! use serde_json::json;
//!
//! let mut object = json!({"spec": {"replicas": 3}});
//! assert_eq!(object["spec"]["replicas"].int(), 3);
//! assert_eq!(object["spec"]["paused"].flag(), false);
//!
//! object.field("spec").put_if_blank("paused", true);
//! assert_eq!(object, json!({"spec": {"replicas": 3, "paused": true}}));
//! ```

use serde_json::{Map, Value};

/// Reads a value as a type, with the zero value where it is of another one.
pub trait Read {
    /// Returns the string, or `""`.
    fn text(&self) -> &str;
    /// Returns the string, or a default if it is missing or empty.
    fn text_or<'a>(&'a self, default: &'a str) -> &'a str;
    /// Returns the integer, or 0.
    fn int(&self) -> i64;
    /// Returns the boolean, or `false`.
    fn flag(&self) -> bool;
    /// Returns the items of the list, or none.
    fn items(&self) -> &[Value];
    /// Returns the strings of the list, without items of other types.
    fn texts(&self) -> impl Iterator<Item = &str>;
    /// Returns the entries of the map in the order of their keys.
    fn entries(&self) -> Vec<(&str, &Value)>;
    /// Reports whether the value is present, even if it is zero: a pointer that is not nil.
    fn is_set(&self) -> bool;
    /// Reports whether the value is missing or zero: `null`, `""`, 0, `false`, an empty list or an empty map.
    fn is_blank(&self) -> bool;
}

impl Read for Value {
    fn text(&self) -> &str {
        self.as_str().unwrap_or_default()
    }

    fn text_or<'a>(&'a self, default: &'a str) -> &'a str {
        match self.text() {
            "" => default,
            text => text,
        }
    }

    fn int(&self) -> i64 {
        self.as_i64().unwrap_or_default()
    }

    fn flag(&self) -> bool {
        self.as_bool().unwrap_or_default()
    }

    fn items(&self) -> &[Value] {
        self.as_array().map(Vec::as_slice).unwrap_or_default()
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.items().iter().filter_map(Value::as_str)
    }

    fn entries(&self) -> Vec<(&str, &Value)> {
        let mut out: Vec<_> = self
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.as_str(), v))
            .collect();
        out.sort_unstable_by_key(|(k, _)| *k);
        out
    }

    fn is_set(&self) -> bool {
        !self.is_null()
    }

    fn is_blank(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(b) => !b,
            Value::Number(n) => n.as_f64() == Some(0.0),
            Value::String(s) => s.is_empty(),
            Value::Array(a) => a.is_empty(),
            Value::Object(o) => o.is_empty(),
        }
    }
}

/// Writes the fields of an object.
pub trait Write {
    /// Returns the object; a value of another type becomes an empty one.
    fn object(&mut self) -> &mut Map<String, Value>;
    /// Returns a field, which is created as `null` if it is missing.
    fn field(&mut self, key: &str) -> &mut Value;
    /// Sets a field.
    fn put(&mut self, key: &str, value: impl Into<Value>);
    /// Sets a field unless it is present.
    fn put_if_unset(&mut self, key: &str, value: impl Into<Value>);
    /// Sets a field that is missing or zero.
    fn put_if_blank(&mut self, key: &str, value: impl Into<Value>);
    /// Removes a field.
    fn forget(&mut self, key: &str);
    /// Calls a function with every item of a list field.
    fn each(&mut self, key: &str, f: impl FnMut(&mut Value));
    /// Calls a function with a field that is set.
    fn with(&mut self, key: &str, f: impl FnOnce(&mut Value));
}

impl Write for Value {
    fn object(&mut self) -> &mut Map<String, Value> {
        if !self.is_object() {
            *self = Value::Object(Map::new());
        }
        match self {
            Value::Object(map) => map,
            _ => unreachable!("it was just made an object"),
        }
    }

    fn field(&mut self, key: &str) -> &mut Value {
        self.object().entry(key).or_insert(Value::Null)
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.object().insert(key.to_owned(), value.into());
    }

    fn put_if_unset(&mut self, key: &str, value: impl Into<Value>) {
        if !self[key].is_set() {
            self.put(key, value);
        }
    }

    fn put_if_blank(&mut self, key: &str, value: impl Into<Value>) {
        if self[key].is_blank() {
            self.put(key, value);
        }
    }

    fn forget(&mut self, key: &str) {
        if let Some(map) = self.as_object_mut() {
            map.remove(key);
        }
    }

    fn each(&mut self, key: &str, f: impl FnMut(&mut Value)) {
        if let Some(items) = self.get_mut(key).and_then(Value::as_array_mut) {
            items.iter_mut().for_each(f);
        }
    }

    fn with(&mut self, key: &str, f: impl FnOnce(&mut Value)) {
        if let Some(v) = self.get_mut(key).filter(|v| !v.is_null()) {
            f(v);
        }
    }
}

/// Reports whether two values mean the same, where `null` and an empty list mean the same as a missing field.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.iter()
                .all(|(k, v)| same(v, y.get(k).unwrap_or(&Value::Null)))
                && y.iter().all(|(k, v)| x.contains_key(k) || nothing(v))
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(v, w)| same(v, w))
        }
        _ => a == b || (nothing(a) && nothing(b)),
    }
}

fn nothing(v: &Value) -> bool {
    match v {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_and_an_empty_list_mean_a_missing_field() {
        assert!(same(&json!({"a": null, "b": []}), &json!({})));
        assert!(same(&json!({}), &json!({"a": null})));
        assert!(!same(&json!({"a": {}}), &json!({})));
        assert!(!same(&json!({"a": [1]}), &json!({"a": [1, 2]})));
    }

    #[test]
    fn writing_creates_the_objects_on_the_way() {
        let mut v = Value::Null;
        v.field("spec")
            .field("strategy")
            .put_if_blank("type", "Recreate");
        assert_eq!(v, json!({"spec": {"strategy": {"type": "Recreate"}}}));
    }
}
