//! Environments: what names an expression can use.
//!
//! ```
//! use kubewright_cel::{Env, Type};
//!
//! let env = Env::new().variable("request", Type::map(Type::String, Type::Dyn));
//! let checked = env.compile("request.user == 'jane'")?;
//! assert_eq!(checked.output_type(), &Type::Bool);
//! # Ok::<(), kubewright_cel::Issues>(())
//! ```

use std::sync::Arc;

use crate::checker::{self, Checked};
use crate::decl::DeclType;
use crate::functions::{self, Registry};
use crate::parser;
use crate::source::{Issues, Source};
use crate::types::Type;

/// The variables of an expression and their types, beside the functions of Kubernetes.
///
/// Variables are numbered in the order they are declared; an [`Activation`](crate::Activation) gives their values in
/// the same order.
#[derive(Debug, Clone, Default)]
pub struct Env {
    variables: Vec<Variable>,
}

/// A declared name.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) of: Type,
    /// What is known of its size and of the objects in it.
    pub(crate) decl: Option<(Arc<str>, Arc<DeclType>)>,
}

impl Env {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a variable of a type without declared objects in it.
    #[must_use]
    pub fn variable(mut self, name: &str, of: Type) -> Self {
        self.variables.push(Variable {
            name: name.to_owned(),
            of,
            decl: None,
        });
        self
    }

    /// Declares a variable of a declared type. Objects in it are called `type_name` and by their path from there in
    /// messages; variables that share a declared type should share the name.
    #[must_use]
    pub fn declared(mut self, name: &str, type_name: &str, decl: &Arc<DeclType>) -> Self {
        self.variables.push(Variable {
            name: name.to_owned(),
            of: decl.cel_type(type_name),
            decl: Some((type_name.into(), decl.clone())),
        });
        self
    }

    /// Declares a variable that is an optional of a declared type.
    #[must_use]
    pub fn declared_optional(mut self, name: &str, type_name: &str, decl: &Arc<DeclType>) -> Self {
        self.variables.push(Variable {
            name: name.to_owned(),
            of: Type::optional(decl.cel_type(type_name)),
            decl: Some((type_name.into(), decl.clone())),
        });
        self
    }

    /// Parses and checks an expression.
    pub fn compile(&self, expression: &str) -> Result<Checked, Issues> {
        let source = Source::new(expression);
        let ast = parser::parse(&source)?;
        checker::check(ast, source, self)
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<(usize, &Variable)> {
        let mut variables = self.variables.iter().enumerate();
        variables.rfind(|(_, variable)| variable.name == name)
    }

    pub(crate) fn functions(&self) -> &'static Registry {
        functions::kubernetes()
    }

    /// The first declared type, which sizes are looked up in.
    pub(crate) fn declared_root(&self) -> Option<&Arc<DeclType>> {
        let mut decls = self.variables.iter().filter_map(|v| v.decl.as_ref());
        decls.next().map(|(_, decl)| decl)
    }

    /// The declared object type called `name`.
    pub(crate) fn object(&self, name: &str) -> Option<&Arc<DeclType>> {
        self.variables.iter().find_map(|variable| {
            let (root, decl) = variable.decl.as_ref()?;
            let path = name.strip_prefix(&**root)?;
            if !path.is_empty() && !path.starts_with('.') {
                return None;
            }
            decl.at_type_path(path)
        })
    }
}
