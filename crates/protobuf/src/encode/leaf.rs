//! Encodes values without fields.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::time::{Time, parse_duration};

use super::{At, Encoder};
use crate::{
    EncodeError,
    input::{Form, Json, Source},
    layout::Shape,
    wire::Sink,
};

impl<'a, S: Source<'a>, W: Sink> Encoder<'_, S, W> {
    /// Writes one value with its tag; the zero value if there is none.
    pub(super) fn leaf(
        &mut self,
        at: At,
        shape: &Shape,
        value: Option<S::Value>,
    ) -> Result<(), EncodeError> {
        match shape {
            Shape::Bool => {
                let value = match value.map(Json::form) {
                    None => false,
                    Some(Form::Bool(value)) => value,
                    Some(_) => return Err(at.mismatch("bool")),
                };
                self.out.varint_field(at.number, u64::from(value));
            }
            Shape::Int32 | Shape::Int64 | Shape::Uint32 => {
                let value = value
                    .map_or(Some(0), Json::integer)
                    .ok_or(at.mismatch("integer"))?;
                // Negative numbers are extended to 64 bits.
                self.out.varint_field(at.number, value as u64);
            }
            Shape::Float64 | Shape::Number => {
                let value = value
                    .map_or(Some(0.0), Json::float)
                    .ok_or(at.mismatch("number"))?;
                self.out.fixed64_field(at.number, value.to_bits());
            }
            Shape::String => {
                self.out.bytes_field(at.number, &bytes(at, value)?);
            }
            Shape::Bytes => {
                let text = bytes(at, value)?;
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
        value: Option<S::Value>,
    ) -> Result<(), EncodeError> {
        match shape {
            Shape::Strings => {
                let Some(value) = value else { return Ok(()) };
                if value.form() != Form::Array {
                    return Err(at.mismatch("list"));
                }
                for value in value.items_reversed() {
                    self.out.bytes_field(1, &bytes(at, value.present())?);
                }
            }
            Shape::Quantity => {
                let text = match value {
                    None => Cow::Borrowed(&b"0"[..]),
                    value => bytes(at, value)?,
                };
                self.out.bytes_field(1, &text);
            }
            Shape::IntOrString | Shape::Int64OrString => {
                let mismatch = at.mismatch("int or string");
                let none = Cow::Borrowed(&b""[..]);
                let (kind, number, text) = match value {
                    None => (0, 0, none),
                    Some(value) => match value.text() {
                        Some(text) => (1, 0, text),
                        None => (0, value.integer().ok_or(mismatch)?, none),
                    },
                };
                self.out.bytes_field(3, &text);
                self.out.varint_field(2, number as u64);
                self.out.varint_field(1, kind);
            }
            Shape::Time => {
                if value.is_some() {
                    let text = string(at, value)?;
                    let time = Time::parse(&text).map_err(|_| at.mismatch("time"))?;
                    self.timestamp(time.truncated());
                }
            }
            Shape::MicroTime => {
                if value.is_some() {
                    let text = string(at, value)?;
                    let time = Time::parse_micro(&text).map_err(|_| at.mismatch("time"))?;
                    self.timestamp(time);
                }
            }
            Shape::Duration => {
                let nanos = match value {
                    None => 0,
                    value => {
                        parse_duration(&string(at, value)?).map_err(|_| at.mismatch("duration"))?
                    }
                };
                self.out.varint_field(1, nanos as u64);
            }
            _ => {
                if let Some(value) = value {
                    self.out.bytes_field(1, &value.json()?);
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

/// The bytes of a string; none of an absent one.
fn bytes<'a, J: Json<'a>>(at: At, value: Option<J>) -> Result<Cow<'a, [u8]>, EncodeError> {
    match value {
        None => Ok(Cow::Borrowed(b"")),
        Some(value) => value.text().ok_or(at.mismatch("string")),
    }
}

fn string<'a, J: Json<'a>>(at: At, value: Option<J>) -> Result<Cow<'a, str>, EncodeError> {
    let text = match bytes(at, value)? {
        Cow::Borrowed(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
        Cow::Owned(text) => String::from_utf8(text).ok().map(Cow::Owned),
    };
    text.ok_or(at.mismatch("string"))
}
