//! Reads and writes the entries of `metadata.managedFields`.

use crate::fieldset::FieldSet;
use kubewright_machinery::{
    go::{self, JsonStyle},
    time::Time,
};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt;

/// The operation by which a manager came to own its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Any other write.
    Update,
}

/// The fields that one manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The manager's name.
    pub manager: String,
    /// The operation.
    pub operation: Operation,
    /// The version it wrote, in which the fields are to be read.
    pub api_version: String,
    /// The time at which the fields last changed.
    pub time: Option<Time>,
    /// The fields it owns.
    pub fields: FieldSet,
    /// The subresource it wrote through; empty for the object itself.
    pub subresource: String,
}

/// The representation of the fields of an entry in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The fields are an object.
    Object,
    /// The fields are a string: the JSON text of that object. For values that are written and not read again; see
    /// [`write_text_forms`] and [`expand_text_forms`].
    Text,
}

/// All entries of an object. No two have the same identity: manager, operation and subresource, and for updates the
/// version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedFields {
    /// The entries, in no particular order.
    pub entries: Vec<Entry>,
}

/// A `metadata.managedFields` that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(String);

const FIELDS: &str = "fieldsV1";

/// Gives the fields of all entries of an object that are held as text their form as objects.
pub fn expand_text_forms(object: &mut Value) {
    let entries = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("managedFields"))
        .and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten() {
        if let Some(fields) = entry.get_mut(FIELDS)
            && let Value::String(text) = &*fields
            && let Ok(expanded) = serde_json::from_str(text)
        {
            *fields = expanded;
        }
    }
}

/// Writes the value of `metadata.managedFields` as JSON. Fields that are held as text are written as they are, all else
/// by `write`.
pub fn write_text_forms(
    out: &mut Vec<u8>,
    managed_fields: &Value,
    write: impl Fn(&mut Vec<u8>, &Value),
) {
    let Value::Array(entries) = managed_fields else {
        return write(out, managed_fields);
    };
    out.push(b'[');
    for (i, entry) in entries.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        match entry {
            Value::Object(members) if members.get(FIELDS).is_some_and(Value::is_string) => {
                write_members(out, members, &write);
            }
            entry => write(out, entry),
        }
    }
    out.push(b']');
}

fn write_members(
    out: &mut Vec<u8>,
    members: &Map<String, Value>,
    write: &impl Fn(&mut Vec<u8>, &Value),
) {
    for (i, (name, value)) in members.iter().enumerate() {
        // The names of members are plain.
        out.extend_from_slice(if i > 0 { b",\"" } else { b"{\"" });
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        match value {
            Value::String(text) if name == FIELDS => out.extend_from_slice(text.as_bytes()),
            value => write(out, value),
        }
    }
    out.push(b'}');
}

impl ManagedFields {
    /// Reads the value of `metadata.managedFields`. Of two entries with one identity the later one counts.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a list of entries.
    pub fn decode(value: &Value) -> Result<ManagedFields, DecodeError> {
        let items = match value {
            Value::Null => return Ok(ManagedFields::default()),
            Value::Array(items) => items,
            _ => return Err(DecodeError("managedFields must be a list".into())),
        };
        let mut entries: Vec<Entry> = Vec::with_capacity(items.len());
        let mut found: HashMap<String, usize> = HashMap::new();
        for (i, item) in items.iter().enumerate() {
            let entry = Entry::decode(i, item)?;
            if items.len() == 1 {
                entries.push(entry);
                break;
            }
            match found
                .get(&entry.identifier())
                .and_then(|at| entries.get_mut(*at))
            {
                Some(earlier) => *earlier = entry,
                None => {
                    found.insert(entry.identifier(), entries.len());
                    entries.push(entry);
                }
            }
        }
        Ok(ManagedFields { entries })
    }

    /// The value of `metadata.managedFields`, entries in the order in which Kubernetes writes them.
    pub fn encode(self) -> Value {
        self.encode_as(Form::Object)
    }

    /// The same, with fields in that form.
    pub fn encode_as(mut self, form: Form) -> Value {
        self.sort();
        self.entries
            .into_iter()
            .map(|entry| Value::Object(entry.encode(form)))
            .collect()
    }

