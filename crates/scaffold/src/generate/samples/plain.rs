//! Chooses plain values for a schema, as a person would write them first.

use regex::Regex;
use serde_json::{Map, Value, json};

use super::super::model::text;

/// The depth below which optional fields are left out.
const SHOWN: usize = 4;
/// The depth below which nothing is generated.
const DEEPEST: usize = 60;
/// The maximum length of lists.
const LONGEST: u64 = 100;

/// The fields to include.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All fields.
    All,
    /// Required fields only.
    Needed,
}

/// Returns a value for a field with this name, or `None` if no plain one is known.
pub(super) fn value(name: &str, schema: &Value, extent: Extent) -> Option<Value> {
    at(name, schema, extent, 0)
}

fn at(name: &str, schema: &Value, extent: Extent, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    if let Some(given) = schema.get("example").or_else(|| schema.get("default")) {
        return Some(given.clone());
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.first().cloned();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return string(name, schema)
            .map(Value::from)
            .or_else(|| number(schema, true));
    }
    match text(&schema["type"]) {
        "object" => Some(object(schema, extent, depth)),
        "array" => array(name, schema, extent, depth),
        "integer" => number(schema, true),
        "number" => number(schema, false),
        "boolean" => Some(json!(true)),
        "string" => string(name, schema).map(Value::from),
        _ => Some(json!({})),
    }
}

fn object(schema: &Value, extent: Extent, depth: usize) -> Value {
    let required = schema["required"].as_array();
    let needed = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let mut fields = Map::new();
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let shown = extent == Extent::All && depth < SHOWN;
        if (shown || needed(name))
            && let Some(value) = at(name, inner, extent, depth + 1)
        {
            fields.insert(name.clone(), value);
        }
    }
    let least = schema["minProperties"].as_u64().unwrap_or_default();
    let values = schema.get("additionalProperties").filter(|v| v.is_object());
    if let Some(inner) = values {
        let wanted = least.max(u64::from(extent == Extent::All)).min(LONGEST);
        for n in 1..=wanted {
            let key = if n == 1 {
                "key".to_owned()
            } else {
                format!("key{n}")
            };
            if let Some(value) = at("value", inner, extent, depth + 1) {
                fields.insert(key, value);
            }
        }
    }
    Value::Object(fields)
}

fn array(name: &str, schema: &Value, extent: Extent, depth: usize) -> Option<Value> {
    let least = schema["minItems"].as_u64().unwrap_or_default();
    let most = schema["maxItems"].as_u64().unwrap_or(LONGEST);
    let wanted = least
        .max(u64::from(extent == Extent::All && depth < SHOWN))
        .min(most)
        .min(LONGEST);
    let one = match wanted {
        0 => return Some(json!([])),
        _ => at(name, &schema["items"], extent, depth + 1)?,
    };
    let unique = schema["x-kubernetes-list-type"] != "atomic" && wanted > 1;
    let items = (1..=wanted).map(|n| match unique && n > 1 {
        true => numbered(&one, n),
        false => one.clone(),
    });
    Some(Value::Array(items.collect()))
}

/// Returns the value with a number added, to make it distinct.
fn numbered(value: &Value, n: u64) -> Value {
    match value {
        Value::String(text) => json!(format!("{text}{n}")),
        Value::Number(number) => number
            .as_i64()
            .and_then(|i| i.checked_add_unsigned(n - 1))
            .map_or_else(|| value.clone(), Value::from),
        Value::Object(fields) => {
            let all = fields
                .iter()
                .map(|(key, value)| (key.clone(), numbered(value, n)));
            Value::Object(all.collect())
        }
        other => other.clone(),
    }
}

fn number(schema: &Value, whole: bool) -> Option<Value> {
    let bound = |key: &str, flag: &str, step: f64| {
        let exclusive = if schema[flag] == true { step } else { 0.0 };
        schema[key].as_f64().map(|bound| bound + exclusive)
    };
    let step = if whole { 1.0 } else { 0.5 };
    let low = bound("minimum", "exclusiveMinimum", step);
    let high = bound("maximum", "exclusiveMaximum", -step);
    let mut n = low.unwrap_or(1.0).max(low.map_or(1.0, |low| low.min(1.0)));
    if let Some(high) = high {
        n = n.min(high);
    }
    if let Some(of) = schema["multipleOf"].as_f64().filter(|of| *of > 0.0) {
        n = (n / of).ceil() * of;
    }
    let fits = low.is_none_or(|low| n >= low) && high.is_none_or(|high| n <= high);
    match fits && n.is_finite() {
        true if n.fract() == 0.0 && n.abs() < 9e15 => Some(json!(n as i64)),
        true if !whole => Some(json!(n)),
        _ => None,
    }
}

