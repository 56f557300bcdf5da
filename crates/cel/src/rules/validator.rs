//! The rules of a whole schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value as Json;

use crate::decl::{DeclType, Extent};
use crate::escape::escape;
use crate::schema::Schema;

use super::compile::compile_rules;
use super::correlation::{Ratchet, old_items};
use super::evaluate::{Run, Stop};
use super::{CompiledRule, Rule};

/// The rules of a schema, compiled once and evaluated on many objects.
///
/// ```
/// use kubewright_cel::limits::RUNTIME_COST_BUDGET;
/// use kubewright_cel::{Extent, Ratcheting, Schema, Validator};
/// use serde_json::json;
///
/// let schema = Schema::from_json(&json!({
///     "type": "object",
///     "properties": {"spec": {
///         "type": "object",
///         "properties": {"size": {"type": "integer"}},
///         "x-kubernetes-validations": [
///             {"rule": "self.size >= oldSelf.size", "message": "may not shrink", "fieldPath": ".size"},
///         ],
///     }},
/// }));
/// let validator = Validator::new(&schema, Extent::Resource).expect("there are rules");
/// let old = json!({"spec": {"size": 3}});
/// let new = json!({"spec": {"size": 2}});
/// let outcome = validator.validate(&new, Some(&old), RUNTIME_COST_BUDGET, Ratcheting::Disabled);
/// assert_eq!(outcome.errors[0].to_string(), "spec.size: Invalid value: may not shrink");
/// ```
#[derive(Debug)]
pub struct Validator {
    schema: Schema,
    root: Node,
}

/// The treatment of rules that fail on parts of an object that an update does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ratcheting {
    /// They only cause warnings.
    Enabled,
    /// They cause errors.
    Disabled,
}

/// The result of a validation.
///
/// ```
/// use kubewright_cel::limits::RUNTIME_COST_BUDGET;
/// use kubewright_cel::{Extent, Ratcheting, Schema, Validator};
/// use serde_json::json;
///
/// let schema = Schema::from_json(&json!({"type": "object", "properties": {
///     "name": {"type": "string"},
///     "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self <= 5"}]},
/// }}));
/// let validator = Validator::new(&schema, Extent::Value).expect("there are rules");
/// let old = json!({"name": "a", "size": 9});
/// let new = json!({"name": "b", "size": 9});
/// let outcome = validator.validate(&new, Some(&old), RUNTIME_COST_BUDGET, Ratcheting::Enabled);
/// assert!(outcome.errors.is_empty());
/// assert_eq!(outcome.warnings.len(), 1);
/// assert!(outcome.remaining_budget < RUNTIME_COST_BUDGET);
/// ```
#[derive(Debug)]
pub struct Outcome {
    /// The errors.
    pub errors: ErrorList,
    /// Warnings for errors that the old object had too, which are tolerated.
    pub warnings: Vec<String>,
    /// The remaining budget; negative if it is exceeded.
    pub remaining_budget: i64,
}

/// The rules of a schema node, and of those below it.
#[derive(Debug, Default)]
struct Node {
    rules: Vec<(Rule, CompiledRule)>,
    /// The error if no rule of the node could be compiled.
    error: Option<String>,
    all_of: Vec<Node>,
    items: Option<Box<Node>>,
    properties: BTreeMap<String, Node>,
    additional_properties: Option<Box<Node>>,
}

/// The path of a value, as a list of steps that is rendered only for errors.
enum Position<'p> {
    Root,
    Child(&'p Position<'p>, &'p str),
    Key(&'p Position<'p>, &'p str),
    Index(&'p Position<'p>, usize),
}

/// A value and its old value.
#[derive(Clone, Copy)]
struct Pair<'v> {
    new: &'v Json,
    old: Option<&'v Json>,
}

impl Validator {
    /// Compiles the rules of a schema. Returns `None` if there are no rules.
    pub fn new(schema: &Schema, extent: Extent) -> Option<Self> {
        let schema = match extent {
            Extent::Resource => schema.clone().with_object_meta(),
            Extent::Value => schema.clone(),
        };
        if !has_rules(&schema) {
            return None;
        }
        let decl = DeclType::of(&schema, extent);
        let root = Node::new(&schema, &schema, decl.as_ref())?;
        Some(Self { schema, root })
    }

    /// Evaluates the rules on an object, which replaces `old` if it is an update.
    pub fn validate(
        &self,
        new: &Json,
        old: Option<&Json>,
        budget: i64,
        ratcheting: Ratcheting,
    ) -> Outcome {
        let ratchet = match old {
            Some(old) if ratcheting == Ratcheting::Enabled => Ratchet::new(new, old, &self.schema),
            _ => Ratchet::default(),
        };
        let mut run = Run {
            budget,
            errors: Vec::new(),
            warnings: Vec::new(),
            reported: 0,
        };
        let pair = Pair { new, old };
        let stopped = self
            .root
            .validate(&mut run, &self.schema, pair, &ratchet, &Position::Root)
            .is_err();
        Outcome {
            errors: run.errors,
            warnings: run.warnings,
            remaining_budget: if stopped { -1 } else { run.budget },
        }
    }
}

