//! The encodings of a list that are text: compact and indented JSON, and YAML.

use kubewright_machinery::{Status, status};
use kubewright_schema::yaml::to_yaml;
use serde_json::{Map, Value};

use super::{
    super::pretty,
    form::{Form, Head},
};
use crate::object::Object;

/// Encodes a list piece by piece: the head, each item, the tail.
pub(super) trait Encoding: Send {
    /// Appends everything before the first item.
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), Status>;
    /// Appends an item.
    fn item(&mut self, object: &Object, out: &mut Vec<u8>) -> Result<(), Status>;
    /// Appends everything after the last item.
    fn tail(&mut self, out: &mut Vec<u8>) -> Result<(), Status>;
}

/// JSON on one line.
pub(super) struct Compact {
    head: Head,
    form: Form,
    first: bool,
}

/// JSON with one member a line.
pub(super) struct Pretty {
    head: Head,
    form: Form,
    first: bool,
    item: Vec<u8>,
}

/// YAML, with sorted keys.
pub(super) struct Yaml {
    head: Head,
    form: Form,
    first: bool,
    item: Vec<u8>,
}

impl Compact {
    pub(super) fn new(head: Head, form: Form) -> Self {
        Self {
            head,
            form,
            first: true,
        }
    }
}

impl Encoding for Compact {
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        out.extend_from_slice(&self.head.json());
        out.extend_from_slice(b",\"");
        out.extend_from_slice(self.head.items().as_bytes());
        out.extend_from_slice(b"\":[");
        Ok(())
    }

    fn item(&mut self, object: &Object, out: &mut Vec<u8>) -> Result<(), Status> {
        if !std::mem::take(&mut self.first) {
            out.push(b',');
        }
        self.form.write(object, out);
        Ok(())
    }

    fn tail(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        out.extend_from_slice(b"]}");
        Ok(())
    }
}

impl Pretty {
    pub(super) fn new(head: Head, form: Form) -> Self {
        Self {
            head,
            form,
            first: true,
            item: Vec::new(),
        }
    }
}

impl Encoding for Pretty {
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        pretty::indent(out, &self.head.json(), 0);
        out.push(b',');
        pretty::line(out, 1);
        out.push(b'"');
        out.extend_from_slice(self.head.items().as_bytes());
        out.extend_from_slice(b"\": [");
        Ok(())
    }

    fn item(&mut self, object: &Object, out: &mut Vec<u8>) -> Result<(), Status> {
        if !std::mem::take(&mut self.first) {
            out.push(b',');
        }
        pretty::line(out, 2);
        self.item.clear();
        self.form.write(object, &mut self.item);
        match self.form.item_type() {
            Some(ty) => pretty::indent_typed(out, &self.item, 2, ty),
            None => pretty::indent(out, &self.item, 2),
        }
        Ok(())
    }

    fn tail(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        if !self.first {
            pretty::line(out, 1);
        }
        out.extend_from_slice(b"]\n}");
        Ok(())
    }
}

impl Yaml {
    pub(super) fn new(head: Head, form: Form) -> Self {
        Self {
            head,
            form,
            first: true,
            item: Vec::new(),
        }
    }

    /// Appends the fields of the list whose keys sort before the items, or after them.
    fn fields(&self, before: bool, out: &mut Vec<u8>) -> Result<(), Status> {
        let head = &self.head;
        let columns = head
            .columns
            .as_ref()
            .map(|c| ("columnDefinitions", c.clone()));
        let all = [
            ("apiVersion", Value::from(head.api_version.as_str())),
            ("kind", Value::from(head.kind.as_str())),
            ("metadata", head.metadata.clone()),
        ];
        let fields: Map<String, Value> = all
            .into_iter()
            .chain(columns)
            .filter(|(key, _)| (*key < head.items()) == before)
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        if !fields.is_empty() {
            out.extend_from_slice(yaml(&Value::Object(fields))?.as_bytes());
        }
        Ok(())
    }
}

impl Encoding for Yaml {
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        self.fields(true, out)?;
        out.extend_from_slice(self.head.items().as_bytes());
        Ok(())
    }

    fn item(&mut self, object: &Object, out: &mut Vec<u8>) -> Result<(), Status> {
        if std::mem::take(&mut self.first) {
            out.extend_from_slice(b":\n");
        }
        self.item.clear();
        self.form.write(object, &mut self.item);
        let item: Value = serde_json::from_slice(&self.item).map_err(status::internal)?;
        // A list in an object is indented as it is in the document; only the line of its key is left out.
        let list = Value::Object(
            [("x".to_owned(), Value::Array(vec![item]))]
                .into_iter()
                .collect(),
        );
        let text = yaml(&list)?;
        out.extend_from_slice(text.strip_prefix("x:\n").unwrap_or(&text).as_bytes());
        Ok(())
    }

    fn tail(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        if self.first {
            out.extend_from_slice(b": []\n");
        }
        self.fields(false, out)
    }
}

fn yaml(value: &Value) -> Result<String, Status> {
    to_yaml(value).map_err(|e| status::unknown(e.to_string()))
}
