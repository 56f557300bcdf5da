//! Generates `docs/api.md`, the API reference.

use kubewright_operator::Model;
use std::fmt::Write;

use serde_json::Value;

use super::{
    File,
    model::{Kind, kinds, text},
    stamp::Language,
};

/// The maximum depth of documented fields.
const DEEPEST: usize = 40;

/// Returns the reference.
pub(super) fn files(model: &Model) -> Vec<File> {
    let mut out = format!("# API of {}\n", model.name);
    out += "\n| kind | group and version | scope | |\n|---|---|---|---|\n";
    for kind in kinds(model) {
        let scope = text(&kind.crd["spec"]["scope"]);
        let version = kind.version;
        let mut said = Vec::new();
        if version["storage"] == true {
            said.push("stored");
        }
        if !kind.served() {
            said.push("not served");
        }
        if version["deprecated"] == true {
            said.push("deprecated");
        }
        _ = writeln!(
            out,
            "| [{}](#{}) | `{}` | {scope} | {} |",
            kind.kind(),
            anchor(&kind),
            kind.api_version(),
            said.join(", ")
        );
    }
    for kind in kinds(model) {
        of_kind(&mut out, &kind);
    }
    vec![File::marked("docs/api.md", Language::Markdown, &out)]
}

fn title(kind: &Kind<'_>) -> String {
    format!("{} {}", kind.kind(), kind.api_version())
}

/// Returns the anchor that Markdown viewers derive from the title.
fn anchor(kind: &Kind<'_>) -> String {
    title(kind)
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn of_kind(out: &mut String, kind: &Kind<'_>) {
    let schema = kind.schema();
    _ = write!(out, "\n## {}\n", title(kind));
    paragraph(out, schema);
    if let Some(warning) = kind.version["deprecationWarning"].as_str() {
        _ = write!(out, "\nDeprecated: {warning}\n");
    }
    let columns = kind.version["additionalPrinterColumns"].as_array();
    if let Some(columns) = columns.filter(|columns| !columns.is_empty()) {
        let names: Vec<&str> = columns.iter().map(|column| text(&column["name"])).collect();
        _ = write!(out, "\n`kubectl get` shows: {}.\n", names.join(", "));
    }
    rules(out, schema);
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    for (name, inner) in properties {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            section(out, name, inner, 0);
        }
    }
}

/// Writes an object: its description, its fields, then the objects in it.
fn section(out: &mut String, path: &str, schema: &Value, depth: usize) {
    _ = write!(out, "\n### `{path}`\n");
    paragraph(out, schema);
    rules(out, schema);
    let Some(properties) = schema["properties"].as_object().filter(|p| !p.is_empty()) else {
        if schema["type"] != "object" {
            _ = write!(out, "\nType: {}.\n", type_name(schema));
        }
        return;
    };
    let required = schema["required"].as_array();
    out.push_str("\n| field | type | required | description |\n|---|---|---|---|\n");
    for (name, inner) in properties {
        let needed = required.is_some_and(|names| names.iter().any(|it| it == name));
        let mut description = cell(text(&inner["description"]));
        for limit in limits(inner) {
            description += match description.is_empty() {
                true => "",
                false => " ",
            };
            description += &limit;
        }
        _ = writeln!(
            out,
            "| `{name}` | {} | {} | {description} |",
            cell(&type_name(inner)),
            if needed { "yes" } else { "" },
        );
    }
    if depth == DEEPEST {
        return;
    }
    for (name, inner) in properties {
        let (inner, suffix) = innermost(inner);
        if inner["properties"]
            .as_object()
            .is_some_and(|p| !p.is_empty())
        {
            section(out, &format!("{path}.{name}{suffix}"), inner, depth + 1);
        }
    }
}

/// Returns the element schema of a list or a map, and the suffix of its path.
fn innermost(schema: &Value) -> (&Value, String) {
    let (mut schema, mut suffix) = (schema, String::new());
    for _ in 0..DEEPEST {
        if let Some(items) = schema.get("items") {
            (schema, suffix) = (items, suffix + "[]");
        } else if let Some(values) = schema.get("additionalProperties").filter(|v| v.is_object()) {
            (schema, suffix) = (values, suffix + ".*");
        } else {
            break;
        }
    }
    (schema, suffix)
}

fn type_name(schema: &Value) -> String {
    let (inner, suffix) = innermost(schema);
    let name = if inner["x-kubernetes-int-or-string"] == true {
        "integer or string"
    } else {
        match text(&inner["type"]) {
            "" => "any",
            name => name,
        }
    };
    let mut name = match text(&inner["format"]) {
        "" => name.to_owned(),
        format => format!("{name} ({format})"),
    };
    // Innermost first.
    let mut rest = suffix.as_str();
    while !rest.is_empty() {
        if let Some(outer) = rest.strip_suffix("[]") {
            (name, rest) = (format!("list of {name}"), outer);
        } else {
            (name, rest) = (
                format!("map of {name}"),
                rest.strip_suffix(".*").unwrap_or_default(),
            );
        }
    }
    name
}

/// Describes the constraints of a value.
fn limits(schema: &Value) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        said.push(format!("One of {}.", values.join(", ")));
    }
    if let Some(default) = schema.get("default") {
        said.push(format!("Default: `{}`.", cell(&default.to_string())));
    }
    for (key, words) in [
        ("minimum", "At least"),
        ("maximum", "At most"),
        ("multipleOf", "A multiple of"),
        ("minLength", "Length at least"),
        ("maxLength", "Length at most"),
        ("minItems", "Items at least"),
        ("maxItems", "Items at most"),
        ("minProperties", "Entries at least"),
        ("maxProperties", "Entries at most"),
    ] {
        if let Some(value) = schema.get(key) {
            said.push(format!("{words} {value}."));
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        said.push(format!("Matches `{}`.", cell(pattern)));
    }
    let rules = schema["x-kubernetes-validations"].as_array();
    // Constraints of objects are listed in their own section.
    if schema.get("properties").is_none() {
        said.extend(rules.into_iter().flatten().map(rule));
    }
    said
}

fn rules(out: &mut String, schema: &Value) {
    for one in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        _ = write!(out, "\n{}\n", rule(one));
    }
}

fn rule(rule: &Value) -> String {
    let code = cell(text(&rule["rule"]));
    match text(&rule["message"]) {
        "" => format!("Rule: `{code}`."),
        message => format!("Rule: {} (`{code}`).", cell(message)),
    }
}

fn paragraph(out: &mut String, schema: &Value) {
    let description = text(&schema["description"]);
    if !description.is_empty() {
        _ = write!(out, "\n{description}\n");
    }
}

/// Escapes a text for a table cell: one line, no borders.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