/// Reports whether there is a rule anywhere, except in `allOf`.
fn has_rules(schema: &Schema) -> bool {
    !schema.validations.is_empty()
        || schema.items.as_deref().is_some_and(has_rules)
        || schema
            .additional_properties
            .as_deref()
            .is_some_and(has_rules)
        || schema.properties.values().any(has_rules)
}

impl Node {
    /// The rules of `validation`, which is `schema` or a part of its `allOf`, and below. None if there are none.
    fn new(validation: &Schema, schema: &Schema, decl: Option<&Arc<DeclType>>) -> Option<Self> {
        let mut node = Self::default();
        match compile_rules(&validation.validations, schema, decl) {
            Ok(compiled) => {
                node.rules = validation
                    .validations
                    .iter()
                    .cloned()
                    .zip(compiled)
                    .collect();
            }
            Err(why) => node.error = Some(why),
        }
        let element = decl.and_then(|decl| decl.element());
        if let (Some(rules), Some(items)) = (&validation.items, &schema.items) {
            node.items = Self::new(rules, items, element).map(Box::new);
        }
        if let (Some(rules), Some(values)) = (
            &validation.additional_properties,
            &schema.additional_properties,
        ) {
            node.additional_properties = Self::new(rules, values, element).map(Box::new);
        }
        for (name, rules) in &validation.properties {
            let Some(property) = schema.properties.get(name) else {
                continue;
            };
            let own;
            let field = match escape(name) {
                Some(ident) => decl.and_then(|decl| decl.field(&ident)),
                // No rule above can name it; its own rules can still name themselves.
                None => {
                    own = DeclType::of(property, property.extent());
                    own.as_ref()
                }
            };
            if field.is_none() {
                continue;
            }
            if let Some(child) = Self::new(rules, property, field) {
                node.properties.insert(name.clone(), child);
            }
        }
        for rules in &validation.all_of {
            node.all_of.extend(Self::new(rules, schema, decl));
        }
        let empty = node.rules.is_empty()
            && node.error.is_none()
            && node.items.is_none()
            && node.additional_properties.is_none()
            && node.properties.is_empty()
            && node.all_of.is_empty();
        (!empty).then_some(node)
    }

    fn validate<'v>(
        &self,
        run: &mut Run,
        schema: &'v Schema,
        pair: Pair<'v>,
        ratchet: &Ratchet<'v>,
        position: &Position<'_>,
    ) -> Result<(), Stop> {
        let Pair { new, old } = pair;
        if new.is_null() {
            return Ok(());
        }
        if let Some(why) = &self.error {
            let detail = format!("rule compiler initialization error: {why}");
            let error = field::invalid_str(&position.path(), schema.kind.name(), detail);
            run.push(error);
        } else {
            let old = old.filter(|old| !old.is_null());
            run.rules(&self.rules, schema, new, old, ratchet, &|| position.path())?;
        }
        for node in &self.all_of {
            node.validate(run, schema, pair, &ratchet.parent_only(), position)?;
        }
        match new {
            Json::Array(items) => self.items(run, schema, items, old, ratchet, position),
            Json::Object(object) => self.fields(run, schema, object, old, ratchet, position),
            _ => Ok(()),
        }
    }

    fn items<'v>(
        &self,
        run: &mut Run,
        schema: &'v Schema,
        items: &'v [Json],
        old: Option<&'v Json>,
        ratchet: &Ratchet<'v>,
        position: &Position<'_>,
    ) -> Result<(), Stop> {
        let (Some(node), Some(below)) = (&self.items, &schema.items) else {
            return Ok(());
        };
        let old = old.and_then(Json::as_array);
        let old = old.map(|old| old_items(schema, old));
        for (at, new) in items.iter().enumerate() {
            let old = old.as_ref().and_then(|old| old.find(new));
            let position = Position::Index(position, at);
            let ratchet = ratchet.item(new, old);
            node.validate(run, below, Pair { new, old }, &ratchet, &position)?;
        }
        Ok(())
    }

    fn fields<'v>(
        &self,
        run: &mut Run,
        schema: &'v Schema,
        object: &'v serde_json::Map<String, Json>,
        old: Option<&'v Json>,
        ratchet: &Ratchet<'v>,
        position: &Position<'_>,
    ) -> Result<(), Stop> {
        let old = |name: &str| old.and_then(|old| old.get(name));
        if let (Some(node), Some(below)) =
            (&self.additional_properties, &schema.additional_properties)
        {
            for (name, new) in object {
                let pair = Pair {
                    new,
                    old: old(name),
                };
                let position = Position::Key(position, name);
                node.validate(run, below, pair, &ratchet.key(name), &position)?;
            }
        }
        for (name, node) in &self.properties {
            if let (Some(new), Some(below)) = (object.get(name), schema.properties.get(name)) {
                let pair = Pair {
                    new,
                    old: old(name),
                };
                let position = Position::Child(position, name);
                node.validate(run, below, pair, &ratchet.key(name), &position)?;
            }
        }
        Ok(())
    }
}

impl Position<'_> {
    fn path(&self) -> Path {
        match self {
            Self::Root => Path::root(),
            Self::Child(parent, name) => parent.path().child(name),
            Self::Key(parent, key) => parent.path().key(key),
            Self::Index(parent, at) => parent.path().index(*at),
        }
    }
}
