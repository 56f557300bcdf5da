//! Values that are a number or a string: `maxUnavailable: 1` or `25%`, `port: 80` or `http`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::go;

/// A number or a string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// A string, often a percentage or a name.
    String(String),
}

/// Why a value has no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value for IntOrString: {0}")]
pub struct IntOrStringError(String);

impl IntOrString {
    /// Takes a JSON number or string. A number must be whole and fit into 32 bits.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(n) => i32::try_from(n.as_i64()?).ok().map(Self::Int),
            Value::String(s) => Some(Self::String(s.clone())),
            _ => None,
        }
    }

    /// Takes a text, which is a number if it looks like one.
    pub fn parse(text: &str) -> Self {
        match text.parse() {
            Ok(number) => Self::Int(number),
            Err(_) => Self::String(text.to_owned()),
        }
    }

    /// The percentage of a string that ends in `%`.
    pub fn percent(&self) -> Option<i64> {
        match self {
            Self::Int(_) => None,
            Self::String(s) => s.strip_suffix('%')?.parse().ok(),
        }
    }

    /// A number as it is, a percentage of `total`, rounded up or down. Other strings are errors.
    pub fn scaled_value(&self, total: i64, round_up: bool) -> Result<i64, IntOrStringError> {
        let text = match self {
            Self::Int(n) => return Ok(i64::from(*n)),
            Self::String(text) => text,
        };
        let Some(digits) = text.strip_suffix('%') else {
            return Err(IntOrStringError(
                "invalid type: string is not a percentage".into(),
            ));
        };
        let percent: i64 = digits.parse().map_err(|e: std::num::ParseIntError| {
            let reason = match e.kind() {
                std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                    "value out of range"
                }
                _ => "invalid syntax",
            };
            IntOrStringError(format!(
                "invalid value {}: strconv.Atoi: parsing {}: {reason}",
                go::quote(text),
                go::quote(digits)
            ))
        })?;
        let product = i128::from(percent) * i128::from(total);
        let down = product.div_euclid(100);
        let up = down + i128::from(product.rem_euclid(100) != 0);
        let value = if round_up { up } else { down };
        Ok(i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(n) => n.fmt(f),
            Self::String(s) => f.write_str(s),
        }
    }
}

impl Serialize for IntOrString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(n) => serializer.serialize_i32(*n),
            Self::String(s) => serializer.serialize_str(s),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(&value)
            .ok_or_else(|| de::Error::custom("expected a 32-bit integer or a string"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_scale_and_numbers_stay() {
        for (value, total, up, expected) in [
            ("5", 10, true, 5),
            ("25%", 10, true, 3),
            ("25%", 10, false, 2),
            ("0%", 10, true, 0),
            ("100%", 7, false, 7),
            ("200%", 7, false, 14),
        ] {
            assert_eq!(
                IntOrString::parse(value).scaled_value(total, up).unwrap(),
                expected,
                "{value}"
            );
        }
        assert_eq!(IntOrString::parse("33%").percent(), Some(33));
        assert_eq!(IntOrString::parse("http").percent(), None);
    }

    #[test]
    fn strings_without_a_number_say_so() {
        let message = |text: &str| {
            IntOrString::String(text.into())
                .scaled_value(10, true)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            message("5"),
            "invalid value for IntOrString: invalid type: string is not a percentage"
        );
        assert_eq!(
            message("x%"),
            "invalid value for IntOrString: invalid value \"x%\": strconv.Atoi: parsing \"x\": invalid syntax"
        );
    }

    #[test]
    fn json_tells_numbers_from_strings() {
        for text in ["80", "\"http\"", "\"80\""] {
            let value: IntOrString = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&value).unwrap(), text);
        }
        assert!(serde_json::from_str::<IntOrString>("3000000000").is_err());
        assert!(serde_json::from_str::<IntOrString>("1.5").is_err());
    }
}
