//! Decodes values without fields.

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::{
    quantity::Quantity,
    time::{Time, format_duration},
};
use serde_json::Value;

use super::{LENGTH, VARINT};
use crate::{layout::Shape, wire::Reader};

/// Reads one value. `earlier` is what a list of strings is added to.
pub(super) fn read(
    shape: &Shape,
    reader: &mut Reader<'_>,
    earlier: Option<Value>,
) -> Result<Value, String> {
    match shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Uint32 => {
            Ok(number(shape, reader.varint()?))
        }
        // Infinities are no JSON numbers; Go cannot print them either.
        Shape::Float64 => Ok(f64::from_bits(reader.fixed64()?).into()),
        Shape::Number => Ok(shortest(f64::from_bits(reader.fixed64()?))),
        Shape::String => Ok(text(reader.block()?).into()),
        Shape::Bytes => Ok(STANDARD.encode(reader.block()?).into()),
        Shape::Strings => strings(reader.block()?, earlier),
        Shape::Quantity => quantity(reader.block()?),
        Shape::IntOrString => int_or_string(reader.block()?, |int| int as i32 as i64),
        Shape::Int64OrString => int_or_string(reader.block()?, |int| int as i64),
        Shape::Time => {
            let block = reader.block()?;
            Ok(point_in_time(
                block,
                |seconds, _| Time::from_unix(seconds, 0),
                Time::to_seconds,
            )?)
        }
        Shape::MicroTime => {
            let block = reader.block()?;
            Ok(point_in_time(block, to_the_microsecond, Time::to_micros)?)
        }
        Shape::Duration => {
            let mut nanos = 0;
            numbers(
                reader.block()?,
                "Duration",
                &[(1, "Duration")],
                |_, value| nanos = value,
            )?;
            Ok(format_duration(nanos as i64).into())
        }
        _ => raw(reader.block()?),
    }
}

/// A number of the wire as the value of its type. Go drops the bits that do not fit.
pub(super) fn number(shape: &Shape, value: u64) -> Value {
    match shape {
        Shape::Bool => (value != 0).into(),
        Shape::Int32 => (value as i32).into(),
        Shape::Uint32 => (value as u32).into(),
        Shape::Float64 => f64::from_bits(value).into(),
        Shape::Number => shortest(f64::from_bits(value)),
        _ => (value as i64).into(),
    }
}

/// Returns a float as Go prints it: an integer if it has no fraction.
fn shortest(float: f64) -> Value {
    // Larger ones may not be the integer that was meant.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match float.fract() == 0.0 && float.abs() <= EXACT {
        true => (float as i64).into(),
        false => float.into(),
    }
}

/// Converts bytes to text. Each byte that is not UTF-8 is replaced, as Go does when it prints JSON.
pub(super) fn text(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    out
}

/// A scalar's zero value, which is omitted if the type says so.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn strings(bytes: &[u8], earlier: Option<Value>) -> Result<Value, String> {
    let mut values = match earlier {
        Some(Value::Array(values)) => values,
        _ => Vec::new(),
    };
    blocks(bytes, "ExtraValue", &[(1, "Items")], |_, block| {
        values.push(text(block).into());
        Ok(())
    })?;
    Ok(Value::Array(values))
}

fn quantity(bytes: &[u8]) -> Result<Value, String> {
    let mut value = "0".to_owned();
    blocks(bytes, "Quantity", &[(1, "String_")], |_, block| {
        let quantity = Quantity::parse(&text(block)).map_err(|error| error.to_string())?;
        value = quantity.canonical();
        Ok(())
    })?;
    Ok(value.into())
}

fn int_or_string(bytes: &[u8], int_of: fn(u64) -> i64) -> Result<Value, String> {
    let (mut kind, mut int, mut string) = (0, 0, String::new());
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let tag = reader.tag("IntOrString")?;
        match tag.number {
            1 => {
                tag.expect(VARINT, "Type")?;
                kind = reader.varint()?;
            }
            2 => {
                tag.expect(VARINT, "IntVal")?;
                int = int_of(reader.varint()?);
            }
            3 => {
                tag.expect(LENGTH, "StrVal")?;
                string = text(reader.block()?);
            }
            _ => reader.skip(tag.wire)?,
        }
    }
    match kind {
        0 => Ok(int.into()),
        1 => Ok(string.into()),
        _ => Err("impossible IntOrString.Type".into()),
    }
}

/// A time as text; null for the zero time.
fn point_in_time(
    bytes: &[u8],
    make: fn(i64, i32) -> Time,
    print: fn(Time) -> String,
) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    numbers(
        bytes,
        "Timestamp",
        &[(1, "Seconds"), (2, "Nanos")],
        |number, value| match number {
            1 => seconds = value as i64,
            _ => nanos = value as i32,
        },
    )?;
    let time = make(seconds, nanos);
    Ok(if time.is_zero() {
        Value::Null
    } else {
        print(time).into()
    })
}

/// Carries nanoseconds beyond a second, or before it, over to the seconds.
fn to_the_microsecond(seconds: i64, nanos: i32) -> Time {
    let nanos = nanos - nanos % 1000;
    let seconds = seconds.saturating_add(nanos.div_euclid(1_000_000_000).into());
    Time::from_unix(seconds, nanos.rem_euclid(1_000_000_000).unsigned_abs())
}

/// Decodes JSON text in a message; `null` if there is none.
fn raw(bytes: &[u8]) -> Result<Value, String> {
    let mut value = Value::Null;
    blocks(bytes, "RawExtension", &[(1, "Raw")], |_, block| {
        value = if block.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(block).map_err(|error| format!("json: {error}"))?
        };
        Ok(())
    })?;
    Ok(value)
}

/// Reads a message of which only these fields matter, all of them blocks.
fn blocks<'b>(
    bytes: &'b [u8],
    name: &str,
    known: &[(u32, &str)],
    mut each: impl FnMut(u32, &'b [u8]) -> Result<(), String>,
) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let tag = reader.tag(name)?;
        match known.iter().find(|(number, _)| *number == tag.number) {
            Some((number, field)) => {
                tag.expect(LENGTH, field)?;
                each(*number, reader.block()?)?;
            }
            None => reader.skip(tag.wire)?,
        }
    }
    Ok(())
}

/// Reads a message of which only these fields matter, all of them numbers.
fn numbers(
    bytes: &[u8],
    name: &str,
    known: &[(u32, &str)],
    mut each: impl FnMut(u32, u64),
) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let tag = reader.tag(name)?;
        match known.iter().find(|(number, _)| *number == tag.number) {
            Some((number, field)) => {
                tag.expect(VARINT, field)?;
                each(*number, reader.varint()?);
            }
            None => reader.skip(tag.wire)?,
        }
    }
    Ok(())
}
