//! Compiles expressions of admission: the match conditions of webhooks, and the policies of
//! `admissionregistration.k8s.io`.
//!
//! ```
//! use kubewright_cel::{AdmissionEnv, Type};
//!
//! let env = AdmissionEnv::new().authorizer();
//! assert!(env.compile("object.spec.replicas > 1", &[Type::Bool]).is_ok());
//! assert_eq!(
//!     env.compile("request.name", &[Type::Bool]).unwrap_err().to_string(),
//!     "must evaluate to bool but got string"
//! );
//! ```

mod input;
#[cfg(test)]
mod tests;
mod type_checker;
mod types;

use std::collections::BTreeMap;

use crate::checker::Checked;
use crate::compile_error::CompileError;
use crate::decl::DeclType;
use crate::env::Env;
use crate::program::Program;
use crate::types::Type;

pub use input::AdmissionInput;
pub use type_checker::TypeChecker;
use types::{namespace_type, request_type};

/// The type of the variable `variables`.
const VARIABLES: &str = "kubernetes.variables";

/// The names that an admission expression can use beside `object`, `oldObject`, `request` and `namespaceObject`.
#[derive(Debug, Clone, Default)]
pub struct AdmissionEnv {
    params: bool,
    authorizer: bool,
    patch_types: bool,
    variables: Option<BTreeMap<String, Type>>,
}

impl AdmissionEnv {
    /// Creates an environment with the names that every admission expression has.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares `params`, which policies with a `paramKind` have.
    #[must_use]
    pub fn params(mut self) -> Self {
        self.params = true;
        self
    }

    /// Declares `authorizer` and `authorizer.requestResource`.
    #[must_use]
    pub fn authorizer(mut self) -> Self {
        self.authorizer = true;
        self
    }

    /// Returns the environment without `authorizer`, which message expressions do not have.
    #[must_use]
    pub fn without_authorizer(&self) -> Self {
        Self {
            authorizer: false,
            ..self.clone()
        }
    }

    /// Declares `Object{}`, `JSONPatch{}` and `jsonpatch.escapeKey`, which mutations are written with.
    #[must_use]
    pub fn patch_types(mut self) -> Self {
        self.patch_types = true;
        self
    }

    /// Declares `variables`, without fields yet.
    #[must_use]
    pub fn variables(mut self) -> Self {
        self.variables.get_or_insert_default();
        self
    }

    /// Compiles the expression of a variable and declares the variable for the expressions that follow. A variable
    /// that does not compile is declared as `dyn`.
    ///
    /// # Errors
    ///
    /// Returns an error if the expression does not compile.
    pub fn add_variable(&mut self, name: &str, expression: &str) -> Result<Program, CompileError> {
        let checked = self.check(expression);
        let compiled = checked.and_then(|checked| {
            let of = variable_type(checked.output_type());
            Ok((of, instantiate(&checked)?))
        });
        let (of, program) = match compiled {
            Ok((of, program)) => (of, Ok(program)),
            Err(error) => (Type::Dyn, Err(error)),
        };
        let variables = self.variables.get_or_insert_default();
        variables.insert(name.to_owned(), of);
        program
    }

    /// Compiles an expression that must be of one of the types in `returns`.
    ///
    /// # Errors
    ///
    /// Returns an error if the expression does not compile or is of another type.
    pub fn compile(&self, expression: &str, returns: &[Type]) -> Result<Program, CompileError> {
        let checked = self.check(expression)?;
        let found = checked.output_type();
        if !returns.contains(found) {
            let wanted: Vec<String> = returns.iter().map(Type::declared_name).collect();
            let wanted = match wanted.as_slice() {
                [only] => only.clone(),
                several => format!("one of [{}]", several.join(" ")),
            };
            let found = found.declared_name();
            return Err(CompileError::Invalid(format!(
                "must evaluate to {wanted} but got {found}"
            )));
        }
        instantiate(&checked)
    }

    fn check(&self, expression: &str) -> Result<Checked, CompileError> {
        let compiled = self.env().compile(expression);
        compiled.map_err(|issues| CompileError::Invalid(format!("compilation failed: {issues}")))
    }

    fn env(&self) -> Env {
        let (request, namespace) = (request_type(), namespace_type());
        let mut env = Env::new()
            .variable("object", Type::Dyn)
            .variable("oldObject", Type::Dyn)
            .declared("namespaceObject", "kubernetes.Namespace", namespace)
            .declared("request", "kubernetes.AdmissionRequest", request);
        // A name that is not declared keeps its number, so that an input serves every environment.
        env = match self.params {
            true => env.variable("params", Type::Dyn),
            false => env.unnamed(),
        };
        env = match self.authorizer {
            true => {
                let check = Type::object("kubernetes.authorization.ResourceCheck");
                let authorizer = Type::object("kubernetes.authorization.Authorizer");
                env.variable("authorizer", authorizer)
                    .variable("authorizer.requestResource", check)
            }
            false => env.unnamed().unnamed(),
        };
        if let Some(variables) = &self.variables {
            let fields = variables.iter();
            let fields = fields.map(|(name, of)| (name.as_str(), DeclType::scalar(of.clone())));
            let decl = DeclType::named_object(VARIABLES, fields);
            env = env.declared("variables", VARIABLES, &decl);
        }
        match self.patch_types {
            true => env.with_patch_types(),
            false => env,
        }
    }
}

fn instantiate(checked: &Checked) -> Result<Program, CompileError> {
    let program = checked.program();
    program.map_err(|why| CompileError::Internal(format!("program instantiation failed: {why}")))
}

/// Returns the type that a variable has for other expressions: objects with fields are `dyn` to them.
fn variable_type(of: &Type) -> Type {
    match of {
        Type::List(element) => Type::list(variable_type(element)),
        Type::Map(key, value) => Type::map(variable_type(key), variable_type(value)),
        Type::Object(_) | Type::Opaque(..) | Type::Type(_) | Type::Param(_) | Type::Error => {
            Type::Dyn
        }
        other => other.clone(),
    }
}
