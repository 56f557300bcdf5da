//! Compiles the rules of a schema node.

use std::sync::Arc;

use crate::checker::Checked;
use crate::decl::DeclType;
use crate::env::Env;
use crate::program::Program;
use crate::schema::Schema;
use crate::types::Type;

use super::{Rule, normalized_field_path};

/// A compiled rule, or the error of a rule that does not compile.
///
/// ```
/// use kubewright_cel::{DeclType, Extent, Rule, Schema, compile_rules};
/// use serde_json::json;
///
/// let schema = Schema::from_json(&json!({"type": "integer"}));
/// let decl = DeclType::of(&schema, Extent::Value);
/// let rules = [
///     Rule { rule: "self >= oldSelf".into(), ..Rule::default() },
///     Rule { rule: "self + 1".into(), ..Rule::default() },
/// ];
/// let compiled = compile_rules(&rules, &schema, decl.as_ref())?;
/// assert!(compiled[0].program.is_some() && compiled[0].uses_old_self);
/// assert_eq!(compiled[1].error.as_deref(), Some("cel expression must evaluate to a bool"));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Default)]
pub struct CompiledRule {
    /// The program. `None` if the rule is empty or does not compile.
    pub program: Option<Program>,
    /// The error of a rule that does not compile.
    pub error: Option<String>,
    /// `true` for a transition rule.
    pub uses_old_self: bool,
    /// The estimated maximum cost of one run.
    pub max_cost: u64,
    /// The maximum number of runs, if lists and maps above the rule are unbounded.
    pub max_cardinality: u64,
    /// The message expression.
    pub message: Option<Program>,
    /// The error of a message expression that does not compile.
    pub message_error: Option<String>,
    /// The estimated maximum cost of one run of the message expression.
    pub message_max_cost: u64,
    /// The path of the error, from the node of the rule.
    pub field_path: Option<String>,
}

/// The name of the type of `self` in messages, if it is an object.
const TYPE_NAME: &str = "selfType";

/// Compiles the rules of a schema node. `decl` is the node's type; without one there can be no rules.
///
/// # Errors
///
/// Returns a message if there are rules and the node has no type. Rules that do not compile carry their own errors.
pub fn compile_rules(
    rules: &[Rule],
    schema: &Schema,
    decl: Option<&Arc<DeclType>>,
) -> Result<Vec<CompiledRule>, String> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let Some(decl) = decl else {
        return Err("failed to convert to declType for CEL validation rules".into());
    };
    let with_self = Env::new().declared("self", TYPE_NAME, decl);
    let plain = with_self.clone().declared("oldSelf", TYPE_NAME, decl);
    let optional = with_self.declared_optional("oldSelf", TYPE_NAME, decl);
    let compiled = rules.iter().map(|rule| {
        let env = match rule.optional_old_self {
            Some(true) => &optional,
            _ => &plain,
        };
        compile(rule, schema, env, decl)
    });
    Ok(compiled.collect())
}

fn compile(rule: &Rule, schema: &Schema, env: &Env, decl: &DeclType) -> CompiledRule {
    let mut compiled = CompiledRule::default();
    if rule.rule.trim().is_empty() {
        return compiled;
    }
    let checked = match env.compile(&rule.rule) {
        Ok(checked) => checked,
        Err(issues) => {
            compiled.error = Some(format!("compilation failed: {issues}"));
            return compiled;
        }
    };
    if *checked.output_type() != Type::Bool {
        compiled.error = Some("cel expression must evaluate to a bool".into());
        return compiled;
    }
    compiled.uses_old_self = checked.uses("oldSelf");
    match checked.program() {
        Ok(program) => compiled.program = Some(program),
        Err(why) => {
            compiled.error = Some(format!("program instantiation failed: {why}"));
            return compiled;
        }
    }
    compiled.max_cost = checked.estimate_cost().max;
    compiled.max_cardinality = decl.max_cardinality();
    if !rule.message_expression.is_empty() {
        match compile_message(&rule.message_expression, env) {
            Ok((program, checked)) => {
                compiled.message = Some(program);
                compiled.message_max_cost = checked.estimate_cost().max;
            }
            Err(why) => {
                compiled.message_error = Some(why);
                return compiled;
            }
        }
    }
    if !rule.field_path.is_empty() {
        compiled.field_path = normalized_field_path(&rule.field_path, schema).ok();
    }
    compiled
}

fn compile_message(expression: &str, env: &Env) -> Result<(Program, Checked), String> {
    let checked = env
        .compile(expression)
        .map_err(|issues| format!("messageExpression compilation failed: {issues}"))?;
    if *checked.output_type() != Type::String {
        return Err("messageExpression must evaluate to a string".into());
    }
    let program = checked
        .program()
        .map_err(|why| format!("messageExpression instantiation failed: {why}"))?;
    Ok((program, checked))
}
