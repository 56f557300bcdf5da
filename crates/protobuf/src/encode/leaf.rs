//! Encodes values without fields.

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::{
    limits::{DOCUMENT_DEPTH, depth_of},
    time::{Time, parse_duration},
};
use serde_json::Value;

use super::{At, Encoder, present};
use crate::{EncodeError, layout::Shape};

impl Encoder<'_> {
    /// Writes one value with its tag; the zero value if there is none.
    pub(super) fn leaf(
        &mut self,
        at: At,
        shape: &Shape,
        value: Option<&Value>,
    ) -> Result<(), EncodeError> {
        match shape {
            Shape::Bool => {
                let value = or(value, false, Value::as_bool).ok_or(at.mismatch("bool"))?;
                self.out.varint_field(at.number, u64::from(value));
            }
            Shape::Int32 | Shape::Int64 | Shape::Uint32 => {
                let value = or(value, 0, Value::as_i64).ok_or(at.mismatch("integer"))?;
                // Negative numbers are extended to 64 bits.
                self.out.varint_field(at.number, value as u64);
            }
            Shape::Float64 => {
                let value = or(value, 0.0, Value::as_f64).ok_or(at.mismatch("number"))?;
                self.out.fixed64_field(at.number, value.to_bits());
            }
            Shape::String => {
                self.out
                    .bytes_field(at.number, string(at, value)?.as_bytes());
            }
            Shape::Bytes => {
                let text = string(at, value)?;
                let bytes = STANDARD.decode(text).map_err(|_| at.mismatch("base64"))?;
                self.out.bytes_field(at.number, &bytes);
            }
            _ => {
                let mark = self.out.len();
                self.leaf_message(at, shape, value)?;
                self.out.close(at.number, mark);
            }
        }
        Ok(())
    }

    fn leaf_message(
        &mut self,
        at: At,
        shape: &Shape,
        value: Option<&Value>,
    ) -> Result<(), EncodeError> {
        match shape {
            Shape::Strings => {
                let Some(value) = value else { return Ok(()) };
                let values = value.as_array().ok_or(at.mismatch("list"))?;
                for value in values.iter().rev() {
                    self.out
                        .bytes_field(1, string(at, present(value))?.as_bytes());
                }
            }
            Shape::Quantity => {
                let text = if value.is_some() {
                    string(at, value)?
                } else {
                    "0"
                };
                self.out.bytes_field(1, text.as_bytes());
            }
            Shape::IntOrString => {
                let (kind, number, text) = match value {
                    None => (0, 0, ""),
                    Some(Value::String(text)) => (1, 0, &**text),
                    Some(value) => (0, value.as_i64().ok_or(at.mismatch("int or string"))?, ""),
                };
                self.out.bytes_field(3, text.as_bytes());
                self.out.varint_field(2, number as u64);
                self.out.varint_field(1, kind);
            }
            Shape::Time => {
                if value.is_some() {
                    let time = Time::parse(string(at, value)?).map_err(|_| at.mismatch("time"))?;
                    self.timestamp(time.truncated());
                }
            }
            Shape::MicroTime => {
                if value.is_some() {
                    let time =
                        Time::parse_micro(string(at, value)?).map_err(|_| at.mismatch("time"))?;
                    self.timestamp(time);
                }
            }
            Shape::Duration => {
                let nanos = match value {
                    None => 0,
                    value => {
                        parse_duration(string(at, value)?).map_err(|_| at.mismatch("duration"))?
                    }
                };
                self.out.varint_field(1, nanos as u64);
            }
            _ => {
                if let Some(value) = value {
                    if depth_of(value) >= DOCUMENT_DEPTH {
                        return Err(EncodeError::TooDeep);
                    }
                    self.out.bytes_field(1, json_text(value).as_bytes());
                }
            }
        }
        Ok(())
    }

    /// Encodes seconds and nanoseconds; nothing for the zero time.
    fn timestamp(&mut self, time: Time) {
        if !time.is_zero() {
            self.out.varint_field(2, u64::from(time.subsec_nanos()));
            self.out.varint_field(1, time.unix_seconds() as u64);
        }
    }
}

fn or<T>(value: Option<&Value>, zero: T, read: fn(&Value) -> Option<T>) -> Option<T> {
    match value {
        Some(value) => read(value),
        None => Some(zero),
    }
}

fn string(at: At, value: Option<&Value>) -> Result<&str, EncodeError> {
    match value {
        None => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(at.mismatch("string")),
    }
}

/// Prints compact JSON with HTML characters escaped, as Go does.
fn json_text(value: &Value) -> String {
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
