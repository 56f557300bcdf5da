//! Computes the `#[schema(...)]` that turns a derived schema into the imported one.
//!
//! Every keyword has a form: its attribute where the derive has one for this value, otherwise `extend("keyword" = value)`. So
//! nothing of a schema is lost.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{keywords::strings, literal::literal};

/// The reasons that rules can have.
const REASONS: [&str; 4] = [
    "FieldValueInvalid",
    "FieldValueForbidden",
    "FieldValueRequired",
    "FieldValueDuplicate",
];

/// Keywords with a number, string or JSON value: the name in the schema, the attribute, and the types it applies to.
const VALUES: [(&str, &str, Of); 19] = [
    ("description", "description", Of::Text),
    ("title", "title", Of::Text),
    ("type", "type", Of::Text),
    ("format", "format", Of::Text),
    ("enum", "enum", Of::List),
    ("pattern", "pattern", Of::Text),
    ("minLength", "min_length", Of::Count),
    ("maxLength", "max_length", Of::Count),
    ("minimum", "minimum", Of::Number),
    ("maximum", "maximum", Of::Number),
    ("multipleOf", "multiple_of", Of::Number),
    ("minItems", "min_items", Of::Count),
    ("maxItems", "max_items", Of::Count),
    ("x-kubernetes-list-type", "list_type", Of::Text),
    ("minProperties", "min_properties", Of::Count),
    ("maxProperties", "max_properties", Of::Count),
    ("x-kubernetes-map-type", "map_type", Of::Text),
    ("example", "example", Of::Json),
    ("not", "not", Of::Object),
];

/// Keywords whose value is a list of schemas.
const BRANCHES: [(&str, &str); 3] = [
    ("allOf", "all_of"),
    ("anyOf", "any_of"),
    ("oneOf", "one_of"),
];

/// The values that the derive accepts for a keyword.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Text,
    Count,
    Number,
    List,
    Object,
    Json,
}

/// Returns the attributes that turn `derived` into `wanted`.
pub(super) fn schema_attrs(
    wanted: &Map<String, Value>,
    derived: &Map<String, Value>,
) -> Vec<String> {
    let mut out = Vec::new();
    let mut raw: Vec<(String, Value)> = Vec::new();
    for (key, value) in wanted {
        let has = derived.get(key);
        if is_same(key, has, value) {
            continue;
        }
        match mark(key, value, wanted, derived) {
            Some(mark) if mark.is_empty() => {}
            Some(mark) => out.push(mark),
            None => raw.push((key.clone(), value.clone())),
        }
    }
    for key in derived.keys().filter(|key| !wanted.contains_key(*key)) {
        match key.as_str() {
            "description" | "format" => out.push(format!("{key} = null")),
            _ => raw.push((key.clone(), Value::Null)),
        }
    }
    extend(&mut out, &raw);
    out
}

/// Returns the keywords without an attribute, as `extend(...)`.
pub(super) fn extend(out: &mut Vec<String>, raw: &[(String, Value)]) {
    if raw.is_empty() {
        return;
    }
    let entries = raw
        .iter()
        .map(|(key, value)| format!("{key:?} = {}", literal(value)));
    out.push(format!(
        "extend({})",
        entries.collect::<Vec<_>>().join(", ")
    ));
}

/// Returns a rule as an attribute, if the derive accepts it.
pub(super) fn rule(rule: &Value) -> Option<String> {
    let fields = rule.as_object()?;
    let known = [
        "rule",
        "message",
        "messageExpression",
        "reason",
        "fieldPath",
        "optionalOldSelf",
    ];
    if !fields.keys().all(|key| known.contains(&key.as_str())) {
        return None;
    }
    let text = |key: &str| match fields.get(key) {
        None => Some(None),
        Some(Value::String(text)) => Some(Some(text.as_str())),
        Some(_) => None,
    };
    let expression = text("rule")??;
    let (message, reason, path) = (text("message")?, text("reason")?, text("fieldPath")?);
    let said = [message, text("messageExpression")?, reason, path];
    let taken = !expression.trim().is_empty()
        && (!expression.trim().contains('\n') || message.is_some())
        && message.is_none_or(|message| !message.contains('\n') && !message.trim().is_empty())
        && reason.is_none_or(|reason| REASONS.contains(&reason))
        && path.is_none_or(|path| path.starts_with(['.', '[']));
    if !taken {
        return None;
    }
    let mut parts = vec![format!("{expression:?}")];
    let names = ["message", "message_expression", "reason", "field_path"];
    for (name, said) in names.into_iter().zip(said) {
        parts.extend(said.map(|said| format!("{name} = {said:?}")));
    }
    match fields.get("optionalOldSelf") {
        None => {}
        Some(Value::Bool(flag)) if expression.contains("oldSelf") => parts.push(match flag {
            true => "optional_old_self".to_owned(),
            false => "optional_old_self = false".to_owned(),
        }),
        Some(_) => return None,
    }
    Some(match parts.len() {
        1 => format!("rule = {expression:?}"),
        _ => format!("rule({})", parts.join(", ")),
    })
}

