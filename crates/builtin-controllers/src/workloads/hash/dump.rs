//! The text of a pod template as Go's `%#v` of go-spew prints it, with sorted maps and without addresses.
//!
//! Every field of a struct is printed under its Go name and with its Go type, set or not; elements of lists and maps have no
//! type of their own. The types come from a generated table.

use std::{collections::HashMap, fmt::Write, sync::LazyLock};

use serde_json::Value;

use super::quantity;
use crate::generated::GO_TYPES;

/// The type of a pod template.
const TEMPLATE: &str = "v1.PodTemplateSpec";

const NIL: &str = "<nil>";

/// A named type.
enum GoType {
    Struct(Vec<Field>),
    /// Declared as another type, or printed in its own way.
    Other(&'static str),
}

struct Field {
    name: &'static str,
    /// Empty for an embedded struct.
    json: &'static str,
    ty: &'static str,
}

static TYPES: LazyLock<HashMap<&'static str, GoType>> = LazyLock::new(|| {
    let mut types: HashMap<&str, GoType> = HashMap::new();
    let mut current = "";
    for line in GO_TYPES.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        match *columns {
            ["", name, json, ty] => {
                if let Some(GoType::Struct(fields)) = types.get_mut(current) {
                    fields.push(Field { name, json, ty });
                }
            }
            [name, other] => {
                types.insert(name, GoType::Other(other));
            }
            [name] => {
                current = name;
                types.insert(name, GoType::Struct(Vec::new()));
            }
            _ => {}
        }
    }
    types
});

/// Prints a pod template.
pub(super) fn template(template: &Value) -> String {
    let mut out = String::with_capacity(4096);
    typed(&mut out, TEMPLATE, Some(template));
    out
}

/// Prints a type and a value of it.
fn typed(out: &mut String, ty: &str, value: Option<&Value>) {
    let value = value.filter(|value| !value.is_null());
    let _ = write!(out, "({ty})");
    match (ty.strip_prefix('*'), value) {
        (Some(_), None) => out.push_str(NIL),
        (Some(inner), value) => plain(out, inner, value),
        (None, value) => plain(out, ty, value),
    }
}

/// Prints a value; the zero value if there is none.
fn plain(out: &mut String, ty: &str, value: Option<&Value>) {
    if let Some(item) = ty.strip_prefix("[]") {
        return list(out, item, value);
    }
    if let Some((_, item)) = ty
        .strip_prefix("map[")
        .and_then(|rest| rest.split_once(']'))
    {
        return map(out, item, value);
    }
    match TYPES.get(ty) {
        Some(GoType::Struct(fields)) => structure(out, fields, value),
        Some(GoType::Other("Quantity")) => quantity::write(out, value),
        Some(GoType::Other("IntOrString")) => int_or_string(out, value),
        Some(GoType::Other("Time")) => {
            out.push_str(
                "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}",
            );
        }
        Some(GoType::Other("FieldsV1")) => out.push_str("{Raw:([]uint8)<nil>}"),
        Some(GoType::Other(underlying)) => plain(out, underlying, value),
        None => scalar(out, ty, value),
    }
}

fn scalar(out: &mut String, ty: &str, value: Option<&Value>) {
    let _ = match (ty, value) {
        ("string", Some(Value::String(text))) => write!(out, "{text}"),
        ("string", _) => Ok(()),
        ("bool", value) => write!(out, "{}", value == Some(&Value::Bool(true))),
        (_, Some(Value::Number(number))) => write!(out, "{number}"),
        _ => write!(out, "0"),
    };
}

fn structure(out: &mut String, fields: &[Field], value: Option<&Value>) {
    out.push('{');
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        let _ = write!(out, "{}:", field.name);
        let inner = match field.json {
            "" => value,
            json => value.and_then(|value| value.get(json)),
        };
        typed(out, field.ty, inner);
    }
    out.push('}');
}

fn list(out: &mut String, item: &str, value: Option<&Value>) {
    // The controller reads protobuf, which does not distinguish an empty list from none.
    let Some(items) = value
        .and_then(Value::as_array)
        .filter(|items| !items.is_empty())
    else {
        out.push_str(NIL);
        return;
    };
    out.push('[');
    for (i, value) in items.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        plain(out, item, Some(value));
    }
    out.push(']');
}

fn map(out: &mut String, item: &str, value: Option<&Value>) {
    let Some(entries) = value
        .and_then(Value::as_object)
        .filter(|entries| !entries.is_empty())
    else {
        out.push_str(NIL);
        return;
    };
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| key.as_str());
    out.push_str("map[");
    for (i, (key, value)) in entries.into_iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        let _ = write!(out, "{key}:");
        plain(out, item, Some(value));
    }
    out.push(']');
}

fn int_or_string(out: &mut String, value: Option<&Value>) {
    let (kind, number, text) = match value {
        Some(Value::String(text)) => (1, 0, text.as_str()),
        value => (0, value.and_then(Value::as_i64).unwrap_or(0), ""),
    };
    let _ = write!(
        out,
        "{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}"
    );
}
