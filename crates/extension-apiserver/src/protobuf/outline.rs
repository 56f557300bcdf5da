//! [`Outline`]: the messages of a schema, with the numbers of their fields.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_protobuf::{MessageField, MessageType, ValueType};
use serde_json::Value;

use super::{
    print::type_of,
    record::{Record, Recorded},
};

/// The message of a kind, and what its `.proto` file says about it.
pub(super) struct Outline {
    pub(super) message: MessageType,
    /// The numbers that no field may have again, by message.
    pub(super) reserved: BTreeMap<String, BTreeSet<u16>>,
    /// The descriptions of messages and fields.
    pub(super) comments: BTreeMap<(String, String), String>,
}

/// The treatment of fields without a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NewNumbers {
    /// They get the next number of their message.
    Assigned,
    /// They are errors.
    Rejected,
}

impl Outline {
    /// Returns the outline of a kind. `numbers` are those of its type, by the paths of the fields.
    pub(super) fn new(
        kind: &str,
        schema: &Value,
        numbers: &BTreeMap<String, u16>,
        record: &Record,
        new: NewNumbers,
    ) -> Result<Self, String> {
        let mut builder = Builder {
            kind,
            numbers,
            record,
            new,
            names: BTreeSet::new(),
            reserved: BTreeMap::new(),
            comments: BTreeMap::new(),
        };
        let message = builder.message(kind, "", schema)?;
        Ok(Self {
            message,
            reserved: builder.reserved,
            comments: builder.comments,
        })
    }
}

/// The key of the comment of a message among those of its fields.
pub(super) const WHOLE: &str = "";

struct Builder<'a> {
    kind: &'a str,
    numbers: &'a BTreeMap<String, u16>,
    record: &'a Record,
    new: NewNumbers,
    /// The names of the messages so far.
    names: BTreeSet<String>,
    reserved: BTreeMap<String, BTreeSet<u16>>,
    comments: BTreeMap<(String, String), String>,
}

/// A field whose number may be unknown.
struct Unnumbered {
    json: String,
    path: String,
    number: Option<u16>,
    value: ValueType,
    required: bool,
}

