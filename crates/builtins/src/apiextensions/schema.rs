//! Validates the schemas of a CustomResourceDefinition: what OpenAPI allows and the server does not.

use kubewright_machinery::field::{self, ErrorList, Path};
use kubewright_schema::structural::{Structural, check_structural};
use serde_json::{Value, json};

use super::{
    defaults::validate_defaults,
    extensions, print,
    rules::{Context, Costs, check_rules},
};
use crate::json::Read;

/// The fields that are allowed at the root of a schema with a status subresource.
const AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The exceptions for a stored CustomResourceDefinition.
#[derive(Clone)]
pub(super) struct Options<'a> {
    /// `true` if rules may exceed their cost limit, because they did before.
    any_cost: bool,
    types: bool,
    structural: bool,
    pruned_defaults: bool,
    atomic_sets: bool,
    sound_keys: bool,
    /// The versions that were stored.
    old: Option<&'a Value>,
}

impl<'a> Options<'a> {
    /// Creates the options for an update: strict, except for what the stored object has already.
    pub(super) fn for_update(old: Option<&'a Value>) -> Self {
        let has = |wrong: &dyn Fn(&Value) -> bool| {
            let versions = old
                .map(|old| old["spec"]["versions"].items())
                .unwrap_or_default();
            let schemas = versions.iter().map(|v| &v["schema"]["openAPIV3Schema"]);
            schemas.filter(|s| s.is_set()).any(wrong)
        };
        let anywhere =
            |wrong: fn(&Value) -> bool| has(&|schema| any_schema(schema, &mut |s| wrong(s)));
        Self {
            types: !anywhere(|s| {
                !s["type"].text().is_empty() && !TYPES.contains(&s["type"].text())
            }),
            structural: !has(&|schema| {
                Structural::compile(schema).is_err()
                    || !check_structural(schema, &Path::root()).is_empty()
            }),
            pruned_defaults: true,
            atomic_sets: !anywhere(extensions::is_set_of_parts),
            sound_keys: !anywhere(|s| {
                let mut errors = ErrorList::new();
                extensions::check_keys(s, &Path::root(), &mut errors);
                !errors.is_empty()
            }),
            any_cost: false,
            old,
        }
    }

    /// Creates the options for one version. The cost of unchanged rules is not checked again.
    pub(super) fn of_version(&self, version: &Value) -> Self {
        let versions = self
            .old
            .map(|old| old["spec"]["versions"].items())
            .unwrap_or_default();
        let before = versions.iter().find(|v| v["name"] == version["name"]);
        let unchanged = before.is_some_and(|before| before["schema"] == version["schema"]);
        Self {
            any_cost: unchanged,
            ..self.clone()
        }
    }
}

/// Validates `schema` of a version, or of all versions.
pub(super) fn validate(
    validation: &Value,
    has_status: bool,
    options: &Options<'_>,
    path: &Path,
    errors: &mut ErrorList,
) {
    let schema = &validation["openAPIV3Schema"];
    if !schema.is_set() {
        return;
    }
    let path = path.child("openAPIV3Schema");
    let before = errors.len();
    if has_status {
        check_root(schema, &path, errors);
    }
    if schema["nullable"].flag() {
        let path = Path::new(&format!("{path}.nullable"));
        errors.push(field::forbidden(
            &path,
            "nullable cannot be true at the root",
        ));
    }
    let mut uncompiled = None;
    let mut sound = None;
    match Structural::compile(schema) {
        Err(e) => uncompiled = Some(field::invalid_str(&path, "", e.to_string())),
        Ok(compiled) => {
            let mut found = if options.structural {
                check_structural(schema, &path)
            } else {
                ErrorList::new()
            };
            if found.is_empty() {
                found = validate_defaults(&compiled, options.pruned_defaults, &path);
            }
            if found.is_empty() {
                sound = Some(compiled);
            }
            errors.extend(found);
        }
    }
    let mut walk = Walk {
        options,
        schema_errors: ErrorList::new(),
        rule_errors: ErrorList::new(),
        costs: Costs::default(),
    };
    let context = sound.as_ref().map(Context::root);
    walk.node(schema, &path, &Position::root(), context.as_ref());
    errors.extend(walk.schema_errors);
    errors.extend(walk.rule_errors);
    if errors.len() == before {
        errors.extend(uncompiled);
    }
    walk.costs.validate(&path, errors);
}

