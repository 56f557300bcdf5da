//! Environments: the names that an expression can use.
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
use crate::functions::{self, Function};
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
    patch_types: bool,
    bindings: bool,
}

/// The message type of the operations of a JSON patch.
pub(crate) const JSON_PATCH: &str = "JSONPatch";
/// The message type of apply configurations.
pub(crate) const OBJECT: &str = "Object";

/// A declared name.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) of: Type,
    /// The declared type, with sizes and objects.
    pub(crate) decl: Option<(Arc<str>, Arc<DeclType>)>,
}

impl Env {
    /// Creates an environment without variables.
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

    /// Leaves out a number: a value that the expression cannot use.
    #[must_use]
    pub(crate) fn unnamed(self) -> Self {
        self.variable("", Type::Dyn)
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

    /// Declares the types of patches: the messages `Object{}` and `JSONPatch{}`, and `jsonpatch.escapeKey`.
    #[must_use]
    pub fn with_patch_types(mut self) -> Self {
        self.patch_types = true;
        self
    }

    /// Declares the macro `cel.bind`.
    #[must_use]
    pub fn with_bindings(mut self) -> Self {
        self.bindings = true;
        self
    }

    /// Parses and checks an expression.
    ///
    /// # Errors
    ///
    /// Returns the issues of an expression that does not parse or whose types do not fit, worded as Kubernetes words
    /// them.
    pub fn compile(&self, expression: &str) -> Result<Checked, Issues> {
        let source = Source::new(expression);
        let ast = parser::parse(&source, self.bindings)?;
        checker::check(ast, source, self)
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<(usize, &Variable)> {
        let mut variables = self.variables.iter().enumerate();
        variables.rfind(|(_, variable)| variable.name == name)
    }

    pub(crate) fn function(&self, name: &str) -> Option<&'static Arc<Function>> {
        let found = functions::kubernetes().get(name);
        found.or_else(|| {
            functions::json_patch()
                .get(name)
                .filter(|_| self.patch_types)
        })
    }

    /// Reports whether `name{}` makes a message.
    pub(crate) fn has_message(&self, name: &str) -> bool {
        let object = name.strip_prefix(OBJECT);
        let is_object = object.is_some_and(|path| path.is_empty() || path.starts_with('.'));
        self.patch_types && (is_object || name == JSON_PATCH)
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
            if let Some(named) = decl.named(name) {
                return Some(named);
            }
            let path = name.strip_prefix(&**root)?;
            if !path.is_empty() && !path.starts_with('.') {
                return None;
            }
            decl.at_type_path(path)
        })
    }
}
