//! The schemas of a document: those that its operations refer to, transitively.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use kubewright_catalog::{
    generated::{KINDS, OPTION_VERSIONS, UNIONS},
    types::{Field, ListType, PatchStrategy, StructType, Type},
};
use kubewright_machinery::gvk::GroupVersion;
use serde_json::value::RawValue;

use super::{
    Descriptions, custom,
    model::{Definition, Special},
    schema::{Alternative, AnySchema, Dialect, Kind, Properties, Schema},
};

/// Collects schemas.
pub(super) struct Definitions<'a> {
    dialect: Dialect,
    descriptions: &'a dyn Descriptions,
    /// The group and version of the document; `None` for all.
    home: Option<GroupVersion>,
    pending: Vec<Definition>,
    schemas: BTreeMap<String, AnySchema<'a>>,
}

impl<'a> Definitions<'a> {
    pub(super) fn new(
        dialect: Dialect,
        descriptions: &'a dyn Descriptions,
        home: Option<GroupVersion>,
    ) -> Self {
        Self {
            dialect,
            descriptions,
            home,
            pending: Vec::new(),
            schemas: BTreeMap::new(),
        }
    }

    /// Returns a reference to a definition, and adds it to the schemas.
    pub(super) fn refer(&mut self, definition: &Definition) -> String {
        let name = definition.name();
        if !self.schemas.contains_key(&*name) {
            self.pending.push(definition.clone());
        }
        self.dialect.reference(&name)
    }

