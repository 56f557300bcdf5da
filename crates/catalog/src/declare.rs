//! Constant constructors for the generated tables, which keep a row on one line.

use crate::types::{Field, ListType, Omit, PatchStrategy, StructType, Type};

/// A struct type.
pub(crate) const fn object(
    name: &'static str,
    openapi: &'static str,
    fields: &'static [Field],
) -> StructType {
    StructType {
        name,
        openapi,
        fields,
        atomic: false,
    }
}

/// A struct type that is one value for managed fields.
pub(crate) const fn atomic_object(
    name: &'static str,
    openapi: &'static str,
    fields: &'static [Field],
) -> StructType {
    StructType {
        name,
        openapi,
        fields,
        atomic: true,
    }
}

/// A field that says nothing beyond its name, type and encoding.
pub(crate) const fn field(json: &'static str, ty: Type, omit: Omit, proto: u16) -> Field {
    Field {
        json,
        ty,
        omit,
        proto,
        embedded: &[],
        list: ListType::Atomic,
        list_declared: false,
        atomic: false,
        granular: false,
        patch: PatchStrategy::None,
        default: None,
        required: false,
        values: &[],
    }
}

impl Field {
    /// Marks a field that is part of an embedded message in protobuf.
    pub(crate) const fn within(mut self, numbers: &'static [u16]) -> Self {
        self.embedded = numbers;
        self
    }

    const fn list(mut self, list: ListType) -> Self {
        self.list = list;
        self.list_declared = true;
        self
    }

    /// A list declared to be one value.
    pub(crate) const fn atomic_list(self) -> Self {
        self.list(ListType::Atomic)
    }

    /// A list that is a set.
    pub(crate) const fn set(self) -> Self {
        self.list(ListType::Set)
    }

    /// A list that is a map by these keys.
    pub(crate) const fn keyed(self, keys: &'static [&'static str]) -> Self {
        self.list(ListType::Map(keys))
    }

    /// A map or struct that is one value.
    pub(crate) const fn atomic(mut self) -> Self {
        self.atomic = true;
        self
    }

    /// A map or struct that merges field by field, regardless of its type.
    pub(crate) const fn granular(mut self) -> Self {
        self.granular = true;
        self
    }

    const fn patch(mut self, patch: PatchStrategy) -> Self {
        self.patch = patch;
        self
    }

    /// Marks a field that merges in a strategic merge patch.
    pub(crate) const fn merge(self, key: Option<&'static str>) -> Self {
        self.patch(PatchStrategy::Merge(key))
    }

    /// Marks a field that a strategic merge patch replaces.
    pub(crate) const fn replace(self) -> Self {
        self.patch(PatchStrategy::Replace)
    }

    /// Marks a field whose keys a strategic merge patch retains.
    pub(crate) const fn retain_keys(self) -> Self {
        self.patch(PatchStrategy::RetainKeys)
    }

    /// Marks a field that merges, with items that retain keys.
    pub(crate) const fn merge_retain_keys(self, key: Option<&'static str>) -> Self {
        self.patch(PatchStrategy::MergeRetainKeys(key))
    }

    /// Sets the published default.
    pub(crate) const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }

    /// Marks a field as required.
    pub(crate) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Sets the list of values.
    pub(crate) const fn values(mut self, values: &'static [&'static str]) -> Self {
        self.values = values;
        self
    }
}
