//! [`Node`]: a schema under construction, used by the code that `#[derive(Schema)]` generates.
//!
//! Schemas of foreign types are normalized to the form of Kubernetes first (`normal`), so that a finished node is always
//! structural.

mod normal;

use kubewright_cel::escape;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

pub(crate) use normal::{normalize, structural};

/// The pattern of quantities.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Marks a schema that was built here: it is already in the form of Kubernetes and must not be normalized again.
pub(crate) const MADE: &str = "x-kubewright-made";

/// The positions in the source of the attributes of a field, or of a rule.
pub(crate) const AT: &str = "x-kubewright-at";

/// The number of a field in protobuf, which `#[schema(protobuf = 3)]` sets.
pub(crate) const PROTOBUF: &str = "x-kubewright-protobuf";

/// The keywords that kube rewrites because it takes them for Rust enums, and the names that hide them from kube.
pub(crate) const ALTERNATIVES: [(&str, &str); 2] = [
    ("anyOf", "x-kubewright-any-of"),
    ("oneOf", "x-kubewright-one-of"),
];

/// A schema under construction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node(Map<String, Value>);

impl Node {
    /// Returns a schema without keywords.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Returns the schema of an object without fields.
    pub fn object() -> Self {
        Self::empty().set("type", json!("object"))
    }

    /// Returns the schema of a type; that of a foreign type is normalized.
    pub fn of<T: JsonSchema + ?Sized>(generator: &mut SchemaGenerator) -> Self {
        let mut schema = generator.subschema_for::<T>();
        if schema.get(MADE).is_none() {
            structural(&mut schema);
        }
        Self::from_value(schema.to_value())
    }

    /// Wraps an existing schema.
    pub fn from_value(mut value: Value) -> Self {
        normalize(&mut value);
        match value {
            Value::Object(mut fields) => {
                fields.remove(MADE);
                Self(fields)
            }
            _ => Self::empty(),
        }
    }

    /// Returns the schema of a list.
    pub fn list(items: Node) -> Self {
        Self::empty()
            .set("type", json!("array"))
            .set("items", Value::Object(items.0))
    }

    /// Returns the schema of a list without duplicates.
    pub fn set_of(items: Node) -> Self {
        Self::list(items).set("x-kubernetes-list-type", json!("set"))
    }

    /// Returns the schema of a map with string keys.
    pub fn map(values: Node) -> Self {
        let values = match values.0.is_empty() {
            true => json!(true),
            false => Value::Object(values.0),
        };
        Self::object().set("additionalProperties", values)
    }

    /// Returns the schema of an internally tagged enum, given its variants by name.
    pub fn tagged(tag: &str, variants: Vec<(&str, Node)>) -> Self {
        let names: Vec<&str> = variants.iter().map(|(name, _)| *name).collect();
        let mut object = Self::object();
        let kind = Self::empty().set("type", json!("string"));
        object.property(tag, kind.set("enum", json!(names)), true, false);
        for (name, node) in variants {
            let required = node.required();
            object.flatten(node, true);
            let Some(tag) = escape(tag).filter(|_| !required.is_empty()) else {
                continue;
            };
            let present: Vec<String> = required.iter().filter_map(|field| has(field)).collect();
            let rule = format!(
                "self.{tag} != {} || {}",
                cel_text(name),
                present.join(" && ")
            );
            let message = format!("{tag} {name} needs {}", required.join(", "));
            object = object.rule(json!({
                "rule": rule,
                "message": message,
            }));
        }
        object
    }

    /// Sets a keyword. `false` and `null` remove it.
    #[must_use]
    pub fn set(mut self, key: &str, value: Value) -> Self {
        match value {
            Value::Bool(false) | Value::Null => drop(self.0.remove(key)),
            value => self.insert(key, value),
        };
        self
    }

    /// Sets a keyword to any value. `null` removes it.
    #[must_use]
    pub fn extend(mut self, key: &str, value: Value) -> Self {
        match value {
            Value::Null => drop(self.0.remove(key)),
            value => self.insert(key, value),
        };
        self
    }

    /// Adds a CEL rule.
    #[must_use]
    pub fn rule(mut self, rule: Value) -> Self {
        let rules = self
            .0
            .entry("x-kubernetes-validations")
            .or_insert(json!([]));
        if let Value::Array(rules) = rules {
            rules.push(rule);
        }
        self
    }

