//! A position in an OpenAPI document, and the path from there to its fields.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Named;

/// The maximum depth of references, lists and maps.
const DEEPEST: usize = 64;

/// A schema in a document.
#[derive(Clone, Copy)]
pub(super) struct Schema<'a> {
    document: &'a Value,
    pub(super) value: &'a Value,
}

impl<'a> Schema<'a> {
    /// Returns the schema of a kind.
    pub(super) fn of_kind(document: &'a Value, kind: &Named) -> Option<Self> {
        let schemas = document.pointer("/components/schemas")?.as_object()?;
        let is = |known: &Value| {
            known["group"] == kind.group.as_str()
                && known["version"] == kind.version.as_str()
                && known["kind"] == kind.kind.as_str()
        };
        let value = schemas.values().find(|schema| {
            let kinds = schema.get("x-kubernetes-group-version-kind");
            let kinds = kinds.and_then(Value::as_array);
            kinds.is_some_and(|kinds| kinds.iter().any(is))
        })?;
        Some(Self { document, value })
    }

    /// Returns the schema at the end of a path of fields, or the first field that does not exist.
    pub(super) fn find(self, fields: &[String]) -> Result<Self, String> {
        let mut at = self;
        for field in fields {
            at = at.field(field, 0).ok_or_else(|| field.clone())?;
        }
        Ok(at)
    }

    /// Returns a field of the schema, or of the items of its lists and maps.
    fn field(self, name: &str, depth: usize) -> Option<Self> {
        if depth > DEEPEST {
            return None;
        }
        let resolved = self.resolved();
        if let Some(value) = resolved.value.get("properties").and_then(|it| it.get(name)) {
            return Some(self.at(value));
        }
        resolved
            .inner()
            .into_iter()
            .find_map(|inner| inner.field(name, depth + 1))
    }

    /// Resolves a reference.
    pub(super) fn resolved(self) -> Self {
        let reference = self.reference();
        let name = reference.and_then(|it| it.strip_prefix("#/components/schemas/"));
        let schemas = self.document.pointer("/components/schemas");
        let found = name.and_then(|name| schemas?.get(name));
        found.map_or(self, |value| self.at(value))
    }

    pub(super) fn reference(self) -> Option<&'a str> {
        self.value.get("$ref")?.as_str()
    }

    /// Returns the schemas that contribute the fields: the items of a list or map, and the parts of `allOf`.
    pub(super) fn inner(self) -> Vec<Self> {
        let all = self.value.get("allOf").and_then(Value::as_array);
        let all = all.into_iter().flatten();
        let items = self.value.get("items").into_iter();
        let more = self.values_of_map().into_iter();
        all.chain(items).chain(more).map(|it| self.at(it)).collect()
    }

    fn values_of_map(self) -> Option<&'a Value> {
        let values = self.value.get("additionalProperties");
        values.filter(|values| values.is_object())
    }

    /// Returns the schema's own fields.
    pub(super) fn properties(self) -> Option<&'a Map<String, Value>> {
        self.value.get("properties")?.as_object()
    }

    pub(super) fn requires(self, field: &str) -> bool {
        let required = self.value.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|name| name == field))
    }

    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        self.value
            .get(key)?
            .as_str()
            .filter(|text| !text.is_empty())
    }

    pub(super) fn enumerated(self) -> Option<Vec<String>> {
        let values = self.value.get("enum")?.as_array()?;
        let words = values.iter().map(|value| match value.as_str() {
            Some("") => "\"\"".to_owned(),
            Some(text) => text.to_owned(),
            None => value.to_string(),
        });
        Some(words.collect())
    }

    /// Collects the descriptions of the schema and of those that it refers to.
    pub(super) fn description(self) -> String {
        let mut text = String::new();
        self.describe(0, &mut text);
        text
    }

    fn describe(self, depth: usize, text: &mut String) {
        if depth > DEEPEST {
            return;
        }
        let resolved = self.resolved();
        if let Some(words) = resolved.text("description") {
            *text += words;
            text.push('\n');
        }
        for inner in resolved.inner() {
            inner.describe(depth + 1, text);
        }
    }

    /// Formats the type: `string`, `[]ContainerPort`, `map[string]string`.
    pub(super) fn type_words(self) -> String {
        self.type_at(0)
    }

    fn type_at(self, depth: usize) -> String {
        if depth > DEEPEST {
            return "Object".to_owned();
        }
        let inner = |value: &'a Value| self.at(value).type_at(depth + 1);
        let all = self.value.get("allOf").and_then(Value::as_array);
        if let Some(items) = self.value.get("items") {
            return format!("[]{}", inner(items));
        }
        if let Some(values) = self.values_of_map() {
            return format!("map[string]{}", inner(values));
        }
        if let Some([only]) = all.map(Vec::as_slice)
            && self.properties().is_none()
        {
            return inner(only);
        }
        let plain = |schema: Self| match schema.text("type") {
            Some("object") | None => "Object".to_owned(),
            Some(other) => other.to_owned(),
        };
        match self.reference() {
            Some(reference) => match self.resolved().text("type") {
                Some("object") | None => {
                    let name = reference.rsplit(['/', '.']).next();
                    name.unwrap_or("Object").to_owned()
                }
                Some(other) => other.to_owned(),
            },
            None => plain(self),
        }
    }

    /// Calls `visit` for each field with its depth, recursively if wanted. Cycles are cut.
    pub(super) fn each_field(
        self,
        recursive: bool,
        visit: &mut impl FnMut(usize, &str, Schema<'a>, bool),
    ) {
        self.walk(recursive, 1, &mut HashSet::new(), visit);
    }

    fn walk(
        self,
        recursive: bool,
        level: usize,
        seen: &mut HashSet<&'a str>,
        visit: &mut impl FnMut(usize, &str, Schema<'a>, bool),
    ) {
        if level > DEEPEST {
            return;
        }
        let reference = self.reference();
        if reference.is_some_and(|reference| !seen.insert(reference)) {
            return;
        }
        let resolved = self.resolved();
        for (name, value) in resolved.properties().into_iter().flatten() {
            let field = self.at(value);
            visit(level, name, field, resolved.requires(name));
            if recursive {
                field.walk(recursive, level + 1, seen, visit);
            }
        }
        for inner in resolved.inner() {
            inner.walk(recursive, level, seen, visit);
        }
        if let Some(reference) = reference {
            seen.remove(reference);
        }
    }

    fn at(self, value: &'a Value) -> Self {
        Self {
            document: self.document,
            value,
        }
    }
}
