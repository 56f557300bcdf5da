//! Validates defaults against the schema that they are part of.

use kubewright_cel::{Extent, Ratcheting, limits::RUNTIME_COST_BUDGET};
use kubewright_machinery::field::{self, ErrorList, FieldError, Path};
use kubewright_schema::structural::{
    Structural, coerce_value, compile_rules, prune_value, validate, validate_embedded,
};
use serde_json::{Map, Value, json};

/// Validates the defaults of a schema.
pub(super) fn validate_defaults(root: &Structural, pruned: bool, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut walk = Walk {
        pruned,
        budget: RUNTIME_COST_BUDGET,
    };
    walk.node(root, Position::root(root), false, true, path, &mut errors);
    errors
}

struct Walk {
    /// `true` if defaults may not have unknown fields.
    pruned: bool,
    /// The cost budget of all rules together.
    budget: i64,
}

/// The position of a value in an embedded object.
#[derive(Clone)]
struct Position<'a> {
    /// The schema of that object.
    root: &'a Structural,
    steps: Vec<Step<'a>>,
}

#[derive(Clone)]
enum Step<'a> {
    Field(&'a str),
    Item,
}

impl<'a> Position<'a> {
    fn root(root: &'a Structural) -> Self {
        Self {
            root,
            steps: Vec::new(),
        }
    }

    fn then(&self, step: Step<'a>) -> Self {
        let mut next = self.clone();
        next.steps.push(step);
        next
    }

    /// Builds an object that has nothing but this value at that position.
    fn surround(&self, value: Value) -> Value {
        let mut object = self
            .steps
            .iter()
            .rev()
            .fold(value, |value, step| match step {
                Step::Field(name) => Value::Object(Map::from_iter([((*name).to_owned(), value)])),
                Step::Item => json!([value]),
            });
        if let Some(fields) = object.as_object_mut() {
            fields.entry("kind").or_insert_with(|| json!("Validation"));
            fields
                .entry("apiVersion")
                .or_insert_with(|| json!("validation/v1"));
        }
        object
    }
}

impl Walk {
    fn node<'a>(
        &mut self,
        schema: &'a Structural,
        position: Position<'a>,
        in_metadata: bool,
        is_root: bool,
        path: &Path,
        errors: &mut ErrorList,
    ) {
        let extent = match is_root {
            true => Extent::Resource,
            false => schema.extent(),
        };
        let (position, in_metadata) = match extent {
            Extent::Resource => (Position::root(schema), false),
            Extent::Value => (position, in_metadata),
        };
        if let Some(default) = schema.default.as_deref() {
            let at = path.child("default");
            let before = errors.len();
            if in_metadata {
                validate_in_metadata(default, schema, &position, &at, errors);
            } else {
                self.validate(default, schema, extent, &at, errors);
            }
            if errors.len() == before {
                self.run_rules(default, schema, extent, &at, errors);
            }
        }
        if self.budget < 0 {
            return;
        }
        if let Some(items) = schema.items.as_deref() {
            let position = position.then(Step::Item);
            self.node(
                items,
                position,
                in_metadata,
                false,
                &path.child("items"),
                errors,
            );
        }
        for (name, property) in &schema.properties {
            let meta =
                extent == Extent::Resource && matches!(&**name, "metadata" | "apiVersion" | "kind");
            let position = position.then(Step::Field(name));
            let path = path.child("properties").key(name);
            self.node(
                property,
                position,
                in_metadata || meta,
                false,
                &path,
                errors,
            );
        }
    }

    /// Validates a default against the rules, as a new and as an old value.
    fn run_rules(
        &mut self,
        default: &Value,
        schema: &Structural,
        extent: Extent,
        at: &Path,
        errors: &mut ErrorList,
    ) {
        let Some(rules) = compile_rules(schema, extent) else {
            return;
        };
        let kept = rules.validate(default, Some(default), self.budget, Ratcheting::Disabled);
        let mut left = kept.remaining_budget;
        let mut found = kept.errors;
        if found.is_empty() {
            let fresh = rules.validate(default, None, self.budget, Ratcheting::Disabled);
            left = left.min(fresh.remaining_budget);
            found = fresh.errors;
        }
        errors.extend(found.into_iter().map(|error| below(at, error)));
        self.budget = left;
    }

    fn validate(
        &self,
        default: &Value,
        schema: &Structural,
        extent: Extent,
        at: &Path,
        errors: &mut ErrorList,
    ) {
        if self.pruned {
            let mut pruned = default.clone();
            prune_value(&mut pruned, schema);
            if pruned != *default {
                errors.push(field::invalid(at, default, "must not have unknown fields"));
            }
        }
        let mut coerced = default.clone();
        if let Err(error) = coerce_value(&mut coerced, schema, extent, at) {
            errors.push(error);
            return;
        }
        let found = validate_embedded(&coerced, schema, extent, at);
        if !found.is_empty() {
            errors.extend(found);
            return;
        }
        errors.extend(validate(default, schema, at));
    }
}

/// Moves the path of an error from a value to the object around it.
fn below(at: &Path, error: FieldError) -> FieldError {
    let field = match error.field.as_str() {
        "<nil>" => at.to_string(),
        part if part.starts_with('[') => format!("{at}{part}"),
        part => format!("{at}.{part}"),
    };
    FieldError { field, ..error }
}

/// Validates a default inside metadata, which must leave the metadata valid.
fn validate_in_metadata(
    default: &Value,
    schema: &Structural,
    position: &Position<'_>,
    at: &Path,
    errors: &mut ErrorList,
) {
    let mut object = position.surround(default.clone());
    let refuse = |text: String| {
        field::invalid(
            at,
            default,
            format!("must result in valid metadata: {text}"),
        )
    };
    let root = Path::root();
    if let Err(error) = coerce_value(&mut object, position.root, Extent::Resource, &root) {
        errors.push(refuse(error.to_string()));
        return;
    }
    let found = validate_embedded(&object, position.root, Extent::Resource, &root);
    if !found.is_empty() {
        errors.push(refuse(field::aggregate(&found)));
        return;
    }
    errors.extend(validate(default, schema, at));
}