/// Returns the first candidate string that is valid.
const TEXTS: [&str; 17] = [
    "example",
    "Example",
    "EXAMPLE",
    "example.com",
    "example.com/path",
    "https://example.com",
    "/example",
    "someone@example.com",
    "1h",
    "10m",
    "1Gi",
    "1",
    "1.0.0",
    "v1",
    "10.0.0.1",
    "10.0.0.0/24",
    "a",
];

fn string(name: &str, schema: &Value) -> Option<String> {
    let of_format = match text(&schema["format"]) {
        "date-time" => Some("2030-01-01T00:00:00Z"),
        "date" => Some("2030-01-01"),
        "duration" => Some("1h"),
        "byte" => Some("ZXhhbXBsZQ=="),
        "uuid" | "uuid4" => Some("9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d"),
        "uri" | "url" => Some("https://example.com"),
        "hostname" => Some("example.com"),
        "ipv4" | "ip" => Some("10.0.0.1"),
        "ipv6" => Some("2001:db8::1"),
        "cidr" => Some("10.0.0.0/24"),
        "email" => Some("someone@example.com"),
        "mac" => Some("02:00:00:00:00:01"),
        _ => None,
    };
    let pattern = match schema["pattern"].as_str() {
        Some(pattern) => Some(Regex::new(pattern).ok()?),
        None => None,
    };
    let least = schema["minLength"].as_u64().unwrap_or_default();
    let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX);
    let fits = |text: &str| {
        let length = text.chars().count() as u64;
        length >= least
            && length <= most
            && pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(text))
    };
    let lower = name.to_ascii_lowercase();
    let longer: String = "example-"
        .chars()
        .cycle()
        .take(least.min(4096) as usize)
        .collect();
    let longer = longer
        .replace("example-", "example")
        .trim_end_matches('-')
        .to_owned();
    let of_name = ["name", "namespace"]
        .into_iter()
        .find(|word| lower.ends_with(word))
        .map(|_| "example");
    of_format
        .into_iter()
        .chain(of_name)
        .chain(TEXTS)
        .chain([lower.as_str(), longer.as_str()])
        .find(|text| fits(text))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schema: Value) -> Option<Value> {
        value("field", &schema, Extent::All)
    }

    #[test]
    fn values_fit_their_bounds() {
        assert_eq!(of(json!({"type": "integer"})), Some(json!(1)));
        assert_eq!(of(json!({"type": "integer", "minimum": 0})), Some(json!(0)));
        assert_eq!(
            of(json!({"type": "integer", "maximum": -3})),
            Some(json!(-3))
        );
        assert_eq!(
            of(json!({"type": "integer", "minimum": 7, "multipleOf": 5})),
            Some(json!(10))
        );
        assert_eq!(
            of(json!({"type": "number", "minimum": 0.5})),
            Some(json!(0.5))
        );
        assert_eq!(
            of(json!({"type": "integer", "minimum": 9, "maximum": 8})),
            None
        );
    }

    #[test]
    fn texts_fit_their_patterns_and_formats() {
        assert_eq!(of(json!({"type": "string"})), Some(json!("example")));
        assert_eq!(
            of(json!({"type": "string", "pattern": "^[A-Z][a-z]+$"})),
            Some(json!("Example"))
        );
        assert_eq!(
            of(json!({"type": "string", "format": "ipv6"})),
            Some(json!("2001:db8::1"))
        );
        assert_eq!(of(json!({"type": "string", "pattern": "^q{9}$"})), None);
    }

    #[test]
    fn lists_have_as_many_as_they_must() {
        let list = json!({"type": "array", "minItems": 2, "x-kubernetes-list-type": "set", "items": {"type": "string"}});
        assert_eq!(of(list), Some(json!(["example", "example2"])));
    }
}
