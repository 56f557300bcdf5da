//! Conversions between types, and `size`.

use std::sync::Arc;

use kubewright_machinery::time::{Layout, parse_duration};

use crate::types::Type;
use crate::value::{EvalError, EvalResult, Str, Timestamp, Value, time};
use kubewright_machinery::go;

use super::{Registry, no_such_overload};

pub(super) fn declare(r: &mut Registry) {
    for (id, of) in [
        ("size_bytes", "bytes"),
        ("size_list", "list(A)"),
        ("size_map", "map(A B)"),
        ("size_string", "string"),
    ] {
        r.global("size", id, of, "int", None);
    }
    for (id, of) in [
        ("bytes_size", "bytes"),
        ("list_size", "list(A)"),
        ("map_size", "map(A B)"),
        ("string_size", "string"),
    ] {
        r.member("size", id, of, "int", None);
    }
    r.shared("size", size);
    r.global("type", "type", "A", "type(A)", None);
    r.shared("type", |args| match args {
        [value] => Ok(Value::Type(value.runtime_type())),
        _ => no_such_overload(),
    });
    r.global("dyn", "to_dyn", "A", "dyn", None);
    r.shared("dyn", identity);
    r.global(
        "bool",
        "bool_to_bool",
        "bool",
        "bool",
        identity as super::Implementation,
    );
    r.global(
        "bool",
        "string_to_bool",
        "string",
        "bool",
        to_bool as super::Implementation,
    );
    r.global(
        "bytes",
        "bytes_to_bytes",
        "bytes",
        "bytes",
        identity as super::Implementation,
    );
    r.global(
        "bytes",
        "string_to_bytes",
        "string",
        "bytes",
        to_bytes as super::Implementation,
    );
    for (to, same, from, convert) in [
        (
            "double",
            "double_to_double",
            &[
                ("int64_to_double", "int"),
                ("string_to_double", "string"),
                ("uint64_to_double", "uint"),
            ][..],
            to_double as super::Implementation,
        ),
        (
            "duration",
            "duration_to_duration",
            &[
                ("int64_to_duration", "int"),
                ("string_to_duration", "string"),
            ],
            to_duration,
        ),
        (
            "int",
            "int64_to_int64",
            &[
                ("double_to_int64", "double"),
                ("duration_to_int64", "duration"),
                ("string_to_int64", "string"),
                ("timestamp_to_int64", "timestamp"),
                ("uint64_to_int64", "uint"),
            ],
            to_int,
        ),
        (
            "string",
            "string_to_string",
            &[
                ("bool_to_string", "bool"),
                ("bytes_to_string", "bytes"),
                ("double_to_string", "double"),
                ("duration_to_string", "duration"),
                ("int64_to_string", "int"),
                ("timestamp_to_string", "timestamp"),
                ("uint64_to_string", "uint"),
            ],
            to_string,
        ),
        (
            "timestamp",
            "timestamp_to_timestamp",
            &[
                ("int64_to_timestamp", "int"),
                ("string_to_timestamp", "string"),
            ],
            to_timestamp,
        ),
        (
            "uint",
            "uint64_to_uint64",
            &[
                ("double_to_uint64", "double"),
                ("int64_to_uint64", "int"),
                ("string_to_uint64", "string"),
            ],
            to_uint,
        ),
    ] {
        r.global(to, same, to, to, identity as super::Implementation);
        for (id, of) in from {
            r.global(to, *id, of, to, convert);
        }
    }
}

/// Reports whether a call of this function with a constant is itself a constant.
pub(crate) fn is_conversion(function: &str) -> bool {
    matches!(
        function,
        "bool"
            | "bytes"
            | "double"
            | "duration"
            | "dyn"
            | "int"
            | "string"
            | "timestamp"
            | "type"
            | "uint"
    )
}

fn size<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Ip(_) | Value::Cidr(..)] => refuse_size(args),
        [value] => match value.size() {
            Some(size) => Ok(Value::Int(size as i64)),
            None => refuse_size(args),
        },
        _ => no_such_overload(),
    }
}

fn refuse_size<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Timestamp(_) | Value::Duration(_)] => no_such_overload(),
        _ => Err(EvalError::new("no such overload: size")),
    }
}

fn identity<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [value] => Ok(value.clone()),
        _ => no_such_overload(),
    }
}

/// The error of a conversion that is not possible.
fn impossible<'a>(args: &[Value<'a>], to: Type) -> EvalResult<'a> {
    let from = args.first().map_or("error", Value::type_name);
    Err(EvalError::new(format!(
        "type conversion error from '{from}' to '{}'",
        to.name()
    )))
}

fn to_bool<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => impossible(args, Type::Bool),
        },
        _ => impossible(args, Type::Bool),
    }
}

fn to_bytes<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => Ok(Value::Bytes(Arc::from(text.as_bytes()))),
        _ => impossible(args, Type::Bytes),
    }
}

