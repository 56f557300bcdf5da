//! Validates values against their schema, with the messages of the real server's validator.
//!
//! An update may keep values that newer rules reject: findings about an unchanged value are dropped, as far as old
//! and new values can be correlated ([`Old`]).

mod correlate;
mod number;
mod result;

use std::borrow::Cow;

use kubewright_machinery::field::{ErrorList, Path};
use serde_json::{Map, Value};

use super::model::{Additional, Checks, Kind, Structural};
pub use correlate::Old;
use result::{Fault, Findings, Position};

/// Validates a new value.
pub fn validate(value: &Value, schema: &Structural, path: &Path) -> ErrorList {
    validate_value(value, schema, &Position::Root, None).into_errors(path)
}

/// Validates a value that replaces another.
pub fn validate_update(value: &Value, old: Old<'_>, schema: &Structural, path: &Path) -> ErrorList {
    validate_value(value, schema, &Position::Root, Some(old)).into_errors(path)
}

/// Validates one value. With an old value, findings about unchanged parts are dropped.
fn validate_value(
    value: &Value,
    schema: &Structural,
    position: &Position<'_>,
    old: Option<Old<'_>>,
) -> Findings {
    let findings = validate_plainly(value, schema, position, old);
    if findings.is_empty() {
        return findings;
    }
    match old {
        Some(old) if old.equals(value) => findings.without_errors(),
        _ => findings,
    }
}

fn validate_plainly(
    value: &Value,
    schema: &Structural,
    position: &Position<'_>,
    old: Option<Old<'_>>,
) -> Findings {
    let mut all = Findings::default();
    let checks = schema.checks.as_deref();
    let typed = schema.kind != Kind::Any || schema.int_or_string;
    let format = checks.and_then(|c| c.format.as_ref());
    if value.is_null() {
        all.matched += usize::from(validate_type(value, schema, position, &mut all));
        validate_enum(value, checks, position, &mut all);
        return all;
    }
    if typed || format.is_some() {
        if validate_type(value, schema, position, &mut all) {
            all.matched += 1;
        }
        all.matched += 1;
    }
    if let Some(checks) = checks {
        validate_junctors(value, checks, position, &mut all);
    }
    all.matched += 2;
    match value {
        Value::String(text) => {
            validate_string(text, checks, position, &mut all);
            all.matched += 1;
            if let Some(format) = format {
                if !format.accepts(text) {
                    all.type_mismatch(position, format.name(), text);
                }
                all.matched += 1;
            }
        }
        Value::Number(n) => {
            let named = (!schema.int_or_string).then_some(schema.kind);
            number::validate(n, checks, named.unwrap_or_default(), position, &mut all);
            all.matched += 2;
        }
        Value::Array(items) => {
            validate_list(items, schema, position, old, &mut all);
            all.matched += 2;
        }
        _ => {}
    }
    validate_enum(value, checks, position, &mut all);
    all.matched += 1;
    if let Value::Object(fields) = value {
        validate_fields(fields, schema, position, old, &mut all);
        all.matched += 1;
    }
    all.matched += 1;
    all
}

/// Returns the name of a value's type, and its format in Go.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Number(n) if n.is_f64() => ("number", "float64"),
        Value::Number(_) => ("integer", "int64"),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

/// Reports whether the type is right.
fn validate_type(
    value: &Value,
    schema: &Structural,
    position: &Position<'_>,
    all: &mut Findings,
) -> bool {
    let wants = |name: &str| {
        if schema.int_or_string {
            matches!(name, "integer" | "string")
        } else {
            schema.kind.name() == name && !name.is_empty()
        }
    };
    let expected = || -> Cow<'static, str> {
        if schema.int_or_string {
            "integer,string".into()
        } else {
            schema.kind.name().into()
        }
    };
    let (name, own_format) = type_of(value);
    if value.is_null() {
        let fine = expected().is_empty() || schema.nullable;
        if !fine {
            all.type_mismatch(position, &expected(), "null");
        }
        return fine;
    }
    let float_as_integer =
        value.as_f64().is_some_and(number::is_whole) && name == "number" && wants("integer");
    let integer_as_float = name == "integer" && wants("number");
    let fits = wants(name) || float_as_integer || integer_as_float;
    let format = schema.checks.as_deref().and_then(|c| c.format.as_ref());
    if let Some(format) = format {
        let textual = matches!(value, Value::String(_) | Value::Array(_));
        if !textual && !fits && own_format != format.name() {
            all.type_mismatch(position, format.name(), own_format);
            return false;
        }
        if textual && !wants("number") && !wants("integer") {
            return true;
        }
    }
    if !fits {
        all.type_mismatch(position, &expected(), name);
    }
    fits
}

