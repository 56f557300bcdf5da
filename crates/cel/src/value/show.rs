//! Text forms of values: [`Value::literal`] as an expression would be written, `Display` as messages show them.

use std::fmt;

use super::Value;
use kubewright_machinery::go;

impl Value<'_> {
    /// The value as an expression that makes it, more or less: `"text"`, `[1, 2]`, `duration("60s")`.
    pub fn literal(&self) -> String {
        match self {
            Self::String(text) => go::quote(text),
            Self::Uint(number) => format!("{number}u"),
            Self::Double(number) => double(*number),
            Self::Bytes(bytes) => {
                let octets: String = bytes.iter().map(|b| format!("\\{b:03o}")).collect();
                format!("b\"{octets}\"")
            }
            Self::Duration(nanos) => format!("duration(\"{}\")", duration(*nanos)),
            Self::Timestamp(at) => format!("timestamp(\"{}\")", at.utc()),
            Self::List(list) => {
                let items = list.iter().map(|item| match item {
                    Ok(item) => item.literal(),
                    Err(error) => error.to_string(),
                });
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Self::Map(map) => {
                let mut entries: Vec<(String, String)> = map
                    .iter()
                    .map(|(key, value)| {
                        let value = value.map_or_else(|e| e.to_string(), |v| v.literal());
                        (key.literal(), value)
                    })
                    .collect();
                entries.sort();
                let entries = entries.iter().map(|(k, v)| format!("{k}: {v}"));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Self::Optional(Some(value)) => format!("optional.of({})", value.literal()),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Uint(u) => write!(f, "{u}"),
            Self::Double(d) => f.write_str(&go::float(*d)),
            Self::String(text) => f.write_str(text),
            Self::Bytes(bytes) => write!(f, "{bytes:?}"),
            Self::Duration(nanos) => f.write_str(&duration(*nanos)),
            Self::Timestamp(at) => write!(f, "{at}"),
            Self::List(_) | Self::Map(_) => f.write_str(&self.literal()),
            Self::Type(of) => write!(f, "type {}", of.name()),
            Self::Optional(None) => f.write_str("optional.none()"),
            Self::Optional(Some(value)) => write!(f, "optional({value})"),
            Self::Quantity(quantity) => write!(f, "quantity({quantity})"),
            Self::Url(url) => write!(f, "url({url})"),
            Self::Ip(ip) => write!(f, "ip({ip})"),
            Self::Cidr(ip, bits) => write!(f, "cidr({ip}/{bits})"),
            Self::Semver(version) => write!(f, "semver({version})"),
            Self::Format(format) => write!(f, "format({})", format.name),
            Self::Preserved(json) => write!(f, "{json}"),
            Self::Access(_) | Self::Message(_) | Self::Variables => f.write_str(self.type_name()),
        }
    }
}

/// Formats seconds as a decimal number: `5400s`, `0.001s`.
fn duration(nanos: i64) -> String {
    // Whole seconds and the fraction are added as floats, as in Go.
    let seconds = (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9;
    format!("{}s", go::float_without_exponent(seconds))
}

fn double(number: f64) -> String {
    if number.is_nan() {
        return "double(\"NaN\")".into();
    }
    if number.is_infinite() {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("double(\"{sign}Infinity\")");
    }
    let text = go::float_without_exponent(number);
    if text.contains('.') {
        text
    } else {
        format!("{text}.0")
    }
}