    /// Puts entries in the order in which Kubernetes writes them: applies before updates, older before newer.
    pub fn sort(&mut self) {
        self.entries.sort_by(|a, b| {
            let seconds = |entry: &Entry| entry.time.map_or(0, Time::unix_seconds);
            a.operation
                .cmp(&b.operation)
                .then_with(|| seconds(a).cmp(&seconds(b)))
                .then_with(|| a.manager.cmp(&b.manager))
                .then_with(|| a.api_version.cmp(&b.api_version))
                .then_with(|| a.subresource.cmp(&b.subresource))
        });
    }

    /// The entry with the identity of these values.
    pub fn find(
        &self,
        manager: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
    ) -> Option<usize> {
        self.entries.iter().position(|e| {
            e.manager == manager
                && e.operation == operation
                && e.subresource == subresource
                && (operation == Operation::Apply || e.api_version == api_version)
        })
    }
}

impl Entry {
    /// The identity as text: what Kubernetes sorts managers by.
    pub(super) fn identifier(&self) -> String {
        let mut out = String::from("{");
        let mut member = |name: &str, value: &str| {
            if !value.is_empty() {
                out.push_str(if out.len() > 1 { ",\"" } else { "\"" });
                out.push_str(name);
                out.push_str("\":");
                JsonStyle::Standard.write_string(&mut out, value);
            }
        };
        member("manager", &self.manager);
        member("operation", self.operation.as_str());
        if self.operation == Operation::Update {
            member("apiVersion", &self.api_version);
        }
        member("subresource", &self.subresource);
        out.push('}');
        out
    }

    fn decode(index: usize, value: &Value) -> Result<Entry, DecodeError> {
        let malformed = |what: String| DecodeError(what);
        let Value::Object(members) = value else {
            return Err(malformed(format!(
                "managed fields entry {index} must be an object"
            )));
        };
        let text = |name: &str| match members.get(name) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(_) => Err(malformed(format!(
                "{name} in managed fields entry {index} must be a string"
            ))),
        };
        let operation = match text("operation")? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(malformed("operation must be `Apply` or `Update`".into())),
        };
        let api_version = text("apiVersion")?;
        if api_version.is_empty() {
            return Err(malformed("apiVersion must not be empty".into()));
        }
        match text("fieldsType")? {
            "FieldsV1" => {}
            "" => {
                return Err(malformed(format!(
                    "missing fieldsType in managed fields entry {index}"
                )));
            }
            other => {
                let other = go::quote(other);
                return Err(malformed(format!(
                    "invalid fieldsType {other} in managed fields entry {index}"
                )));
            }
        }
        let time = match text("time")? {
            "" => None,
            time => Some(Time::parse(time).map_err(|e| malformed(format!("time {time:?}: {e}")))?),
        };
        let fields = FieldSet::from_value(members.get(FIELDS).unwrap_or(&Value::Null))
            .map_err(|e| malformed(format!("error decoding set: {e}")))?;
        Ok(Entry {
            manager: text("manager")?.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            time,
            fields,
            subresource: text("subresource")?.to_owned(),
        })
    }

    fn encode(self, form: Form) -> Map<String, Value> {
        let mut out = Map::new();
        let mut member = |name: &str, value: Value| _ = out.insert(name.to_owned(), value);
        if !self.manager.is_empty() {
            member("manager", Value::String(self.manager));
        }
        member("operation", self.operation.as_str().into());
        member("apiVersion", Value::String(self.api_version));
        if let Some(time) = self.time {
            member("time", Value::String(time.to_seconds()));
        }
        member("fieldsType", "FieldsV1".into());
        let fields = match form {
            Form::Object => self.fields.to_value(),
            Form::Text => {
                let mut text = String::with_capacity(1024);
                self.fields.write_value_text(&mut text);
                Value::String(text)
            }
        };
        member(FIELDS, fields);
        if !self.subresource.is_empty() {
            member("subresource", Value::String(self.subresource));
        }
        out
    }
}

impl Operation {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