fn validate_enum(
    value: &Value,
    checks: Option<&Checks>,
    position: &Position<'_>,
    all: &mut Findings,
) {
    let Some(checks) = checks.filter(|c| !c.values.is_empty()) else {
        return;
    };
    let equal = |allowed: &Value| match (value, allowed) {
        (Value::Null, _) => false,
        (Value::Number(a), Value::Number(b)) => number::converts_to(a, b),
        (a, b) => a == b,
    };
    if !checks.values.iter().any(equal) {
        let values = checks.values.iter().map(|v| match v {
            Value::String(text) => text.clone(),
            other => kubewright_machinery::go::json(other),
        });
        let fault = Fault::Enum(value.clone(), values.collect());
        all.add(position, fault, |name| {
            format!("{name} in body should be one of")
        });
    }
}

fn validate_string(
    text: &str,
    checks: Option<&Checks>,
    position: &Position<'_>,
    all: &mut Findings,
) {
    let Some(checks) = checks else {
        return;
    };
    let count = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(most) = checks.max_length.filter(|most| count() > *most) {
        let text = |name: &str| format!("{name} in body should be at most {most} chars long");
        return all.add(position, Fault::TooLong(most), text);
    }
    if let Some(least) = checks.min_length.filter(|least| count() < *least) {
        let message = |name: &str| format!("{name} in body should be at least {least} chars long");
        return all.add(position, Fault::Invalid(text.into()), message);
    }
    if let Some(pattern) = checks.pattern.as_ref().filter(|p| !p.matches(text)) {
        let message = |name: &str| format!("{name} in body should match '{}'", pattern.text());
        all.add(position, Fault::Invalid(text.into()), message);
    }
}

fn validate_list(
    items: &[Value],
    schema: &Structural,
    position: &Position<'_>,
    old: Option<Old<'_>>,
    all: &mut Findings,
) {
    if let Some(item_schema) = schema.items.as_deref() {
        let correlation = old.map(|old| old.items());
        for (i, item) in items.iter().enumerate() {
            if all.is_full() {
                return;
            }
            let old = correlation.as_ref().and_then(|old| old.of(item));
            all.merge(validate_value(
                item,
                item_schema,
                &Position::Index(position, i),
                old,
            ));
        }
    }
    let Some(checks) = schema.checks.as_deref() else {
        return;
    };
    let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(least) = checks.min_items.filter(|least| size < *least) {
        let message = |name: &str| format!("{name} in body should have at least {least} items");
        all.add(position, Fault::Invalid(size.into()), message);
    }
    if let Some(most) = checks.max_items.filter(|most| size > *most) {
        let message = |name: &str| format!("{name} in body should have at most {most} items");
        all.add(position, Fault::TooMany { actual: size, most }, message);
    }
    let twice = || {
        items
            .iter()
            .enumerate()
            .any(|(i, item)| items[..i].contains(item))
    };
    if checks.unique_items && twice() {
        let message = |name: &str| format!("{name} in body shouldn't contain duplicates");
        all.add(position, Fault::Invalid("".into()), message);
    }
}

