//! Resolves scalars by the rules of YAML 1.1, as the Go library does.

use kubewright_machinery::go::{self, base64};
use std::borrow::Cow;

use serde_saphyr::granit_parser::{ScalarStyle, Tag};

use super::{Key, YamlError};
use crate::document::Node;

/// A scalar with its type.
#[derive(Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    /// An integer of 64 bits, signed or unsigned.
    Int(i128),
    Float(f64),
    String(String),
}

pub(super) const STRING_KEY: u8 = 0;

/// The meaning of a scalar by its text, its quotes and its tag.
pub(super) fn resolve(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
) -> Result<Scalar, YamlError> {
    let string = || Ok(Scalar::String(text.to_owned()));
    let Some(tag) = tag else {
        return match style {
            ScalarStyle::Plain => Ok(plain(text)),
            _ => string(),
        };
    };
    let Some(wanted) = tag.suffix_in_namespace("tag:yaml.org,2002:") else {
        return string();
    };
    let wanted = wanted.as_ref();
    match wanted {
        "binary" => match base64::decode(text, base64::Encoding::Standard) {
            Ok(bytes) => Ok(Scalar::String(String::from_utf8_lossy(&bytes).into_owned())),
            Err(_) => Err(YamlError::new(
                "yaml: !!binary value contains invalid base64 data",
            )),
        },
        "bool" | "int" | "float" | "null" => {
            let scalar = plain(text);
            match (wanted, scalar) {
                ("float", Scalar::Int(int)) => Ok(Scalar::Float(int as f64)),
                (_, scalar) if scalar.tag() == wanted => Ok(scalar),
                (_, scalar) => Err(YamlError::new(format!(
                    "yaml: cannot decode !!{} `{text}` as a !!{wanted}",
                    scalar.tag()
                ))),
            }
        }
        _ => string(),
    }
}

impl Scalar {
    fn tag(&self) -> &'static str {
        match self {
            Scalar::Null => "null",
            Scalar::Bool(_) => "bool",
            Scalar::Int(_) => "int",
            Scalar::Float(_) => "float",
            Scalar::String(_) => "str",
        }
    }

    /// The scalar as the key of a JSON object; null cannot be one.
    pub(super) fn into_key(self) -> Option<Key> {
        let (text, kind) = match self {
            Scalar::Null => return None,
            Scalar::String(text) => (text, STRING_KEY),
            Scalar::Bool(b) => (b.to_string(), 1),
            Scalar::Int(int) => (int.to_string(), 2),
            Scalar::Float(float) => (float_key(float), 3),
        };
        Some(Key { text, kind })
    }

    pub(super) fn into_json(self) -> Result<Node<'static>, YamlError> {
        Ok(match self {
            Scalar::Null => Node::Null,
            Scalar::Bool(b) => Node::Bool(b),
            Scalar::Int(int) => Node::Number(Cow::Owned(int.to_string())),
            Scalar::Float(float) if float.is_finite() => {
                let mut text = String::new();
                go::write_json_float(&mut text, float);
                Node::Number(Cow::Owned(text))
            }
            Scalar::Float(float) => {
                let name = if float.is_nan() {
                    "NaN"
                } else if float > 0.0 {
                    "+Inf"
                } else {
                    "-Inf"
                };
                return Err(YamlError::new(format!("json: unsupported value: {name}")));
            }
            Scalar::String(text) => Node::String(Cow::Owned(text)),
        })
    }
}

fn plain(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Scalar::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes().first() {
        Some(b'.') => float(text).map(Scalar::Float),
        Some(b'+' | b'-' | b'0'..=b'9') => {
            let digits = text.replace('_', "");
            integer(&digits)
                .map(Scalar::Int)
                .or_else(|| float(&digits).map(Scalar::Float))
        }
        _ => None,
    };
    number.unwrap_or_else(|| Scalar::String(text.to_owned()))
}

/// An integer in base 10, or in the base its prefix says: `0x`, `0o`, `0b`, or `0` for octal.
fn integer(text: &str) -> Option<i128> {
    let (negative, signed, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, true, text.get(1..)?),
        Some(b'+') => (false, true, text.get(1..)?),
        _ => (false, false, text),
    };
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (base, digits) = match lower.as_deref() {
        Some("0x") => (16, digits.get(2..)?),
        Some("0o") => (8, digits.get(2..)?),
        Some("0b") => (2, digits.get(2..)?),
        Some(two) if two.starts_with('0') => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from_str_radix(digits, base).ok()?;
    let value = if negative { -value } else { value };
    let largest = if signed {
        i128::from(i64::MAX)
    } else {
        i128::from(u64::MAX)
    };
    (i128::from(i64::MIN)..=largest)
        .contains(&value)
        .then_some(value)
}

fn float(text: &str) -> Option<f64> {
    let looks = text
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !looks {
        return None;
    }
    text.parse::<f64>().ok().filter(|f| f.is_finite())
}

/// Prints a float that is a key, with the precision of 32 bits.
fn float_key(float: f64) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let float = float as f32;
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.parse::<i32>() {
            Ok(n) if !(-4..21).contains(&n) => {
                let sign = if n < 0 { '-' } else { '+' };
                format!("{digits}e{sign}{:02}", n.abs())
            }
            _ => float.to_string(),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_follow_yaml_1_1() {
        for (text, meaning) in [
            ("yes", Scalar::Bool(true)),
            ("Off", Scalar::Bool(false)),
            ("", Scalar::Null),
            ("~", Scalar::Null),
            ("010", Scalar::Int(8)),
            ("08", Scalar::Float(8.0)),
            ("0x1F", Scalar::Int(31)),
            ("0o17", Scalar::Int(15)),
            ("0b101", Scalar::Int(5)),
            ("-0b101", Scalar::Int(-5)),
            ("1_000", Scalar::Int(1000)),
            ("+5", Scalar::Int(5)),
            ("18446744073709551615", Scalar::Int(u64::MAX.into())),
            (
                "18446744073709551616",
                Scalar::Float(18446744073709551616.0),
            ),
            ("1e3", Scalar::Float(1000.0)),
            (".5", Scalar::Float(0.5)),
            ("1e999", Scalar::String("1e999".into())),
            ("2001-01-01", Scalar::String("2001-01-01".into())),
            ("1.2.3", Scalar::String("1.2.3".into())),
            ("nope", Scalar::String("nope".into())),
            ("-", Scalar::String("-".into())),
            ("1:30", Scalar::String("1:30".into())),
        ] {
            assert_eq!(plain(text), meaning, "{text}");
        }
    }
}
