//! Resolves paths into a document: the container that an operation works on, and the rules for arrays and objects.

use kubewright_machinery::go;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The target of an operation: a container and the last token of the path.
pub(super) struct Place<'d> {
    pub(super) container: Container<'d>,
    pub(super) key: String,
}

/// An object or an array.
pub(super) enum Container<'d> {
    Object(&'d mut Map<String, Value>),
    Array(&'d mut Vec<Value>),
}

/// The container that holds the last token of `path`, if the document has it.
pub(super) fn find<'d>(document: &'d mut Value, path: &str) -> Option<Place<'d>> {
    let mut tokens = path.split('/').skip(1).peekable();
    let mut container = Container::of(document)?;
    loop {
        let token = unescape(tokens.next()?);
        if tokens.peek().is_none() {
            return Some(Place {
                container,
                key: token.into_owned(),
            });
        }
        container = Container::of(container.into_child(&token)?)?;
    }
}

impl<'d> Container<'d> {
    fn of(value: &'d mut Value) -> Option<Self> {
        match value {
            Value::Object(fields) => Some(Container::Object(fields)),
            Value::Array(items) => Some(Container::Array(items)),
            _ => None,
        }
    }

    fn into_child(self, key: &str) -> Option<&'d mut Value> {
        match self {
            Container::Object(fields) => fields.get_mut(key),
            Container::Array(items) => {
                let index = existing(parse_index(key).ok()?, items.len()).ok()?;
                items.get_mut(index)
            }
        }
    }

    /// The value at `key`; an object has no value for most keys, an array fails there.
    pub(super) fn get(&mut self, key: &str) -> Result<Option<&Value>, String> {
        match self {
            Container::Object(fields) => Ok(fields.get(key)),
            Container::Array(items) => {
                let index = existing(parse_index(key)?, items.len())?;
                Ok(items.get(index))
            }
        }
    }

    /// Returns the number of elements that have to move if one is added or removed at `key`.
    pub(super) fn elements_after(&self, key: &str) -> usize {
        let Container::Array(items) = self else {
            return 0;
        };
        let index = parse_index(key).and_then(|index| existing(index, items.len() + 1));
        index.map_or(0, |index| items.len().saturating_sub(index))
    }

    /// Overwrites the value of `key`.
    pub(super) fn set(self, key: &str, value: Value) -> Result<(), String> {
        match self {
            Container::Object(fields) => {
                fields.insert(key.to_owned(), value);
            }
            Container::Array(items) => {
                let index = existing(parse_index(key)?, items.len())?;
                if let Some(slot) = items.get_mut(index) {
                    *slot = value;
                }
            }
        }
        Ok(())
    }

    /// Puts a value at `key`; an array makes room for it.
    pub(super) fn add(self, key: &str, value: Value) -> Result<(), String> {
        match self {
            Container::Object(fields) => {
                fields.insert(key.to_owned(), value);
            }
            Container::Array(items) if key == "-" => items.push(value),
            Container::Array(items) => {
                let index = parse_index(key)
                    .map_err(|e| format!("value was not a proper array index: '{key}': {e}"))?;
                let index = existing(index, items.len() + 1)?;
                items.insert(index, value);
            }
        }
        Ok(())
    }

    /// Takes `key` out.
    pub(super) fn remove(self, key: &str) -> Result<Value, String> {
        match self {
            Container::Object(fields) => fields
                .remove(key)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value")),
            Container::Array(items) => {
                let index = existing(parse_index(key)?, items.len())?;
                Ok(items.remove(index))
            }
        }
    }
}

/// An index of an array of that length; negative ones count from the end.
fn existing(index: i64, len: usize) -> Result<usize, String> {
    let size = i64::try_from(len).unwrap_or(i64::MAX);
    let from_start = if index < 0 {
        index.checked_add(size).unwrap_or(-1)
    } else {
        index
    };
    if from_start < 0 || from_start >= size {
        return Err(format!(
            "Unable to access invalid index: {index}: invalid index referenced"
        ));
    }
    usize::try_from(from_start).map_err(|e| e.to_string())
}

/// A decimal integer with an optional sign.
fn parse_index(key: &str) -> Result<i64, String> {
    let digits = key.strip_prefix(['+', '-']).unwrap_or(key);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        let quoted = go::quote(key);
        return Err(format!("strconv.Atoi: parsing {quoted}: invalid syntax"));
    }
    key.parse().map_err(|_| {
        format!(
            "strconv.Atoi: parsing {}: value out of range",
            go::quote(key)
        )
    })
}

/// `~1` is a slash and `~0` a tilde.
fn unescape(token: &str) -> Cow<'_, str> {
    if !token.contains('~') {
        return Cow::Borrowed(token);
    }
    let mut out = String::with_capacity(token.len());
    let mut rest = token;
    while let Some(at) = rest.find('~') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (text, used) = match rest.as_bytes().get(1) {
            Some(b'1') => ('/', 2),
            Some(b'0') => ('~', 2),
            _ => ('~', 1),
        };
        out.push(text);
        rest = &rest[used..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}