/// Reports whether a predicate holds for a schema or one of its nodes.
pub(super) fn any_schema(schema: &Value, holds: &mut dyn FnMut(&Value) -> bool) -> bool {
    if !schema.is_object() {
        return false;
    }
    if holds(schema) {
        return true;
    }
    let lists = ["allOf", "anyOf", "oneOf"];
    let maps = [
        "properties",
        "patternProperties",
        "definitions",
        "dependencies",
    ];
    let single = ["items", "not", "additionalProperties", "additionalItems"];
    single.iter().any(|key| any_schema(&schema[*key], holds))
        || lists
            .iter()
            .any(|key| schema[*key].items().iter().any(|s| any_schema(s, holds)))
        || schema["items"].items().iter().any(|s| any_schema(s, holds))
        || maps.iter().any(|key| {
            let entries = schema[*key].as_object().into_iter().flatten();
            entries.into_iter().any(|(_, s)| any_schema(s, holds))
        })
}

fn check_root(schema: &Value, path: &Path, errors: &mut ErrorList) {
    for (name, key) in print::schema_fields() {
        if schema[key].is_blank() && !matches!(schema[key], Value::Number(_)) {
            continue;
        }
        if name == "Type" {
            if schema["type"].text() != "object" {
                let message = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
                let path = Path::new(&format!("{path}.type"));
                errors.push(field::invalid_str(&path, schema["type"].text(), message));
                return;
            }
        } else if !AT_ROOT.contains(&name) {
            let message = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                AT_ROOT.join(" ")
            );
            errors.push(field::invalid_raw(path, print::schema(schema), message));
            return;
        }
    }
}

/// The position of the walk in a schema.
#[derive(Clone)]
struct Position<'a> {
    is_root: bool,
    in_metadata: bool,
    /// The reason why a default is not allowed here.
    no_default: Option<String>,
    /// The outermost node that cannot be correlated between two revisions.
    uncorrelated: Option<&'a Path>,
}

impl Position<'_> {
    fn root() -> Self {
        Self {
            is_root: true,
            in_metadata: false,
            no_default: None,
            uncorrelated: None,
        }
    }
}

struct Walk<'a> {
    options: &'a Options<'a>,
    schema_errors: ErrorList,
    rule_errors: ErrorList,
    costs: Costs,
}