    /// Records the positions in the source of the attributes of a field, and of its default.
    #[must_use]
    pub fn at(mut self, attributes: &str, default: &str) -> Self {
        let positions = json!({"attributes": attributes, "default": default});
        self.0.insert(AT.to_owned(), positions);
        self
    }

    /// Makes this an int-or-string.
    #[must_use]
    pub fn int_or_string(mut self) -> Self {
        for key in ["type", "format", "oneOf"] {
            self.0.remove(key);
        }
        self.set("x-kubernetes-int-or-string", json!(true))
    }

    /// Makes this a quantity, such as `1500m`.
    #[must_use]
    pub fn quantity(self) -> Self {
        self.int_or_string().set("pattern", json!(QUANTITY))
    }

    /// Returns the schema of bytes in base64.
    pub fn bytes() -> Self {
        Self::empty()
            .set("type", json!("string"))
            .set("format", json!("byte"))
    }

    /// Makes this an embedded object with its own apiVersion, kind and metadata.
    #[must_use]
    pub fn embedded_resource(self) -> Self {
        self.set("type", json!("object"))
            .set("x-kubernetes-embedded-resource", json!(true))
    }

    /// Sets the default. `null` sets none.
    #[must_use]
    pub fn default_value(self, value: Value) -> Self {
        match value {
            Value::Null => self,
            // `set` would drop `false`.
            value => {
                let mut this = self;
                this.0.insert("default".into(), value);
                this
            }
        }
    }

    /// Sets the default to null: no default to the server, but keys of list maps must have one.
    #[must_use]
    pub fn null_default(mut self) -> Self {
        self.0.insert("default".into(), Value::Null);
        self
    }

    /// Changes the schema of the items of a list.
    #[must_use]
    pub fn items(self, change: impl FnOnce(Node) -> Node) -> Self {
        self.below("items", change)
    }

    /// Changes the schema of the values of a map.
    #[must_use]
    pub fn values(self, change: impl FnOnce(Node) -> Node) -> Self {
        self.below("additionalProperties", change)
    }

    /// Adds the rule that exactly one of these fields is set.
    #[must_use]
    pub fn exactly_one_of(self, names: &[&str]) -> Self {
        self.count(names, "== 1", "exactly one", "must")
    }

    /// Adds the rule that at most one of these fields is set.
    #[must_use]
    pub fn at_most_one_of(self, names: &[&str]) -> Self {
        self.count(names, "<= 1", "at most one", "may")
    }

    /// Adds the rule that at least one of these fields is set.
    #[must_use]
    pub fn at_least_one_of(self, names: &[&str]) -> Self {
        self.count(names, ">= 1", "at least one", "must")
    }

    /// Adds a field.
    pub fn property(&mut self, name: &str, mut node: Node, required: bool, immutable: bool) {
        if immutable {
            node = node.rule(json!({"rule": "self == oldSelf", "message": "field is immutable"}));
        }
        if node.0.contains_key("x-kubernetes-int-or-string") {
            // kube would make it nullable otherwise; the finished CRD drops the keyword.
            node.0.entry("nullable").or_insert(json!(false));
        }
        self.add_fields([(name.to_owned(), Value::Object(node.0))]);
        if required {
            self.require(name);
        }
        let Some(ident) = escape(name).filter(|_| immutable && !required) else {
            return;
        };
        // Otherwise an optional field could be removed and then set to another value.
        *self = std::mem::take(self).rule(json!({
            "rule": format!("!has(oldSelf.{ident}) || has(self.{ident})"),
            "message": format!("field {name} is immutable once set"),
        }));
    }

    /// Adds the fields of another object. With `optional` none of them is required.
    pub fn flatten(&mut self, node: Node, optional: bool) {
        let Node(mut other) = node;
        if let Some(Value::Object(fields)) = other.remove("properties") {
            self.add_fields(fields);
        }
        if let (Some(Value::Array(names)), false) = (other.remove("required"), optional) {
            for name in names.iter().filter_map(Value::as_str) {
                self.require(name);
            }
        }
        if let Some(Value::Array(rules)) = other.remove("x-kubernetes-validations") {
            for rule in rules {
                *self = std::mem::take(self).rule(rule);
            }
        }
        let open = [
            "additionalProperties",
            "x-kubernetes-preserve-unknown-fields",
        ];
        if open.iter().any(|key| other.contains_key(*key)) {
            *self = std::mem::take(self).set("x-kubernetes-preserve-unknown-fields", json!(true));
        }
    }

    /// Returns the finished schema.
    pub fn into_schema(mut self) -> Schema {
        self.0.insert(MADE.to_owned(), json!(true));
        Schema::from(self.0)
    }

