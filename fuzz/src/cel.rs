//! CEL: an expression, and optionally the object and its schema.

use kubewright_cel::{Activation, DeclType, Env, Extent, Schema, limits::PER_CALL_LIMIT};
use serde_json::json;

use crate::parts::{self, parts};

/// The cost by which the last call of an evaluation may exceed the limit.
const LAST_CALL: u64 = 16 * PER_CALL_LIMIT;

/// Compiles and evaluates an expression within its limits.
pub(crate) fn cel(data: &[u8]) {
    let mut parts = parts(data);
    let Some(Ok(expression)) = parts.next().map(std::str::from_utf8) else {
        return;
    };
    let object = parts.next().and_then(parts::json);
    let object =
        object.unwrap_or_else(|| json!({"s": "text", "n": 3, "l": [1, 2], "m": {"a": "b"}}));
    let schema = parts.next().and_then(parts::json);
    let schema = schema.unwrap_or_else(|| {
        json!({"type": "object", "properties": {
            "s": {"type": "string"}, "n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "integer"}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
        }})
    });
    let schema = Schema::from_json(&schema);
    let Some(decl) = DeclType::of(&schema, Extent::Value) else {
        return;
    };
    let env = Env::new().declared("self", "selfType", &decl);
    let Ok(checked) = env.compile(expression) else {
        return;
    };
    let _ = checked.estimate_cost();
    let Ok(program) = checked.program() else {
        return;
    };
    let activation = Activation::new().json(&object, Some(&schema));
    let evaluation = program.evaluate(&activation);
    assert!(
        evaluation.cost <= PER_CALL_LIMIT + LAST_CALL,
        "{expression} cost {}",
        evaluation.cost
    );
}