impl Walk<'_> {
    fn node(
        &mut self,
        schema: &Value,
        path: &Path,
        position: &Position<'_>,
        context: Option<&Context<'_>>,
    ) {
        if !schema.is_object() {
            return;
        }
        let before = self.schema_errors.len();
        self.check_openapi(schema, path, position);
        if schema["uniqueItems"].flag() {
            let message =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(&path.child("uniqueItems"), message);
        }
        let inside = Position {
            is_root: false,
            ..position.clone()
        };
        self.additional_properties(schema, path, &inside, context);
        self.properties(schema, path, position, &inside, context);
        self.node(&schema["not"], &path.child("not"), &inside, None);
        for key in ["allOf", "oneOf", "anyOf"] {
            for (i, nested) in schema[key].items().iter().enumerate() {
                self.node(nested, &path.child(key).index(i), &inside, None);
            }
        }
        for (name, nested) in schema["definitions"].entries() {
            self.node(nested, &path.child("definitions").key(name), &inside, None);
        }
        self.items(schema, path, &inside, context);
        for (name, nested) in schema["dependencies"].entries() {
            self.node(nested, &path.child("dependencies").key(name), &inside, None);
        }
        extensions::check(
            schema,
            self.options.atomic_sets,
            path,
            &mut self.schema_errors,
        );
        if self.options.sound_keys {
            extensions::check_keys(schema, path, &mut self.schema_errors);
        }
        extensions::check_rules(schema, path, &mut self.schema_errors);
        let has_rules = !schema["x-kubernetes-validations"].items().is_empty();
        if let Some(context) = context.filter(|_| has_rules && self.schema_errors.len() == before) {
            let found = check_rules(
                schema,
                context,
                self.options.any_cost,
                position.uncorrelated,
                path,
                &mut self.costs,
            );
            self.rule_errors.extend(found);
        }
    }

    fn forbid(&mut self, path: &Path, message: impl Into<String>) {
        self.schema_errors.push(field::forbidden(path, message));
    }

    fn check_openapi(&mut self, schema: &Value, path: &Path, position: &Position<'_>) {
        let ty = schema["type"].text();
        if self.options.types && !ty.is_empty() && !TYPES.contains(&ty) {
            let error = field::not_supported(&path.child("type"), ty, &TYPES);
            self.schema_errors.push(error);
        }
        if let Some(reason) = position
            .no_default
            .as_ref()
            .filter(|_| schema["default"].is_set())
        {
            self.forbid(&path.child("default"), format!("must not be set {reason}"));
        }
        for key in [
            "id",
            "additionalItems",
            "patternProperties",
            "definitions",
            "dependencies",
            "$ref",
        ] {
            let there = match &schema[key] {
                Value::Null => false,
                Value::String(text) => !text.is_empty() || key == "$ref",
                Value::Object(map) => {
                    !map.is_empty() || !matches!(key, "patternProperties" | "definitions")
                }
                _ => true,
            };
            if there {
                self.forbid(&path.child(key), format!("{key} is not supported"));
            }
        }
        if ty == "null" {
            let message = "type cannot be set to null, use nullable as an alternative";
            self.forbid(&path.child("type"), message);
        }
        if !schema["items"].items().is_empty() {
            self.forbid(
                &path.child("items"),
                "items must be a schema object and not an array",
            );
        }
        if position.in_metadata && schema["x-kubernetes-embedded-resource"].flag() {
            let path = path.child("x-kubernetes-embedded-resource");
            self.forbid(&path, "must not be used inside of resource meta");
        }
    }

    fn additional_properties(
        &mut self,
        schema: &Value,
        path: &Path,
        position: &Position<'_>,
        context: Option<&Context<'_>>,
    ) {
        let additional = &schema["additionalProperties"];
        if !additional.is_set() {
            return;
        }
        let path = path.child("additionalProperties");
        if !schema["properties"].is_blank() && *additional != json!(true) {
            self.forbid(
                &path,
                "additionalProperties and properties are mutual exclusive",
            );
        }
        let mut position = position.clone();
        if position.in_metadata {
            let reason = "inside additionalProperties applying to object metadata";
            position.no_default = Some(reason.to_owned());
        }
        let context = context.and_then(Context::additional);
        self.node(additional, &path, &position, context.as_ref());
    }

    fn properties(
        &mut self,
        schema: &Value,
        path: &Path,
        position: &Position<'_>,
        inside: &Position<'_>,
        context: Option<&Context<'_>>,
    ) {
        let own = position.is_root || schema["x-kubernetes-embedded-resource"].flag();
        for (name, property) in schema["properties"].entries() {
            let mut child = inside.clone();
            if own && matches!(name, "metadata" | "kind" | "apiVersion") {
                child.in_metadata = true;
                if position.is_root {
                    child.no_default = Some(format!("in top-level {name}"));
                }
            }
            let context = context.and_then(|context| context.property(name));
            self.node(
                property,
                &path.child("properties").key(name),
                &child,
                context.as_ref(),
            );
        }
    }

    fn items(
        &mut self,
        schema: &Value,
        path: &Path,
        position: &Position<'_>,
        context: Option<&Context<'_>>,
    ) {
        let mut child = position.clone();
        if schema["x-kubernetes-list-type"] != "map" {
            child.uncorrelated = child.uncorrelated.or(Some(path));
        }
        let path = path.child("items");
        let context = context.and_then(Context::items);
        self.node(&schema["items"], &path, &child, context.as_ref());
        for (i, item) in schema["items"].items().iter().enumerate() {
            self.node(item, &path.index(i), &child, None);
        }
    }
}
