//! Validates the rules of a CustomResourceDefinition: they compile, and their cost is bounded.

use std::sync::Arc;

use kubewright_cel::{CompiledRule, DeclType, Extent, compile_rules, limits};
use kubewright_machinery::field::{self, ErrorList, Path};
use kubewright_schema::structural::{Additional, Kind, Structural, declared_schema, property_type};
use serde_json::{Value, json};

use super::print;
use crate::json::Read;

/// The number of the most expensive rules that are reported.
const NAMED: usize = 4;

/// The context of a node of a schema.
pub(super) struct Context<'a> {
    schema: &'a Structural,
    is_root: bool,
    /// The type, if a node above has rules too.
    decl: Option<Arc<DeclType>>,
    /// The maximum number of values of the node; `None` if it is unbounded.
    cardinality: Option<u64>,
}

/// The cost of all rules of a schema together.
#[derive(Default)]
pub(super) struct Costs {
    total: u64,
    most: Vec<(u64, Path)>,
}

impl<'a> Context<'a> {
    pub(super) fn root(schema: &'a Structural) -> Self {
        Self {
            schema,
            is_root: true,
            decl: None,
            cardinality: Some(1),
        }
    }

    fn decl(&self) -> Option<Arc<DeclType>> {
        let own = || {
            let extent = match self.is_root {
                true => Extent::Resource,
                false => self.schema.extent(),
            };
            DeclType::of(&declared_schema(self.schema), extent)
        };
        self.decl.clone().or_else(own)
    }

    /// The type, if there are rules here or above.
    fn known(&self) -> Option<Arc<DeclType>> {
        let wanted = !self.schema.rules.is_empty() || self.decl.is_some();
        wanted.then(|| self.decl()).flatten()
    }

    fn child(&self, schema: &'a Structural, decl: Option<Arc<DeclType>>) -> Self {
        let checks = self.schema.checks.as_deref();
        let bound = |most: Option<i64>| most.map(|most| u64::try_from(most).unwrap_or(0));
        let factor = match self.schema.kind {
            Kind::Object if !matches!(self.schema.additional, Additional::Unset) => {
                bound(checks.and_then(|c| c.max_properties))
            }
            Kind::Array => bound(checks.and_then(|c| c.max_items)),
            _ => Some(1),
        };
        Self {
            schema,
            is_root: false,
            decl,
            cardinality: self
                .cardinality
                .zip(factor)
                .map(|(a, b)| a.saturating_mul(b)),
        }
    }

    pub(super) fn property(&self, name: &str) -> Option<Self> {
        let schema = self.schema.property(name)?;
        let known = self.known();
        let decl = known.and_then(|decl| property_type(name, schema, Some(&decl)));
        Some(self.child(schema, decl))
    }

    pub(super) fn items(&self) -> Option<Self> {
        let schema = self.schema.items.as_deref()?;
        let decl = self.known().and_then(|decl| decl.element().cloned());
        Some(self.child(schema, decl))
    }

    pub(super) fn additional(&self) -> Option<Self> {
        let Additional::Schema(schema) = &self.schema.additional else {
            return None;
        };
        let decl = self.known().and_then(|decl| decl.element().cloned());
        Some(self.child(schema, decl))
    }
}

/// Validates the rules of one node.
pub(super) fn check_rules(
    schema: &Value,
    context: &Context<'_>,
    any_cost: bool,
    uncorrelated: Option<&Path>,
    path: &Path,
    costs: &mut Costs,
) -> ErrorList {
    let path = path.child("x-kubernetes-validations");
    let Some(decl) = context.decl() else {
        let message = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
        return vec![field::internal(&path, message)];
    };
    let declared = declared_schema(context.schema);
    let compiled = match compile_rules(&context.schema.rules, &declared, Some(&decl)) {
        Ok(compiled) => compiled,
        Err(why) => return vec![field::internal(&path, why)],
    };
    let mut errors = ErrorList::new();
    let documents = schema["x-kubernetes-validations"].items();
    for (i, (compiled, document)) in compiled.iter().zip(documents).enumerate() {
        let times = context.cardinality.unwrap_or(compiled.max_cardinality);
        let place = Rule {
            document,
            cost: compiled.max_cost.saturating_mul(times),
            compiled,
            path: path.index(i),
        };
        place.check(any_cost, uncorrelated, costs, &mut errors);
    }
    errors
}

struct Rule<'a> {
    document: &'a Value,
    compiled: &'a CompiledRule,
    cost: u64,
    path: Path,
}

impl Rule<'_> {
    fn check(
        &self,
        any_cost: bool,
        uncorrelated: Option<&Path>,
        costs: &mut Costs,
        errors: &mut ErrorList,
    ) {
        let (compiled, at) = (self.compiled, self.path.child("rule"));
        let limit = limits::STATIC_COST_LIMIT;
        if !any_cost && self.cost > limit {
            let message = limits::over_budget_message("estimated rule cost", self.cost, limit);
            errors.push(field::forbidden(&at, message));
        }
        costs.add(&at, self.cost);
        if let Some(error) = &compiled.error {
            let printed = print::rule(self.document);
            errors.push(field::invalid_raw(&at, printed, error.as_str()));
        }
        let message_at = self.path.child("messageExpression");
        if let Some(error) = &compiled.message_error {
            let printed = print::rule(self.document);
            errors.push(field::invalid_raw(&message_at, printed, error.as_str()));
        } else if compiled.message.is_some() {
            let cost = compiled.message_max_cost;
            if !any_cost && cost > limit {
                let message =
                    limits::over_budget_message("estimated messageExpression cost", cost, limit);
                errors.push(field::forbidden(&message_at, message));
            }
            costs.add(&message_at, cost);
        }
        if compiled.uses_old_self {
            if let Some(outer) = uncorrelated {
                let message = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {outer}"
                );
                errors.push(field::invalid_str(
                    &at,
                    self.document["rule"].text(),
                    message,
                ));
            }
        } else if let Some(optional) = self.document["optionalOldSelf"].as_bool() {
            let path = self.path.child("optionalOldSelf");
            let message = "may not be set if oldSelf is not used in rule";
            errors.push(field::invalid(&path, &json!(optional), message));
        }
    }
}

impl Costs {
    fn add(&mut self, path: &Path, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost < limits::STATIC_CRD_COST_LIMIT / 100 {
            return;
        }
        self.most.push((cost, path.clone()));
        self.most.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        self.most.truncate(NAMED);
    }

    /// Reports rules that cost too much together.
    pub(super) fn validate(&self, path: &Path, errors: &mut ErrorList) {
        let limit = limits::STATIC_CRD_COST_LIMIT;
        if self.total <= limit {
            return;
        }
        for (_, path) in &self.most {
            let message = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(field::forbidden(path, message));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(field::forbidden(
            path,
            limits::over_budget_message(what, self.total, limit),
        ));
    }
}