fn to_double<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Int(i)] => Ok(Value::Double(*i as f64)),
        [Value::Uint(u)] => Ok(Value::Double(*u as f64)),
        [Value::String(text)] => match parse_double(text) {
            Some(number) => Ok(Value::Double(number)),
            None => impossible(args, Type::Double),
        },
        _ => impossible(args, Type::Double),
    }
}

/// Reads a number as Go does: `1.5`, `1e5`, `0x1p4`, `Inf`, `NaN`.
fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Some(sign * f64::INFINITY),
        "nan" if text.len() == 3 => return Some(f64::NAN),
        "nan" => return None,
        _ => {}
    }
    if let Some(hex) = unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X")) {
        // An underscore may follow the prefix.
        let hex = hex.strip_prefix('_').unwrap_or(hex).to_ascii_lowercase();
        return parse_hex(&hex).map(|number| sign * number);
    }
    let plain = without_underscores(unsigned)?;
    let unsigned = plain.as_str();
    let number: f64 = unsigned.parse().ok()?;
    let digits = unsigned
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    (digits && number.is_finite()).then_some(sign * number)
}

/// Removes underscores, which are allowed between digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    for (at, b) in bytes.iter().enumerate() {
        if *b == b'_' && !(digit(at.checked_sub(1)) && digit(Some(at + 1))) {
            return None;
        }
    }
    Some(text.replace('_', ""))
}

/// `1.8p3`: hexadecimal digits and a power of two.
fn parse_hex(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut number = 0.0f64;
    for digit in whole.chars().chain(fraction.chars()) {
        number = number * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let number = number * 2f64.powi(exponent.saturating_sub(4 * fraction.len() as i32));
    number.is_finite().then_some(number)
}

fn to_duration<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => match parse_duration(text) {
            Ok(nanos) => Ok(Value::Duration(nanos)),
            Err(_) => impossible(args, Type::Duration),
        },
        _ => impossible(args, Type::Duration),
    }
}

fn to_int<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Double(d)] => {
            // The bounds themselves are excluded, because floats next to them are not distinct integers.
            if d.is_nan() || *d <= i64::MIN as f64 || *d >= i64::MAX as f64 {
                return Err(EvalError::new("integer overflow"));
            }
            Ok(Value::Int(*d as i64))
        }
        [Value::Uint(u)] => match i64::try_from(*u) {
            Ok(i) => Ok(Value::Int(i)),
            Err(_) => Err(EvalError::new("integer overflow")),
        },
        [Value::String(text)] => match text.parse() {
            Ok(i) => Ok(Value::Int(i)),
            Err(_) => impossible(args, Type::Int),
        },
        [Value::Duration(nanos)] => Ok(Value::Int(*nanos)),
        [Value::Timestamp(at)] => Ok(Value::Int(at.instant().0)),
        _ => impossible(args, Type::Int),
    }
}

fn to_uint<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Double(d)] => {
            if d.is_nan() || *d < 0.0 || *d >= u64::MAX as f64 {
                return Err(EvalError::new("unsigned integer overflow"));
            }
            Ok(Value::Uint(*d as u64))
        }
        [Value::Int(i)] => match u64::try_from(*i) {
            Ok(u) => Ok(Value::Uint(u)),
            Err(_) => Err(EvalError::new("unsigned integer overflow")),
        },
        [Value::String(text)] if !text.starts_with('+') => match text.parse() {
            Ok(u) => Ok(Value::Uint(u)),
            Err(_) => impossible(args, Type::Uint),
        },
        _ => impossible(args, Type::Uint),
    }
}

/// `string(value)`, also for the clauses of `format`.
pub(crate) fn to_string<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let text = match args {
        [Value::String(text)] => return Ok(Value::String(text.clone())),
        [Value::Bool(b)] => b.to_string(),
        [Value::Int(i)] => i.to_string(),
        [Value::Uint(u)] => u.to_string(),
        [Value::Double(d)] => go::float(*d),
        [Value::Null] => "null".into(),
        [Value::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                return Err(EvalError::new(
                    "invalid UTF-8 in bytes, cannot convert to string",
                ));
            }
        },
        [value @ (Value::Timestamp(_) | Value::Duration(_))] => value.to_string(),
        [Value::Type(of)] => of.name().to_owned(),
        _ => return impossible(args, Type::String),
    };
    Ok(Value::String(Str::of(text)))
}

fn to_timestamp<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let overflow = || Err(EvalError::new("timestamp overflow"));
    match args {
        [Value::Int(seconds)] => match Timestamp::from_unix(*seconds, 0) {
            Some(at) => Ok(Value::Timestamp(at)),
            None => overflow(),
        },
        [Value::String(text)] => match Timestamp::parse(text, Layout::Rfc3339) {
            Ok(at) if (time::MIN_SECONDS..=time::MAX_SECONDS).contains(&at.instant().0) => {
                Ok(Value::Timestamp(at))
            }
            Ok(_) => overflow(),
            Err(_) => impossible(args, Type::Timestamp),
        },
        _ => impossible(args, Type::Timestamp),
    }
}
