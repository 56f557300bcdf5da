//! Prints objects as error messages do: in the internal form, with every field, set or not, under its Go name.
//!
//! Only pod templates, pod specs and claim specs are printed so. The shapes are generated; see
//! `generated/internal_forms.rs`.

mod diff;

use serde_json::{Value, json};

use crate::{
    generated::internal_forms::{PERSISTENT_VOLUME_CLAIM_SPEC, POD_SPEC, POD_TEMPLATE_SPEC},
    go_json,
    json::{Read, Write},
};

/// The fields of metadata, in their order.
const METADATA: [&str; 14] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
];

/// A field of a struct.
pub(crate) struct Field {
    /// The Go name; empty for embedded metadata.
    pub(crate) name: &'static str,
    /// The JSON name in the versioned form.
    pub(crate) json: &'static str,
    /// The type.
    pub(crate) form: Form,
}

/// The type of a field.
pub(crate) enum Form {
    Text,
    Number,
    Flag,
    Quantity,
    IntOrString,
    Selector,
    Metadata,
    Optional(&'static Form),
    List(&'static Form),
    Map(&'static Form),
    Struct(&'static [Field]),
}

/// A pod template on one line.
pub(crate) fn template(template: &Value) -> String {
    let mut template = template.clone();
    template.with("spec", move_host_fields);
    let mut out = Printer::new(None);
    out.object(POD_TEMPLATE_SPEC, &template, 0);
    out.text
}

/// The spec of a template on one line.
pub(crate) fn pod_spec(spec: &Value) -> String {
    print_pod_spec(spec, None)
}

/// Returns a unified diff of two pod specs.
pub(crate) fn pod_spec_diff(old: &Value, new: &Value) -> String {
    diff::unified(
        &print_pod_spec(old, Some(())),
        &print_pod_spec(new, Some(())),
    )
}

/// Returns a unified diff of two claim specs.
pub(crate) fn claim_spec_diff(old: &Value, new: &Value) -> String {
    let print = |spec: &Value| {
        let mut out = Printer::new(Some(()));
        out.object(PERSISTENT_VOLUME_CLAIM_SPEC, spec, 0);
        out.text
    };
    diff::unified(&print(old), &print(new))
}

/// Returns a unified diff of two ephemeral containers.
pub(crate) fn ephemeral_container_diff(old: &Value, new: &Value) -> String {
    let fields = POD_SPEC.iter().find(|f| f.json == "ephemeralContainers");
    let Some(Form::List(Form::Struct(fields))) = fields.map(|f| &f.form) else {
        return String::new();
    };
    let print = |container: &Value| {
        let mut out = Printer::new(Some(()));
        out.object(fields, container, 0);
        out.text
    };
    diff::unified(&print(old), &print(new))
}

fn print_pod_spec(spec: &Value, pretty: Option<()>) -> String {
    let mut spec = spec.clone();
    move_host_fields(&mut spec);
    let mut out = Printer::new(pretty);
    out.object(POD_SPEC, &spec, 0);
    out.text
}

/// The host's namespaces are part of the security context there.
fn move_host_fields(spec: &mut Value) {
    for name in [
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "shareProcessNamespace",
        "hostUsers",
    ] {
        let value = spec[name].clone();
        if value.is_set() {
            spec.field("securityContext").put(name, value);
        }
    }
}

/// Writes JSON, on one line or with an indent of one.
struct Printer {
    text: String,
    pretty: bool,
}

impl Printer {
    fn new(pretty: Option<()>) -> Self {
        Self {
            text: String::new(),
            pretty: pretty.is_some(),
        }
    }

    fn value(&mut self, form: &Form, value: &Value, depth: usize) {
        match form {
            Form::Optional(_) | Form::List(_) | Form::Map(_) | Form::Selector
                if !value.is_set() =>
            {
                self.text.push_str("null");
            }
            Form::Optional(form) => self.value(form, value, depth),
            Form::List(form) => {
                let items = value.items();
                self.sequence('[', ']', items.len(), depth, |out, i| {
                    out.value(form, &items[i], depth + 1);
                });
            }
            Form::Map(form) => {
                let entries = value.entries();
                self.sequence('{', '}', entries.len(), depth, |out, i| {
                    let (key, value) = entries[i];
                    out.name(key);
                    out.value(form, value, depth + 1);
                });
            }
            Form::Struct(fields) => self.object(fields, value, depth),
            Form::Selector | Form::Metadata => self.raw(value, depth),
            Form::Text => self.scalar(&json!(value.text())),
            Form::Number => self.scalar(&json!(value.int())),
            Form::Flag => self.scalar(&json!(value.flag())),
            Form::Quantity if !value.is_set() => self.text.push_str("\"0\""),
            Form::IntOrString if !value.is_set() => self.text.push('0'),
            Form::Quantity | Form::IntOrString => self.scalar(value),
        }
    }

    fn object(&mut self, fields: &[Field], value: &Value, depth: usize) {
        let metadata = json!({});
        let mut parts: Vec<(&str, Option<&Form>, &Value)> = Vec::new();
        for field in fields {
            let inner = &value[field.json];
            if field.name.is_empty() {
                let inner = if inner.is_object() { inner } else { &metadata };
                for key in METADATA.iter().filter(|key| !inner[**key].is_blank()) {
                    parts.push((key, None, &inner[*key]));
                }
            } else {
                parts.push((field.name, Some(&field.form), inner));
            }
        }
        self.sequence('{', '}', parts.len(), depth, |out, i| {
            let (name, form, value) = parts[i];
            out.name(name);
            match form {
                Some(form) => out.value(form, value, depth + 1),
                None => out.raw(value, depth + 1),
            }
        });
    }

    /// A versioned value; label selectors keep the order of their fields.
    fn raw(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(_) if !self.pretty => {
                let text = match value["matchExpressions"].is_array() {
                    true => go_json::selector(value),
                    false => value.to_string(),
                };
                self.text.push_str(&text);
            }
            Value::Object(_) => {
                let mut entries = value.entries();
                entries.sort_by_key(|(key, _)| (*key == "matchExpressions", *key));
                self.sequence('{', '}', entries.len(), depth, |out, i| {
                    out.name(entries[i].0);
                    out.raw(entries[i].1, depth + 1);
                });
            }
            Value::Array(items) => self.sequence('[', ']', items.len(), depth, |out, i| {
                out.raw(&items[i], depth + 1);
            }),
            other => self.scalar(other),
        }
    }

    fn name(&mut self, name: &str) {
        self.scalar(&json!(name));
        self.text.push_str(if self.pretty { ": " } else { ":" });
    }

    /// A scalar, with the characters escaped that Go escapes.
    fn scalar(&mut self, value: &Value) {
        let text = value.to_string();
        let text = text
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026");
        self.text.push_str(&text);
    }

    fn sequence(
        &mut self,
        open: char,
        close: char,
        count: usize,
        depth: usize,
        mut item: impl FnMut(&mut Self, usize),
    ) {
        self.text.push(open);
        for i in 0..count {
            if i > 0 {
                self.text.push(',');
            }
            self.line(depth + 1);
            item(self, i);
        }
        if count > 0 {
            self.line(depth);
        }
        self.text.push(close);
    }

    fn line(&mut self, depth: usize) {
        if self.pretty {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', depth));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_printed_under_its_go_name() {
        let spec =
            json!({"containers": [{"name": "c"}], "hostNetwork": true, "nodeSelector": {"a": "<"}});
        let text = pod_spec(&spec);
        assert!(text.starts_with(
            r#"{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"","#
        ));
        assert!(text.contains(r#""NodeSelector":{"a":"\u003c"}"#));
        assert!(text.contains(r#""SecurityContext":{"HostNetwork":true,"HostPID":false"#));
    }

    #[test]
    fn a_diff_shows_the_lines_around_a_change() {
        let old = json!({"containers": [], "hostname": "a"});
        let new = json!({"containers": [], "hostname": "b"});
        let text = pod_spec_diff(&old, &new);
        assert!(text.starts_with("@@ -"), "{text}");
        assert!(
            text.contains("\n- \"Hostname\": \"a\",\n+ \"Hostname\": \"b\",\n"),
            "{text}"
        );
    }
}