fn validate_fields(
    fields: &Map<String, Value>,
    schema: &Structural,
    position: &Position<'_>,
    old: Option<Old<'_>>,
    all: &mut Findings,
) {
    let checks = schema.checks.as_deref();
    let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    if let Some(least) = checks
        .and_then(|c| c.min_properties)
        .filter(|least| size < *least)
    {
        let message =
            |name: &str| format!("{name} in body should have at least {least} properties");
        all.add(position, Fault::Invalid(size.into()), message);
    }
    if let Some(most) = checks
        .and_then(|c| c.max_properties)
        .filter(|most| size > *most)
    {
        let message = |name: &str| format!("{name} in body should have at most {most} properties");
        all.add(position, Fault::TooMany { actual: size, most }, message);
    }
    let old_of = |key: &str| {
        let hidden = matches!(position, Position::Root) && matches!(key, "kind" | "apiVersion");
        old.filter(|_| !hidden).and_then(|old| old.field(key))
    };
    let additional = schema.additional_schema();
    let closed = matches!(schema.additional, Additional::None);
    for (key, field) in fields.iter().filter(|_| closed || additional.is_some()) {
        if all.is_full() {
            return;
        }
        if schema.property(key).is_some() {
            continue;
        }
        if let Some(child) = additional {
            all.merge(validate_value(
                field,
                child,
                &Position::Entry(position, key),
                old_of(key),
            ));
        } else {
            let message = |name: &str| format!("{name}.{key} in body is a forbidden property");
            all.add(position, Fault::Invalid(key.as_str().into()), message);
        }
    }
    if !schema.properties.is_empty() {
        for (key, field) in fields {
            if all.is_full() {
                return;
            }
            if let Some(child) = schema.property(key) {
                all.merge(validate_value(
                    field,
                    child,
                    &Position::Field(position, key),
                    old_of(key),
                ));
            }
        }
    }
    for name in checks.into_iter().flat_map(|c| &c.required) {
        if !fields.contains_key(&**name) {
            let position = Position::Entry(position, name);
            all.add(&position, Fault::Required, |name| {
                format!("{name} in body is required")
            });
        }
    }
}

fn validate_junctors(value: &Value, checks: &Checks, position: &Position<'_>, all: &mut Findings) {
    if !checks.any_of.is_empty() {
        let mut best: Option<Findings> = None;
        let mut passed = None;
        for schema in &checks.any_of {
            let findings = validate_value(value, schema, position, None);
            if findings.is_empty() {
                passed = Some(findings);
                break;
            }
            if best
                .as_ref()
                .is_none_or(|best| findings.matched > best.matched)
            {
                best = Some(findings);
            }
        }
        match passed {
            Some(findings) => all.merge(findings),
            None => {
                all.composite(position, |name| {
                    format!("{name} must validate at least one schema (anyOf)")
                });
                all.merge(best.unwrap_or_default());
            }
        }
    }
    if !checks.one_of.is_empty() {
        validate_one_of(value, checks, position, all);
    }
    if !checks.all_of.is_empty() {
        let mut passed = 0;
        for schema in &checks.all_of {
            if all.is_full() {
                return;
            }
            let findings = validate_value(value, schema, position, None);
            passed += usize::from(findings.is_empty());
            all.merge(findings);
        }
        if passed != checks.all_of.len() {
            let none = if passed == 0 { ". None validated" } else { "" };
            all.composite(position, |name| {
                format!("{name} must validate all the schemas (allOf){none}")
            });
        }
    }
    if let Some(schema) = &checks.not
        && validate_value(value, schema, position, None).is_empty()
    {
        all.composite(position, |name| {
            format!("{name} must not validate the schema (not)")
        });
    }
}

fn validate_one_of(value: &Value, checks: &Checks, position: &Position<'_>, all: &mut Findings) {
    let mut best: Option<Findings> = None;
    let mut first = None;
    let mut passed = 0;
    for schema in &checks.one_of {
        let findings = validate_value(value, schema, position, None);
        if findings.is_empty() {
            passed += 1;
            best = None;
            first.get_or_insert(findings);
        } else if passed == 0
            && best
                .as_ref()
                .is_none_or(|best| findings.matched > best.matched)
        {
            best = Some(findings);
        }
    }
    if passed == 1 {
        return all.merge(first.unwrap_or_default());
    }
    let found = match passed {
        0 => "Found none valid".to_owned(),
        n => format!("Found {n} valid alternatives"),
    };
    all.composite(position, |name| {
        format!("{name} must validate one and only one schema (oneOf). {found}")
    });
    all.merge(best.unwrap_or_default());
}

#[cfg(test)]
mod tests;