impl Builder<'_> {
    /// Returns the message of an object.
    fn message(&mut self, name: &str, path: &str, schema: &Value) -> Result<MessageType, String> {
        if !self.names.insert(name.to_owned()) {
            return Err(format!(
                "two messages would have the name {name}: rename the field {path}"
            ));
        }
        self.comment(name, WHOLE, schema);
        let recorded = self.record.messages.get(name);
        let none = Recorded::default();
        let recorded = recorded.unwrap_or(&none);
        let mut fields = Vec::new();
        for (json, property) in schema["properties"].as_object().into_iter().flatten() {
            if path.is_empty() && matches!(json.as_str(), "apiVersion" | "kind") {
                continue;
            }
            fields.push(self.field(name, path, json, property, recorded, schema)?);
        }
        let mut reserved = recorded.reserved.clone();
        let used: BTreeSet<u16> = fields.iter().filter_map(|field| field.number).collect();
        reserved.extend(recorded.fields.values().map(|field| field.number));
        let old: BTreeSet<u16> = reserved.difference(&used).copied().collect();
        if let Some(number) = recorded.reserved.intersection(&used).next() {
            return Err(format!("the number {number} of {name} is reserved"));
        }
        let mut highest = used.last().max(old.last()).copied().unwrap_or(0);
        let mut numbered = Vec::new();
        for field in fields {
            let number = match (field.number, self.new) {
                (Some(number), _) => number,
                (None, NewNumbers::Assigned) => {
                    highest += 1;
                    highest
                }
                (None, NewNumbers::Rejected) => {
                    let path = &field.path;
                    return Err(format!(
                        "the field {path} has no number in protobuf: add #[schema(protobuf = ...)] to it, or generate the .proto file again"
                    ));
                }
            };
            numbered.push(MessageField {
                json: field.json,
                number,
                value: field.value,
                required: field.required,
            });
        }
        numbered.sort_by_key(|field| field.number);
        self.reserved.insert(name.to_owned(), old);
        Ok(MessageType {
            name: name.to_owned(),
            fields: numbered,
        })
    }

    fn field(
        &mut self,
        message: &str,
        outer: &str,
        json: &str,
        schema: &Value,
        recorded: &Recorded,
        object: &Value,
    ) -> Result<Unnumbered, String> {
        let path = match outer {
            "" => json.to_owned(),
            outer => format!("{outer}.{json}"),
        };
        self.comment(message, json, schema);
        let value = match (outer, json) {
            ("", "metadata") => ValueType::ObjectMeta,
            _ => self.value(&format!("{message}{}", camel(json)), &path, schema)?,
        };
        let in_file = recorded.fields.get(json);
        // Readers of the old type would misunderstand the new one.
        let in_file = in_file.filter(|field| fits(&field.ty, &type_of(self.kind, &value)));
        let by_convention = match (outer, json) {
            ("", "metadata") => Some(1),
            ("", "spec") => Some(2),
            ("", "status") => Some(3),
            _ => None,
        };
        let in_file = in_file.map(|field| field.number);
        let number = match (self.numbers.get(&path).copied(), in_file) {
            (Some(own), Some(other)) if own != other => {
                return Err(format!(
                    "the field {path} has the number {own} in the type and {other} in the .proto file"
                ));
            }
            (own, in_file) => own.or(in_file).or(by_convention),
        };
        let required = object["required"].as_array();
        Ok(Unnumbered {
            required: required.is_some_and(|names| names.iter().any(|name| name == json)),
            json: json.to_owned(),
            path,
            number,
            value,
        })
    }

    /// Returns the type of a value. What has no message is JSON.
    fn value(&mut self, name: &str, path: &str, schema: &Value) -> Result<ValueType, String> {
        let is = |key: &str| schema[key] == true;
        if is("x-kubernetes-int-or-string") {
            return Ok(ValueType::IntOrString);
        }
        if is("x-kubernetes-preserve-unknown-fields") || is("x-kubernetes-embedded-resource") {
            return Ok(ValueType::Json);
        }
        let fields = schema["properties"].as_object();
        let values = &schema["additionalProperties"];
        Ok(match schema["type"].as_str().unwrap_or_default() {
            "string" => ValueType::String,
            "boolean" => ValueType::Bool,
            "integer" if schema["format"] == "int32" => ValueType::Int32,
            "integer" => ValueType::Int64,
            "number" => ValueType::Double,
            "array" => ValueType::List(self.element(name, path, &schema["items"])?.into()),
            "object" => match (fields.is_some_and(|f| !f.is_empty()), values.is_null()) {
                (_, true) => ValueType::Message(self.message(name, path, schema)?),
                (false, false) => ValueType::Map(self.element(name, path, values)?.into()),
                (true, false) => ValueType::Json,
            },
            _ => ValueType::Json,
        })
    }

    /// Returns the type of items of a list and values of a map, which may be null only as JSON.
    fn element(&mut self, name: &str, path: &str, schema: &Value) -> Result<ValueType, String> {
        if schema["nullable"] == true {
            return Ok(ValueType::Json);
        }
        Ok(match self.value(name, path, schema)? {
            ValueType::List(_) | ValueType::Map(_) => ValueType::Json,
            value => value,
        })
    }

    fn comment(&mut self, message: &str, field: &str, schema: &Value) {
        if let Some(text) = schema["description"].as_str() {
            let key = (message.to_owned(), field.to_owned());
            self.comments.insert(key, text.to_owned());
        }
    }
}

/// Returns whether a field of the recorded type can have the new one under the same number.
fn fits(old: &str, new: &str) -> bool {
    let wide = |ty: &str| ty.replace("int32", "int64");
    wide(old) == wide(new)
}

/// Returns the part of a message's name that a field gives: `dark_side` and `dark-side` give `DarkSide`.
fn camel(json: &str) -> String {
    let words = json.split(|c: char| !c.is_ascii_alphanumeric());
    let title = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    words.map(title).collect()
}