/// Returns the attribute of a keyword: empty if another implies it, `None` if only `extend` can express it.
fn mark(
    key: &str,
    value: &Value,
    wanted: &Map<String, Value>,
    derived: &Map<String, Value>,
) -> Option<String> {
    let of = |key: &str| wanted.get(key).unwrap_or(&Value::Null);
    if let Some((_, name, how)) = VALUES.iter().find(|(keyword, ..)| *keyword == key) {
        if key == "type" && value == "object" && of("x-kubernetes-embedded-resource") == true {
            return Some(String::new());
        }
        let keys = of("x-kubernetes-list-map-keys");
        if key == "x-kubernetes-list-type" && value == "map" {
            // The keys imply it, if there are any.
            return (strings(Some(keys)).next().is_some()).then(String::new);
        }
        return (is_taken(key, value, *how) && fits(key, wanted, derived))
            .then(|| format!("{name} = {}", literal(value)));
    }
    if let Some((_, name)) = BRANCHES.iter().find(|(keyword, _)| *keyword == key) {
        let branches = value.as_array().filter(|branches| !branches.is_empty())?;
        return branches
            .iter()
            .all(Value::is_object)
            .then(|| format!("{name} = {}", literal(value)));
    }
    let flag = |name: &str| (*value == json!(true)).then(|| name.to_owned());
    let is_object = derived.get("type").is_none_or(|kind| kind == "object");
    match key {
        "nullable" => flag("nullable"),
        "x-kubernetes-preserve-unknown-fields" if is_object => flag("preserve_unknown_fields"),
        "x-kubernetes-int-or-string" => flag("int_or_string"),
        "x-kubernetes-embedded-resource" if is_object && of("type") == "object" => {
            flag("embedded_resource")
        }
        "exclusiveMinimum" if of("minimum").is_number() => flag("exclusive_minimum"),
        "exclusiveMaximum" if of("maximum").is_number() => flag("exclusive_maximum"),
        "x-kubernetes-list-map-keys" if of("x-kubernetes-list-type") == "map" => {
            let keys: Vec<String> = strings(Some(value)).map(|key| format!("{key:?}")).collect();
            let all = value
                .as_array()
                .is_some_and(|list| list.len() == keys.len());
            (all && !keys.is_empty()).then(|| format!("list_map_keys({})", keys.join(", ")))
        }
        "externalDocs" => external_docs(value),
        "default" => Some(format!("default = {}", literal(value))),
        "x-kubernetes-validations" if !derived.contains_key(key) => {
            let rules: Option<Vec<String>> = value.as_array()?.iter().map(rule).collect();
            rules.map(|rules| rules.join(", "))
        }
        "items" | "additionalProperties" => {
            let empty = Map::new();
            let derived = derived
                .get(key)
                .and_then(Value::as_object)
                .unwrap_or(&empty);
            let inner = schema_attrs(value.as_object()?, derived);
            // Defaults are attributes of fields; this schema has one elsewhere.
            if inner.iter().any(|mark| mark.starts_with("default = ")) {
                return None;
            }
            let name = if key == "items" { "items" } else { "values" };
            Some(format!("{name}({})", inner.join(", ")))
        }
        _ => None,
    }
}

/// Reports whether the derive accepts this value.
fn is_taken(key: &str, value: &Value, how: Of) -> bool {
    let one_of = |allowed: &[&str]| value.as_str().is_some_and(|text| allowed.contains(&text));
    match key {
        "type" => return one_of(&["object", "array", "string", "integer", "number", "boolean"]),
        "x-kubernetes-list-type" => return one_of(&["atomic", "set"]),
        "x-kubernetes-map-type" => return one_of(&["granular", "atomic"]),
        _ => {}
    }
    match how {
        Of::Text => value.is_string(),
        Of::Count => value.is_u64(),
        Of::Number => value.is_number(),
        Of::List => value.as_array().is_some_and(|list| !list.is_empty()),
        Of::Object => value.is_object(),
        Of::Json => !value.is_null() && *value != json!(false),
    }
}

/// Reports whether the derive accepts the attribute on a type of this kind.
fn fits(key: &str, wanted: &Map<String, Value>, derived: &Map<String, Value>) -> bool {
    let int_or_string = wanted.contains_key("x-kubernetes-int-or-string");
    // The derive rejects bounds that exclude everything.
    let lower = match key {
        "maximum" => "minimum",
        "maxLength" => "minLength",
        "maxItems" => "minItems",
        "maxProperties" => "minProperties",
        _ => "",
    };
    let number = |key: &str| wanted.get(key).and_then(Value::as_f64);
    if number(lower)
        .zip(number(key))
        .is_some_and(|(low, high)| low > high)
    {
        return false;
    }
    // A schema without a type gets one by an attribute, and then accepts any attribute.
    let kind = derived.get("type").and_then(Value::as_str);
    let Some(kind) = kind.filter(|_| !int_or_string) else {
        return true;
    };
    match key {
        "minLength" | "maxLength" | "pattern" => kind == "string",
        "minimum" | "maximum" | "multipleOf" => matches!(kind, "integer" | "number"),
        "minItems" | "maxItems" | "x-kubernetes-list-type" => kind == "array",
        "minProperties" | "maxProperties" | "x-kubernetes-map-type" => kind == "object",
        _ => true,
    }
}

fn external_docs(value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let url = text("url")?;
    match (fields.len(), text("description")) {
        (1, _) => Some(format!("external_docs(url = {url:?})")),
        (2, Some(text)) => Some(format!(
            "external_docs(url = {url:?}, description = {text:?})"
        )),
        _ => None,
    }
}

fn is_same(key: &str, has: Option<&Value>, value: &Value) -> bool {
    match (key, has) {
        ("required", Some(has)) => {
            let sorted = |list| strings(Some(list)).collect::<BTreeSet<&str>>();
            sorted(has) == sorted(value)
        }
        (_, has) => has == Some(value),
    }
}
