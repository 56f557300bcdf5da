//! The text of a `.proto` file.

use std::{collections::BTreeSet, fmt::Write};

use kubewright_protobuf::{MessageType, ValueType};

use super::outline::{Outline, WHOLE};

const META: &str = "k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto";
const RUNTIME: &str = "k8s.io/apimachinery/pkg/runtime/generated.proto";

/// Returns the text of a file.
pub(super) fn file(package: &str, outline: &Outline, list_kind: &str) -> String {
    let mut messages = Vec::new();
    collect(&outline.message, &mut messages);
    let list = outline.message.list(list_kind);
    let holds = |wanted: fn(&ValueType) -> bool| {
        let mut fields = messages.iter().flat_map(|message| &message.fields);
        fields.any(|field| wanted(single(&field.value)))
    };
    let mut out = String::from(
        "// The messages of a kind. The numbers are recorded here: a field keeps its number when this file is generated again, a\n\
         // new field gets a new one, and the number of a removed field stays reserved.\n\n\
         syntax = \"proto2\";\n\n",
    );
    // Writing to a string never fails.
    let _ = writeln!(out, "package {package};\n");
    let _ = writeln!(out, "import \"{META}\";");
    if holds(|value| matches!(value, ValueType::Json)) {
        let _ = writeln!(out, "import \"{RUNTIME}\";");
    }
    for message in &messages {
        print(&mut out, message, outline);
    }
    print(&mut out, &list, outline);
    if holds(|value| matches!(value, ValueType::IntOrString)) {
        let name = int_or_string(&outline.message.name);
        let _ = write!(
            out,
            "\n// A number, or a string if the type is 1.\n\
             message {name} {{\n  \
               optional int64 type = 1;\n  \
               optional int64 intVal = 2;\n  \
               optional string strVal = 3;\n\
             }}\n"
        );
    }
    out
}

/// Returns the type of a field of a kind, such as `optional string`.
pub(super) fn type_of(kind: &str, value: &ValueType) -> String {
    match value {
        ValueType::List(item) => format!("repeated {}", name_of(kind, item)),
        ValueType::Map(item) => format!("map<string, {}>", name_of(kind, item)),
        value => format!("optional {}", name_of(kind, value)),
    }
}

fn name_of(kind: &str, value: &ValueType) -> String {
    let name = match value {
        ValueType::Bool => "bool",
        ValueType::Int32 => "int32",
        ValueType::Int64 => "int64",
        ValueType::Double => "double",
        ValueType::String => "string",
        ValueType::IntOrString => return int_or_string(kind),
        ValueType::ObjectMeta => ".k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        ValueType::ListMeta => ".k8s.io.apimachinery.pkg.apis.meta.v1.ListMeta",
        ValueType::Message(message) => &message.name,
        ValueType::Json | ValueType::List(_) | ValueType::Map(_) => {
            ".k8s.io.apimachinery.pkg.runtime.RawExtension"
        }
    };
    name.to_owned()
}

/// Returns the name of the message of a number or a string, whose number has 64 bits here.
fn int_or_string(kind: &str) -> String {
    format!("{kind}Int64OrString")
}

/// Returns the type of one value.
fn single(value: &ValueType) -> &ValueType {
    match value {
        ValueType::List(item) | ValueType::Map(item) => item,
        value => value,
    }
}

/// Adds a message and those of its fields.
fn collect<'a>(message: &'a MessageType, messages: &mut Vec<&'a MessageType>) {
    messages.push(message);
    for field in &message.fields {
        if let ValueType::Message(inner) = single(&field.value) {
            collect(inner, messages);
        }
    }
}

fn print(out: &mut String, message: &MessageType, outline: &Outline) {
    out.push('\n');
    comment(out, "", outline, &message.name, WHOLE);
    let _ = writeln!(out, "message {} {{", message.name);
    let none = BTreeSet::new();
    let reserved = outline.reserved.get(&message.name).unwrap_or(&none);
    if !reserved.is_empty() {
        let numbers: Vec<String> = reserved.iter().map(u16::to_string).collect();
        let _ = writeln!(out, "  reserved {};", numbers.join(", "));
    }
    for field in &message.fields {
        comment(out, "  ", outline, &message.name, &field.json);
        let (ty, number) = (type_of(&outline.message.name, &field.value), field.number);
        let name = identifier(&field.json);
        let json = match name == field.json {
            true => String::new(),
            false => format!(" [json_name = {}]", serde_json::Value::from(&*field.json)),
        };
        let _ = writeln!(out, "  {ty} {name} = {number}{json};");
    }
    out.push_str("}\n");
}

fn comment(out: &mut String, indent: &str, outline: &Outline, message: &str, field: &str) {
    let key = (message.to_owned(), field.to_owned());
    let text = outline.comments.get(&key).map_or("", String::as_str);
    for line in text.lines() {
        let line = format!("{indent}// {line}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// Returns a name that protobuf allows.
fn identifier(json: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = json.chars().map(allowed).collect();
    match name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        true => format!("_{name}"),
        false => name,
    }
}