    /// Returns every schema that was referred to.
    pub(super) fn finish(mut self) -> BTreeMap<String, AnySchema<'a>> {
        while let Some(definition) = self.pending.pop() {
            let name = definition.name().into_owned();
            if self.schemas.contains_key(&name) {
                continue;
            }
            let schema = match &definition {
                Definition::Struct(ty) => AnySchema::Known(Box::new(self.object(ty))),
                Definition::Special(special) => AnySchema::Known(Box::new(self.special(*special))),
                Definition::Custom(resource) => {
                    let schema = custom::object(resource, self.dialect, self.descriptions);
                    self.pending.extend(custom::mentioned());
                    AnySchema::Custom(schema)
                }
                Definition::CustomList(resource) => {
                    let schema = custom::list(resource, self.dialect, self.descriptions);
                    self.pending.extend(custom::mentioned_by_list());
                    self.pending.push(Definition::Custom(resource.clone()));
                    AnySchema::Custom(schema)
                }
            };
            self.schemas.insert(name, schema);
        }
        self.schemas
    }

    fn object(&mut self, ty: &'static StructType) -> Schema<'a> {
        Schema {
            description: self.describe(ty.openapi, ""),
            ty: "object",
            required: ty
                .fields
                .iter()
                .filter(|f| f.required)
                .map(|f| f.json)
                .collect(),
            properties: Properties::sorted(
                ty.fields
                    .iter()
                    .map(|f| (f.json, self.property(ty, f)))
                    .collect(),
            ),
            kinds: self.kinds(ty),
            map_type: if ty.atomic { "atomic" } else { "" },
            unions: UNIONS
                .binary_search_by(|(name, _)| (*name).cmp(ty.openapi))
                .ok()
                .and_then(|at| UNIONS.get(at))
                .and_then(|(_, json)| raw(json)),
            ..Schema::default()
        }
    }

    fn property(&mut self, ty: &'static StructType, field: &'static Field) -> Schema<'a> {
        let mut schema = self.value(&field.ty, field.values);
        schema.description = self.describe(ty.openapi, field.json);
        if self.dialect == Dialect::V3 {
            schema.default = field.default.and_then(raw);
        }
        if field.list_declared {
            (schema.list_type, schema.list_map_keys) = match field.list {
                ListType::Atomic => ("atomic", &[][..]),
                ListType::Set => ("set", &[][..]),
                ListType::Map(keys) => ("map", keys),
            };
        }
        schema.map_type = match (field.atomic, field.granular) {
            (true, _) => "atomic",
            (_, true) => "granular",
            _ => "",
        };
        let (strategy, key) = match field.patch {
            PatchStrategy::None => ("", None),
            PatchStrategy::Merge(key) => ("merge", key),
            PatchStrategy::Replace => ("replace", None),
            PatchStrategy::RetainKeys => ("retainKeys", None),
            PatchStrategy::MergeRetainKeys(key) => ("merge,retainKeys", key),
        };
        schema.patch_strategy = strategy;
        schema.patch_merge_key = key.unwrap_or_default();
        schema.around_reference(self.dialect)
    }

    fn value(&mut self, ty: &'static Type, values: &'static [&'static str]) -> Schema<'a> {
        let plain = |ty, format| Schema {
            ty,
            format,
            ..Schema::default()
        };
        let special = |special| Definition::Special(special);
        let definition = match ty {
            Type::Bool => return plain("boolean", ""),
            Type::Int32 => return plain("integer", "int32"),
            Type::Int64 | Type::Uint32 => return plain("integer", "int64"),
            Type::Float64 => return plain("number", "double"),
            Type::Bytes => return plain("string", "byte"),
            Type::String(_) => {
                return Schema {
                    values,
                    ..plain("string", "")
                };
            }
            Type::Optional(of) => return self.value(of, values),
            Type::List(of) => {
                return Schema {
                    items: Some(Box::new(self.item(of, values))),
                    ..plain("array", "")
                };
            }
            Type::StringsMessage(_) => {
                return Schema {
                    items: Some(Box::new(self.item(&Type::String("string"), values))),
                    ..plain("array", "")
                };
            }
            Type::Map(of) => {
                return Schema {
                    additional_properties: Some(Box::new(self.item(of, values))),
                    ..plain("object", "")
                };
            }
            Type::Struct(of) => Definition::Struct(of),
            Type::Quantity => special(Special::Quantity),
            Type::IntOrString => special(Special::IntOrString),
            Type::Time => special(Special::Time),
            Type::MicroTime => special(Special::MicroTime),
            Type::Duration => special(Special::Duration),
            Type::RawExtension => special(Special::RawExtension),
            Type::Json => special(Special::Json),
            Type::FieldsV1 => special(Special::FieldsV1),
            Type::SchemaOrArray(props) => {
                self.pending.push(Definition::Struct(props));
                special(Special::SchemaOrArray)
            }
            Type::SchemaOrBool(props) => {
                self.pending.push(Definition::Struct(props));
                special(Special::SchemaOrBool)
            }
            Type::SchemaOrStrings(props) => {
                self.pending.push(Definition::Struct(props));
                special(Special::SchemaOrStrings)
            }
        };
        Schema {
            reference: self.refer(&definition),
            ..Schema::default()
        }
    }

    /// Returns the schema of an item of a list or a map. A type that is not a pointer has its zero value as the default.
    fn item(&mut self, ty: &'static Type, values: &'static [&'static str]) -> Schema<'a> {
        let mut schema = self.value(ty, values);
        let zero = match ty {
            Type::Bool => Some("false"),
            Type::Int32 | Type::Int64 | Type::Uint32 | Type::Float64 => Some("0"),
            Type::String(_) => Some("\"\""),
            Type::Struct(_) => Some("{}"),
            _ => None,
        };
        if self.dialect == Dialect::V3 {
            schema.default = zero.and_then(raw);
        }
        schema.around_reference(self.dialect)
    }

    fn special(&self, special: Special) -> Schema<'a> {
        const STRING: Alternative = Alternative { ty: "string" };
        const NUMBER: Alternative = Alternative { ty: "number" };
        const INTEGER: Alternative = Alternative { ty: "integer" };
        let v3 = self.dialect == Dialect::V3;
        let (ty, format, one_of): (_, _, &[Alternative]) = match special {
            Special::Time | Special::MicroTime => ("string", "date-time", &[]),
            Special::Duration => ("string", "", &[]),
            Special::FieldsV1 | Special::Patch | Special::RawExtension => ("object", "", &[]),
            Special::Quantity if v3 => ("", "", &[STRING, NUMBER]),
            Special::Quantity => ("string", "", &[]),
            Special::IntOrString if v3 => ("", "int-or-string", &[INTEGER, STRING]),
            Special::IntOrString => ("string", "int-or-string", &[]),
            Special::Json
            | Special::SchemaOrArray
            | Special::SchemaOrBool
            | Special::SchemaOrStrings => ("", "", &[]),
        };
        Schema {
            description: self.describe(special.name(), ""),
            ty,
            format,
            one_of,
            ..Schema::default()
        }
    }

    fn describe(&self, ty: &str, field: &str) -> &'a str {
        self.descriptions.describe(ty, field).unwrap_or_default()
    }

    /// Returns the kinds of a struct. Options and events are served in every group version; the document of a built-in group
    /// version lists that one and the core, any other document all that clients know.
    fn kinds(&self, ty: &StructType) -> Vec<Kind<'a>> {
        let everywhere = ["DeleteOptions", "WatchEvent"]
            .into_iter()
            .find(|name| ty.name == *name && ty.openapi.contains(".pkg.apis.meta."));
        let Some(kind) = everywhere else {
            return KINDS_OF.get(ty.openapi).cloned().unwrap_or_default();
        };
        let is = |home: &GroupVersion, pair: &(&str, &str)| {
            *pair == (home.group.as_str(), home.version.as_str())
        };
        let built_in = |home: &GroupVersion| OPTION_VERSIONS.iter().any(|pair| is(home, pair));
        let known = OPTION_VERSIONS.iter().filter(|pair| match &self.home {
            None => true,
            Some(home) if built_in(home) => **pair == ("", "v1") || is(home, pair),
            Some(_) => !NOT_FOR_CLIENTS.contains(&pair.0),
        });
        known
            .map(|(group, version)| Kind {
                group,
                kind,
                version,
            })
            .collect()
    }
}

/// The groups without Go client types: kube-apiserver describes custom resources with the scheme of the client.
const NOT_FOR_CLIENTS: [&str; 4] = [
    "admission.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "imagepolicy.k8s.io",
];

/// Returns the kinds of each struct.
static KINDS_OF: LazyLock<HashMap<&'static str, Vec<Kind<'static>>>> = LazyLock::new(|| {
    let mut kinds: HashMap<_, Vec<_>> = HashMap::new();
    for (group, version, kind, ty) in KINDS {
        kinds.entry(ty.openapi).or_default().push(Kind {
            group,
            kind,
            version,
        });
    }
    kinds
});

fn raw(json: &'static str) -> Option<&'static RawValue> {
    serde_json::from_str(json).ok()
}
