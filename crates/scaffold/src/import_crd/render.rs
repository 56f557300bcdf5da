//! Writes types as Rust source.
//!
//! Strings of a CRD are written only as literals and as documentation, so that nothing in them can
//! become code.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    types::{Body, CONDITION, Field, Struct, TIME, Type, Types},
    words::camel_of_field,
};

/// Writes types, given their names.
pub(super) struct Renderer<'a> {
    pub(super) types: &'a Types,
    /// The name or path to refer to each type.
    pub(super) names: &'a BTreeMap<usize, String>,
}

impl Renderer<'_> {
    /// Writes one type. `above` are additional attributes, `derives` additional derives.
    pub(super) fn item(&self, id: usize, derives: &[&str], above: &str) -> String {
        let name = self.name_of(id);
        match self.types.items.get(id).map(|item| &item.body) {
            Some(Body::Enum(values)) => self.enumeration(&name, values),
            Some(Body::Struct(body)) => self.structure(&name, body, derives, above),
            None => String::new(),
        }
    }

    fn name_of(&self, id: usize) -> String {
        self.names.get(&id).cloned().unwrap_or_default()
    }

    fn enumeration(&self, name: &str, values: &[(String, String)]) -> String {
        let mut out = String::new();
        out.push_str(
            "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]\n",
        );
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

    fn structure(&self, name: &str, body: &Struct, derives: &[&str], above: &str) -> String {
        let mut out = String::new();
        doc(&mut out, "", body.doc.as_deref());
        let mut all = derives.to_vec();
        all.extend(["Clone", "Debug"]);
        if self.has_default(body, 0) {
            all.push("Default");
        }
        all.extend(["PartialEq", "Serialize", "Deserialize", "Schema"]);
        _ = writeln!(out, "#[derive({})]", all.join(", "));
        out.push_str(above);
        if body.fields.iter().any(is_camel) {
            out.push_str("#[serde(rename_all = \"camelCase\")]\n");
        }
        marked(&mut out, "", &body.schema_attrs);
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
            serde.push("skip_serializing_if = \"Option::is_none\"".to_owned());
        }
        if !serde.is_empty() {
            _ = writeln!(out, "    #[serde({})]", serde.join(", "));
        }
        let (rust, carrier) = (self.name(&field.rust), self.name(&field.carrier));
        let mut schema_attrs = Vec::new();
        if rust != carrier {
            schema_attrs.push(format!("as = {carrier:?}"));
        }
        schema_attrs.extend(field.schema_attrs.iter().cloned());
        marked(out, "    ", &schema_attrs);
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
            Type::Maybe(of) => format!("Option<{}>", self.name(of)),
            Type::List(of) => format!("Vec<{}>", self.name(of)),
            Type::Map(of) => format!("std::collections::BTreeMap<String, {}>", self.name(of)),
            Type::Named(id) => self.name_of(*id),
            Type::Foreign(path) => (*path).to_owned(),
        }
    }

    /// Reports whether the type can derive `Default`: no enum value has to be chosen. Types nest no deeper than their document.
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
            // Times have no default.
            Type::Foreign(path) => ![TIME, CONDITION].contains(path),
            _ => true,
        })
    }
}

/// Writes documentation, line by line.
pub(super) fn doc(out: &mut String, indent: &str, text: Option<&str>) {
    for line in text.into_iter().flat_map(str::lines) {
        let line: String = line.chars().filter(|c| !is_odd(*c)).collect();
        _ = match line.trim_end() {
            "" => writeln!(out, "{indent}///"),
            line => writeln!(out, "{indent}/// {line}"),
        };
    }
}

/// Reports whether a character is not allowed in a comment: the compiler rejects some, and others are invisible.
pub(super) fn is_odd(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes `#[schema(...)]`, unless it would be empty.
fn marked(out: &mut String, indent: &str, schema_attrs: &[String]) {
    if !schema_attrs.is_empty() {
        _ = writeln!(out, "{indent}#[schema({})]", schema_attrs.join(", "));
    }
}

fn is_camel(field: &Field) -> bool {
    let plain = field.name.trim_start_matches("r#");
    plain != field.json_name && camel_of_field(&field.name) == field.json_name
}
