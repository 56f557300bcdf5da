//! CEL, the expression language of Kubernetes, as in kube-apiserver 1.36.
//!
//! Expressions are parsed, checked against declared types, given a cost estimate, and evaluated over JSON without
//! converting it first.
//! Messages, results and costs are those of the real server.
//!
//! ```
//! use kubewright_cel::{Activation, DeclType, Env, Extent, Schema, Value};
//! use serde_json::json;
//!
//! let schema = Schema::from_json(&json!({
//!     "type": "object",
//!     "properties": {"replicas": {"type": "integer"}, "max": {"type": "integer"}},
//! }));
//! let decl = DeclType::of(&schema, Extent::Value).expect("an object has a type");
//! let env = Env::new().declared("self", "selfType", &decl);
//!
//! let checked = env.compile("self.replicas <= self.max")?;
//! assert_eq!(checked.estimate_cost().max, 5);
//!
//! let program = checked.program()?;
//! let object = json!({"replicas": 3, "max": 2});
//! let activation = Activation::new().json(&object, Some(&schema));
//! let evaluation = program.evaluate(&activation);
//! assert!(matches!(evaluation.result, Ok(Value::Bool(false))));
//!
//! let issues = env.compile("self.replica > 0").expect_err("there is no such field");
//! assert_eq!(
//!     issues.to_string(),
//!     "ERROR: <input>:1:5: undefined field 'replica'\n | self.replica > 0\n | ....^",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | `parser` | parses text into a tree and expands macros |
//! | `checker` | types and overloads |
//! | `cost` | the estimate, and counting at run time |
//! | `program` | plans and the interpreter |
//! | `value` | values over JSON |
//! | `functions` | the standard library and those of Kubernetes |
//! | [`regex`] | Go's regular expressions |
//! | `admission` | [`AdmissionEnv`]: the expressions of admission policies and match conditions; [`TypeChecker`] |
//! | `access` | authorization checks, and the seam for their decisions |
//! | `rules` | [`Validator`]: the rules of a schema on objects and their updates |
//! | `schema`, `decl` | [`Schema`] of the data, [`DeclType`] for the checker |
//! | [`limits`] | the limits on cost |
//! | `escape` | property names as identifiers |
//!
//! Expressions, their nesting, patterns and costs are all bounded.

mod access;
mod admission;
mod ast;
mod checker;
mod compile_error;
mod cost;
mod decl;
mod device;
mod env;
mod escape;
mod functions;
pub mod limits;
mod parser;
mod program;
pub mod regex;
mod rules;
mod schema;
mod source;
mod types;
mod value;

pub use access::{
    Access, AccessCheck, AccessDecision, AccessDecisions, AccessTarget, AccessedResource,
    Authorizer,
};
pub use admission::{AdmissionEnv, AdmissionInput, TypeChecker};
pub use checker::Checked;
pub use compile_error::CompileError;
pub use cost::{CostEstimate, SizeEstimate};
pub use decl::{DeclType, Extent};
pub use device::compile_device_selector;
pub use env::Env;
pub use escape::{escape, is_reserved, unescape};
pub use functions::formats::NamedFormat;
pub use functions::quantity::Quantity;
pub use functions::semver::Semver;
pub use functions::url::Url;
pub use program::{Activation, Composition, Evaluation, Message, NamedProgram, Program};
pub use rules::{
    CompiledRule, Outcome, Ratcheting, Reason, Rule, Validator, compile_rules,
    normalized_field_path,
};
pub use schema::{ListType, Schema, SchemaKind};
pub use source::{Issue, Issues, Location};
pub use types::Type;
pub use value::{EvalError, EvalResult, List, Map, Str, Timestamp, Value};