    /// Returns the finished schema as JSON.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Hides alternatives from kube, and keeps them under their real name only if kube would not rewrite them.
    fn insert(&mut self, key: &str, value: Value) {
        let hidden = ALTERNATIVES.iter().find(|(name, _)| *name == key);
        if let Some((_, hidden)) = hidden {
            self.0.insert((*hidden).to_owned(), value.clone());
            if !kube_leaves_alone(&value) {
                return;
            }
        }
        self.0.insert(key.to_owned(), value);
    }

    fn below(mut self, key: &str, change: impl FnOnce(Node) -> Node) -> Self {
        let inner = match self.0.remove(key) {
            Some(Value::Object(fields)) => Self(fields),
            _ => Self::empty(),
        };
        let changed = change(inner);
        self.0.insert(key.to_owned(), Value::Object(changed.0));
        self
    }

    fn add_fields(&mut self, added: impl IntoIterator<Item = (String, Value)>) {
        let fields = self.0.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(fields) = fields {
            fields.extend(added);
        }
    }

    fn require(&mut self, name: &str) {
        let required = self.0.entry("required").or_insert(json!([]));
        if let Value::Array(names) = required
            && !names.iter().any(|n| n == name)
        {
            names.push(json!(name));
            names.sort_unstable_by(|a, b| a.as_str().cmp(&b.as_str()));
        }
    }

    fn required(&self) -> Vec<String> {
        let names = self.0.get("required").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    fn count(self, names: &[&str], limit: &str, how_many: &str, verb: &str) -> Self {
        let present: Vec<String> = names.iter().filter_map(|name| has(name)).collect();
        let rule = format!("[{}].filter(x,x==true).size() {limit}", present.join(","));
        let message = format!(
            "{how_many} of the fields in [{}] {verb} be set",
            names.join(" ")
        );
        self.rule(json!({"rule": rule, "message": message}))
    }
}

/// Reports whether kube leaves alternatives unchanged, because they have neither types nor fields.
fn kube_leaves_alone(branches: &Value) -> bool {
    const REWRITTEN: [&str; 6] = [
        "properties",
        "type",
        "enum",
        "description",
        "default",
        "additionalProperties",
    ];
    let below = |branch: &Value| {
        let inner = ["anyOf", "oneOf", "allOf"].into_iter();
        inner
            .filter_map(|key| branch.get(key))
            .all(kube_leaves_alone)
    };
    branches
        .as_array()
        .into_iter()
        .flatten()
        .all(|branch| !REWRITTEN.iter().any(|key| branch.get(key).is_some()) && below(branch))
}

/// Returns the CEL expression that tests whether a field is set.
fn has(field: &str) -> Option<String> {
    escape(field).map(|ident| format!("has(self.{ident})"))
}

/// Returns a CEL string literal.
fn cel_text(text: &str) -> String {
    let escaped = text.replace('\\', r"\\").replace('\'', r"\'");
    format!("'{escaped}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_flattened_object_join_those_of_the_outer() {
        let mut inner = Node::object();
        inner.property("a", Node::empty(), true, false);
        inner.property("b", Node::empty(), false, false);
        let mut outer = Node::object();
        outer.flatten(inner.clone(), false);
        assert_eq!(outer.required(), ["a"]);
        let mut outer = Node::object();
        outer.flatten(inner, true);
        assert_eq!(
            outer.into_value(),
            json!({"type": "object", "properties": {"a": {}, "b": {}}})
        );
    }

    #[test]
    fn a_flattened_map_allows_any_field() {
        let mut outer = Node::object();
        outer.property("a", Node::empty(), false, false);
        let map = Node::object().set("additionalProperties", json!({"type": "string"}));
        outer.flatten(map, false);
        let value = outer.into_value();
        assert_eq!(value["x-kubernetes-preserve-unknown-fields"], true);
        assert!(value.get("additionalProperties").is_none());
    }

    #[test]
    fn a_default_of_false_stays() {
        let node = Node::empty().default_value(json!(false));
        assert_eq!(node.into_value(), json!({"default": false}));
    }

    #[test]
    fn names_that_cel_reserves_are_escaped_in_rules() {
        let mut object = Node::object();
        object.property("namespace", Node::empty(), false, true);
        let value = object.into_value();
        assert_eq!(
            value["x-kubernetes-validations"][0]["rule"],
            "!has(oldSelf.__namespace__) || has(self.__namespace__)"
        );
    }
}
