//! Types as Rust source.
//!
//! Strings of a definition get into the source as literals and as lines of documentation only, so that nothing in them can
//! become code.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::{
    types::{Body, Field, Item, Struct, Type, Types},
    words::camel_of_field,
};

/// What writes types, knowing their names.
pub(super) struct Renderer<'a> {
    pub(super) types: &'a Types,
    pub(super) names: &'a [String],
}

impl Renderer<'_> {
    /// One type. `above` are attributes of its own, `derives` more derives in front.
    pub(super) fn item(
        &self,
        id: usize,
        item: &Item,
        derives: &[&str],
        above: &str,
        schema: &str,
    ) -> String {
        let name = &self.names[id];
        match &item.body {
            Body::Enum(values) => self.enumeration(name, values),
            Body::Struct(body) => self.structure(name, body, derives, above, schema),
        }
    }

    fn enumeration(&self, name: &str, values: &[(String, String)]) -> String {
        let mut out = String::new();
        out.push_str("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]\n");
        _ = writeln!(out, "pub enum {name} {{");
        for (value, variant) in values {
            if value != variant {
                _ = writeln!(out, "    #[serde(rename = {value:?})]");
            }
            _ = writeln!(out, "    {variant},");
        }
        out.push_str("}\n");
        out
    }

    fn structure(
        &self,
        name: &str,
        body: &Struct,
        derives: &[&str],
        above: &str,
        schema: &str,
    ) -> String {
        let mut out = String::new();
        doc(&mut out, "", body.doc.as_deref());
        let mut all = derives.to_vec();
        all.extend(["Clone", "Debug"]);
        if self.has_default(body, 0) {
            all.push("Default");
        }
        all.extend(["PartialEq", "Serialize", "Deserialize", schema]);
        _ = writeln!(out, "#[derive({})]", all.join(", "));
        out.push_str(above);
        if body.fields.iter().any(is_camel) {
            out.push_str("#[serde(rename_all = \"camelCase\")]\n");
        }
        let mut extra = body.extra.clone();
        if let Some(doc) = body
            .doc
            .as_ref()
            .filter(|doc| !super::beyond::is_plain(doc))
        {
            extra.insert("description".to_owned(), Value::String(doc.clone()));
            extra.entry("title").or_insert(Value::Null);
        }
        if let Some(extend) = extension(&extra) {
            _ = writeln!(out, "#[schemars({extend})]");
        }
        if body.fields.is_empty() && !body.open {
            _ = writeln!(out, "pub struct {name} {{}}");
            return out;
        }
        _ = writeln!(out, "pub struct {name} {{");
        for field in &body.fields {
            self.field(&mut out, field, body.fields.iter().any(is_camel));
        }
        if body.open {
            let mut rest = "rest".to_owned();
            while body.fields.iter().any(|field| field.name == rest) {
                rest.push('_');
            }
            out.push_str("    /// Fields that the schema does not name.\n    #[serde(flatten)]\n");
            _ = writeln!(
                out,
                "    pub {rest}: std::collections::BTreeMap<String, serde_json::Value>,"
            );
        }
        out.push_str("}\n");
        out
    }

    fn field(&self, out: &mut String, field: &Field, renamed: bool) {
        doc(out, "    ", field.doc.as_deref());
        let optional = !field.required || field.nullable;
        let mut serde = Vec::new();
        let as_written = match renamed {
            true => camel_of_field(&field.name),
            false => field.name.trim_start_matches("r#").to_owned(),
        };
        if as_written != field.json_name {
            serde.push(format!("rename = {:?}", field.json_name));
        }
        if !field.required {
            serde.push("default".to_owned());
            serde.push("skip_serializing_if = \"Option::is_none\"".to_owned());
        }
        if !serde.is_empty() {
            _ = writeln!(out, "    #[serde({})]", serde.join(", "));
        }
        let (rust, carrier) = (self.name(&field.rust), self.name(&field.carrier));
        let mut schemars = Vec::new();
        if optional || rust != carrier {
            schemars.push(format!("with = {carrier:?}"));
        }
        schemars.extend(extension(&field.extra));
        if !schemars.is_empty() {
            _ = writeln!(out, "    #[schemars({})]", schemars.join(", "));
        }
        _ = match optional {
            true => writeln!(out, "    pub {}: Option<{rust}>,", field.name),
            false => writeln!(out, "    pub {}: {rust},", field.name),
        };
    }

    fn name(&self, of: &Type) -> String {
        match of {
            Type::Bool => "bool".to_owned(),
            Type::String => "String".to_owned(),
            Type::I32 => "i32".to_owned(),
            Type::I64 => "i64".to_owned(),
            Type::F32 => "f32".to_owned(),
            Type::F64 => "f64".to_owned(),
            Type::Any => "serde_json::Value".to_owned(),
            Type::List(of) => format!("Vec<{}>", self.name(of)),
            Type::Map(of) => format!("std::collections::BTreeMap<String, {}>", self.name(of)),
            Type::Named(id) => self.names.get(*id).cloned().unwrap_or_default(),
            Type::Foreign(path) => (*path).to_owned(),
        }
    }

    /// Whether a value can be made of nothing: no enum has to be chosen. Types nest no deeper than the document they come from.
    pub(super) fn has_default(&self, body: &Struct, depth: usize) -> bool {
        let needed = body
            .fields
            .iter()
            .filter(|field| field.required && !field.nullable);
        needed.into_iter().all(|field| match &field.rust {
            Type::Named(id) => match self.types.items.get(*id).map(|item| &item.body) {
                Some(Body::Struct(below)) => depth < 128 && self.has_default(below, depth + 1),
                _ => false,
            },
            // No moment is the default one.
            Type::Foreign(path) => !path.ends_with("::Time") && !path.ends_with("::Condition"),
            _ => true,
        })
    }
}

/// Documentation, line by line.
pub(super) fn doc(out: &mut String, indent: &str, text: Option<&str>) {
    for line in text.into_iter().flat_map(str::lines) {
        let line: String = line.chars().filter(|c| !is_odd(*c)).collect();
        _ = match line.as_str() {
            "" => writeln!(out, "{indent}///"),
            line => writeln!(out, "{indent}/// {line}"),
        };
    }
}

/// Characters that must not stand in a comment: the compiler refuses some, and nobody sees the others.
pub(super) fn is_odd(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `extend(…)` with these keys, if there are any.
fn extension(extra: &Map<String, Value>) -> Option<String> {
    let entries: Vec<String> = extra
        .iter()
        .map(|(key, value)| format!("{key:?} = {}", literal(value)))
        .collect();
    (!entries.is_empty()).then(|| format!("extend({})", entries.join(", ")))
}

/// JSON as a Rust macro reads it: strings are Rust's.
fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{key:?}: {}", literal(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => format!("{float:?}"),
            _ if number.as_i64().is_some_and(|n| i32::try_from(n).is_err()) => {
                format!("{number}i64")
            }
            _ if number.as_u64().is_some_and(|n| n > i64::MAX as u64) => format!("{number}u64"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn is_camel(field: &Field) -> bool {
    let plain = field.name.trim_start_matches("r#");
    plain != field.json_name && camel_of_field(&field.name) == field.json_name
}
