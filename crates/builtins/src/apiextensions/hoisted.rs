//! Hoists fields that all versions of a spec share, as the internal form of the server does.
//!
//! Error messages show it: the schema of a CustomResourceDefinition with one version is called `spec.validation`.

use serde_json::Value;

use crate::json::Read;

/// The fields that a version may have itself or share with the others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Schema,
    Subresources,
    Columns,
    SelectableFields,
}

/// Returns a spec with the fields that all versions share hoisted.
pub(super) struct Hoisted<'a> {
    pub(super) spec: &'a Value,
    shared: [bool; 4],
}

impl Part {
    const ALL: [Part; 4] = [
        Part::Schema,
        Part::Subresources,
        Part::Columns,
        Part::SelectableFields,
    ];

    pub(super) fn key(self) -> &'static str {
        match self {
            Part::Schema => "schema",
            Part::Subresources => "subresources",
            Part::Columns => "additionalPrinterColumns",
            Part::SelectableFields => "selectableFields",
        }
    }
}

impl<'a> Hoisted<'a> {
    pub(super) fn of(spec: &'a Value) -> Self {
        let versions = spec["versions"].items();
        let shared = Part::ALL.map(|part| {
            versions.windows(2).all(|pair| match pair {
                [a, b] => a[part.key()] == b[part.key()],
                _ => true,
            })
        });
        Self { spec, shared }
    }

    pub(super) fn versions(&self) -> &'a [Value] {
        self.spec["versions"].items()
    }

    /// All versions share the value.
    pub(super) fn is_shared(&self, part: Part) -> bool {
        self.shared[part as usize]
    }

    /// Returns the value that all versions share; `null` if they differ.
    pub(super) fn shared(&self, part: Part) -> &'a Value {
        const NOTHING: &Value = &Value::Null;
        match self.versions().first() {
            Some(first) if self.is_shared(part) => &first[part.key()],
            _ => NOTHING,
        }
    }

    /// Returns the value of one version; `null` if all versions share it.
    pub(super) fn own<'b>(&self, version: &'b Value, part: Part) -> &'b Value {
        const NOTHING: &Value = &Value::Null;
        if self.is_shared(part) {
            NOTHING
        } else {
            &version[part.key()]
        }
    }

    /// Returns all schemas, each once.
    pub(super) fn schemas(&self) -> impl Iterator<Item = &'a Value> {
        let all: &[Value] = self.versions();
        let count = if self.is_shared(Part::Schema) {
            1
        } else {
            all.len()
        };
        let schemas = all
            .iter()
            .take(count)
            .map(|v| &v["schema"]["openAPIV3Schema"]);
        schemas.filter(|schema| schema.is_set())
    }
}
