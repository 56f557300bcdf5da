//! Trees of values.

use std::borrow::Cow;

use kubewright_machinery::limits::{DOCUMENT_DEPTH, depth_of};
use serde_json::Value;

use super::{Form, Json, Source};
use crate::{EncodeError, layout::Message};

/// A tree of values, read by the fields of its types.
#[derive(Default)]
pub(crate) struct Tree<'a> {
    /// The values of the fields of the open objects, innermost last.
    slots: Vec<Option<&'a Value>>,
}

impl<'a> Source<'a> for Tree<'a> {
    type Value = &'a Value;
    /// The index of the first slot.
    type Fields = usize;

    fn open(&mut self, layout: &'static Message, object: Option<&'a Value>) -> usize {
        let base = self.slots.len();
        self.slots.resize(base + layout.slots(), None);
        for (key, value) in object.and_then(Value::as_object).into_iter().flatten() {
            if let Some(name) = layout.name(key.as_bytes()) {
                self.slots[base + usize::from(name.slot)] = value.present();
            }
        }
        base
    }

    fn get(&self, base: usize, slot: u16) -> Option<&'a Value> {
        self.slots[base + usize::from(slot)]
    }

    fn close(&mut self, base: usize) {
        self.slots.truncate(base);
    }
}

impl<'a> Json<'a> for &'a Value {
    fn form(self) -> Form {
        match self {
            Value::Null => Form::Null,
            Value::Bool(value) => Form::Bool(*value),
            Value::Number(_) => Form::Number,
            Value::String(_) => Form::String,
            Value::Array(_) => Form::Array,
            Value::Object(_) => Form::Object,
        }
    }

    fn integer(self) -> Option<i64> {
        self.as_i64()
    }

    fn float(self) -> Option<f64> {
        self.as_f64()
    }

    fn plain(self) -> Option<&'a [u8]> {
        self.as_str().map(str::as_bytes)
    }

    fn text(self) -> Option<Cow<'a, [u8]>> {
        self.as_str().map(|text| Cow::Borrowed(text.as_bytes()))
    }

    fn items_reversed(self) -> impl Iterator<Item = Self> {
        self.as_array().into_iter().flatten().rev()
    }

    fn entries_reversed(self) -> impl Iterator<Item = (Cow<'a, [u8]>, Self)> {
        let entries = self.as_object().map(|entries| entries.iter().rev());
        let entries = entries.into_iter().flatten();
        entries.map(|(key, value)| (Cow::Borrowed(key.as_bytes()), value))
    }

    fn ascends(self) -> bool {
        let keys = self.as_object().into_iter().flatten().map(|(key, _)| key);
        keys.is_sorted_by(|a, b| a < b)
    }

    fn json(self) -> Result<Cow<'a, [u8]>, EncodeError> {
        if depth_of(self) >= DOCUMENT_DEPTH {
            return Err(EncodeError::TooDeep);
        }
        Ok(Cow::Owned(json_text(self).into_bytes()))
    }
}

/// Prints compact JSON with HTML characters escaped, as Go does.
pub(super) fn json_text(value: &Value) -> String {
    const ESCAPED: [char; 5] = ['<', '>', '&', '\u{2028}', '\u{2029}'];
    let text = value.to_string();
    // 0xe2 begins the last two, and others.
    if !text
        .bytes()
        .any(|byte| matches!(byte, b'<' | b'>' | b'&' | 0xe2))
    {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // These stand within strings only.
        if ESCAPED.contains(&c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}
