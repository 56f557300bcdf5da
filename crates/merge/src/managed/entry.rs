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

/// All entries of an object. No two have the same identity: manager, operation and subresource, and for updates the
/// version.
///
/// ```
/// use kubewright_merge::managed::{ManagedFields, Operation};
/// use serde_json::json;
///
/// let managed = ManagedFields::decode(&json!([{
///     "manager": "kubectl", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
///     "fieldsV1": {"f:data": {"f:colour": {}}},
/// }]))?;
/// assert_eq!(managed.entries[0].operation, Operation::Apply);
/// assert_eq!(managed.entries[0].fields.paths()[0].to_string(), ".data.colour");
/// # Ok::<(), kubewright_merge::managed::DecodeError>(())
/// ```
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

    /// Returns the value of `metadata.managedFields`, entries in the order in which Kubernetes writes them.
    pub fn encode(mut self) -> Value {
        self.sort();
        self.entries
            .into_iter()
            .map(|entry| Value::Object(entry.encode()))
            .collect()
    }

    /// Appends the JSON text of [`ManagedFields::encode`], without building the value. The entries must be sorted.
    pub fn write_json(&self, out: &mut String) {
        out.push('[');
        for (i, entry) in self.entries.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            entry.write_json(out);
        }
        out.push(']');
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

    fn encode(self) -> Map<String, Value> {
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
        member(FIELDS, self.fields.to_value());
        if !self.subresource.is_empty() {
            member("subresource", Value::String(self.subresource));
        }
        out
    }

    /// Appends the JSON text of the entry, members by name.
    fn write_json(&self, out: &mut String) {
        out.push_str("{\"apiVersion\":");
        JsonStyle::Standard.write_string(out, &self.api_version);
        out.push_str(",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
        self.fields.write_value_text(out);
        if !self.manager.is_empty() {
            out.push_str(",\"manager\":");
            JsonStyle::Standard.write_string(out, &self.manager);
        }
        out.push_str(",\"operation\":\"");
        out.push_str(self.operation.as_str());
        out.push('"');
        if !self.subresource.is_empty() {
            out.push_str(",\"subresource\":");
            JsonStyle::Standard.write_string(out, &self.subresource);
        }
        if let Some(time) = self.time {
            out.push_str(",\"time\":\"");
            out.push_str(&time.to_seconds());
            out.push('"');
        }
        out.push('}');
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
