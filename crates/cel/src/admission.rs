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

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::checker::Checked;
use crate::compile_error::CompileError;
use crate::decl::DeclType;
use crate::env::Env;
use crate::types::Type;

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
    pub fn add_variable(&mut self, name: &str, expression: &str) -> Result<(), CompileError> {
        let compiled = self.compile_any(expression);
        let of = match &compiled {
            Ok(checked) => variable_type(checked.output_type()),
            Err(_) => Type::Dyn,
        };
        let variables = self.variables.get_or_insert_default();
        variables.insert(name.to_owned(), of);
        compiled.map(|_| ())
    }

    /// Compiles an expression that must be of one of the types in `returns`.
    ///
    /// # Errors
    ///
    /// Returns an error if the expression does not compile or is of another type.
    pub fn compile(&self, expression: &str, returns: &[Type]) -> Result<Checked, CompileError> {
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
        self.instantiate(checked)
    }

    fn compile_any(&self, expression: &str) -> Result<Checked, CompileError> {
        self.instantiate(self.check(expression)?)
    }

    fn check(&self, expression: &str) -> Result<Checked, CompileError> {
        let compiled = self.env().compile(expression);
        compiled.map_err(|issues| CompileError::Invalid(format!("compilation failed: {issues}")))
    }

    fn instantiate(&self, checked: Checked) -> Result<Checked, CompileError> {
        // Messages are checked, but cannot be evaluated yet.
        if !self.patch_types {
            checked.program().map_err(|why| {
                CompileError::Internal(format!("program instantiation failed: {why}"))
            })?;
        }
        Ok(checked)
    }

    fn env(&self) -> Env {
        let (request, namespace) = (request_type(), namespace_type());
        let mut env = Env::new()
            .variable("object", Type::Dyn)
            .variable("oldObject", Type::Dyn)
            .declared("namespaceObject", "kubernetes.Namespace", namespace)
            .declared("request", "kubernetes.AdmissionRequest", request);
        if self.params {
            env = env.variable("params", Type::Dyn);
        }
        if self.authorizer {
            let check = Type::object("kubernetes.authorization.ResourceCheck");
            let authorizer = Type::object("kubernetes.authorization.Authorizer");
            env = env
                .variable("authorizer", authorizer)
                .variable("authorizer.requestResource", check);
        }
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

fn text() -> Arc<DeclType> {
    DeclType::scalar(Type::String)
}

fn texts() -> Arc<DeclType> {
    DeclType::list(text())
}

fn request_type() -> &'static Arc<DeclType> {
    static TYPE: OnceLock<Arc<DeclType>> = OnceLock::new();
    TYPE.get_or_init(|| {
        let kind = DeclType::named_object(
            "kubernetes.GroupVersionKind",
            [("group", text()), ("version", text()), ("kind", text())],
        );
        let resource = DeclType::named_object(
            "kubernetes.GroupVersionResource",
            [("group", text()), ("version", text()), ("resource", text())],
        );
        let user = DeclType::named_object(
            "kubernetes.UserInfo",
            [
                ("username", text()),
                ("uid", text()),
                ("groups", texts()),
                (
                    "extra",
                    DeclType::scalar(Type::map(Type::String, Type::list(Type::String))),
                ),
            ],
        );
        DeclType::named_object(
            "kubernetes.AdmissionRequest",
            [
                ("kind", kind.clone()),
                ("resource", resource.clone()),
                ("subResource", text()),
                ("requestKind", kind),
                ("requestResource", resource),
                ("requestSubResource", text()),
                ("name", text()),
                ("namespace", text()),
                ("operation", text()),
                ("userInfo", user),
                ("dryRun", DeclType::scalar(Type::Bool)),
                ("options", DeclType::scalar(Type::Dyn)),
            ],
        )
    })
}

fn namespace_type() -> &'static Arc<DeclType> {
    static TYPE: OnceLock<Arc<DeclType>> = OnceLock::new();
    TYPE.get_or_init(|| {
        let labels = || DeclType::scalar(Type::map(Type::String, Type::String));
        let time = || DeclType::scalar(Type::Timestamp);
        let metadata = DeclType::named_object(
            "kubernetes.NamespaceMetadata",
            [
                ("name", text()),
                ("generateName", text()),
                ("namespace", text()),
                ("labels", labels()),
                ("annotations", labels()),
                ("UID", text()),
                ("creationTimestamp", time()),
                ("deletionGracePeriodSeconds", DeclType::scalar(Type::Int)),
                ("deletionTimestamp", time()),
                ("generation", DeclType::scalar(Type::Int)),
                ("resourceVersion", text()),
                ("finalizers", texts()),
            ],
        );
        let spec = DeclType::named_object("kubernetes.NamespaceSpec", [("finalizers", texts())]);
        let condition = DeclType::named_object(
            "kubernetes.NamespaceCondition",
            [
                ("status", text()),
                ("type", text()),
                ("lastTransitionTime", time()),
                ("message", text()),
                ("reason", text()),
            ],
        );
        let status = DeclType::named_object(
            "kubernetes.NamespaceStatus",
            [("conditions", DeclType::list(condition)), ("phase", text())],
        );
        DeclType::named_object(
            "kubernetes.Namespace",
            [("metadata", metadata), ("spec", spec), ("status", status)],
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(env: &AdmissionEnv, expression: &str) -> String {
        let compiled = env.compile(expression, &[Type::Bool]);
        compiled.expect_err(expression).to_string()
    }

    #[test]
    fn requests_namespaces_and_the_authorizer_have_types() {
        let env = AdmissionEnv::new().authorizer();
        for expression in [
            "namespaceObject.metadata.name == 'a'",
            "authorizer.path('/x').check('get').allowed()",
            "authorizer.requestResource.check('x').allowed()",
            "request.dryRun",
            "request.options.x == 1",
            "has(request.namespace)",
        ] {
            assert!(
                env.compile(expression, &[Type::Bool]).is_ok(),
                "{expression}"
            );
        }
        assert_eq!(
            error(&env, "request.kind == \"x\""),
            "compilation failed: ERROR: <input>:1:14: found no matching overload for '_==_' \
             applied to '(kubernetes.GroupVersionKind, string)'\n | request.kind == \"x\"\n | .............^"
        );
        assert_eq!(
            error(&env, "namespaceObject.metadata.foo"),
            "compilation failed: ERROR: <input>:1:25: undefined field 'foo'\n | \
             namespaceObject.metadata.foo\n | ........................^"
        );
        assert_eq!(
            error(&env, "authorizer"),
            "must evaluate to bool but got kubernetes.authorization.Authorizer"
        );
        assert_eq!(
            error(&env, "variables.a == 1"),
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in \
             container '')\n | variables.a == 1\n | ^"
        );
    }

    #[test]
    fn a_program_that_cannot_be_made_is_an_internal_error() {
        let compiled = AdmissionEnv::new().compile("int(\"x\") == 1", &[Type::Bool]);
        let why = "program instantiation failed: type conversion error from 'string' to 'int'";
        assert_eq!(compiled.unwrap_err(), CompileError::Internal(why.into()));
    }

    #[test]
    fn types_have_the_names_of_declarations() {
        let env = AdmissionEnv::new();
        for (expression, found) in [
            (
                "{\"a\": timestamp(\"2020-01-01T00:00:00Z\")}",
                "map(string, google.protobuf.Timestamp)",
            ),
            ("optional.of(1)", "optional_type(int)"),
            ("type(1)", "type(int)"),
            ("[]", "list(dyn)"),
        ] {
            let compiled = env.compile(expression, &[Type::String, Type::Null]);
            assert_eq!(
                compiled.unwrap_err().to_string(),
                format!("must evaluate to one of [string null_type] but got {found}")
            );
        }
    }

    #[test]
    fn variables_have_the_types_of_their_expressions() {
        let mut env = AdmissionEnv::new();
        env.add_variable("a", "1").unwrap();
        env.add_variable("b", "variables.a == 2").unwrap();
        env.add_variable("e", "[1]").unwrap();
        env.add_variable("c", "variables.nope").unwrap_err();
        env.add_variable("ns", "namespaceObject").unwrap();
        assert!(env.compile("variables.b", &[Type::Bool]).is_ok());
        assert_eq!(
            error(&env, "variables.c.d"),
            "must evaluate to bool but got dyn"
        );
        assert_eq!(
            error(&env, "variables.ns"),
            "must evaluate to bool but got dyn"
        );
        assert_eq!(
            error(&env, "variables.e == \"a\""),
            "compilation failed: ERROR: <input>:1:13: found no matching overload for '_==_' \
             applied to '(list(int), string)'\n | variables.e == \"a\"\n | ............^"
        );
    }

    #[test]
    fn patches_are_made_of_messages() {
        let env = AdmissionEnv::new().variables().patch_types();
        let object = [Type::object("Object")];
        for expression in [
            "Object{spec: Object.spec{replicas: 1}}",
            "has(Object{a:1}.b) ? Object{} : Object{}",
            "[Object{}][0]",
            "Object{?a: optional.of(1)}",
        ] {
            assert!(env.compile(expression, &object).is_ok(), "{expression}");
        }
        for (expression, message) in [
            (
                "Object.spec{}",
                "must evaluate to Object but got Object.spec",
            ),
            ("{}", "must evaluate to Object but got map(dyn, dyn)"),
            (
                "Foo{}",
                "compilation failed: ERROR: <input>:1:4: undeclared reference to 'Foo' (in container '')\n | Foo{}\n | ...^",
            ),
            (
                "Object{?a: 1}",
                "compilation failed: ERROR: <input>:1:12: expected type 'optional_type(int)' but found 'int'\n | Object{?a: 1}\n | ...........^",
            ),
        ] {
            let compiled = env.compile(expression, &object);
            assert_eq!(compiled.unwrap_err().to_string(), message);
        }
        let patch = [Type::list(Type::object("JSONPatch"))];
        for expression in [
            "[JSONPatch{op: \"test\", path: \"/a\", value: 1}]",
            "[JSONPatch{op: \"add\", path: \"/\" + jsonpatch.escapeKey(\"a/b\"), value: Object{}}]",
            "object.x ? [JSONPatch{}] : []",
        ] {
            assert!(env.compile(expression, &patch).is_ok(), "{expression}");
        }
        for (expression, message) in [
            ("[]", "must evaluate to list(JSONPatch) but got list(dyn)"),
            (
                "[JSONPatch{op: 1}]",
                "compilation failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'\n | [JSONPatch{op: 1}]\n | .............^",
            ),
            (
                "[JSONPatch{foo: 1}]",
                "compilation failed: ERROR: <input>:1:15: expected type of field 'foo' is '' but provided type is 'int'\n | [JSONPatch{foo: 1}]\n | ..............^",
            ),
        ] {
            let compiled = env.compile(expression, &patch);
            assert_eq!(compiled.unwrap_err().to_string(), message);
        }
        let plain = AdmissionEnv::new();
        assert_eq!(
            error(&plain, "jsonpatch.escapeKey(\"a\") == \"b\""),
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'jsonpatch' (in container '')\n | \
             jsonpatch.escapeKey(\"a\") == \"b\"\n | ^\nERROR: <input>:1:20: undeclared reference to 'escapeKey' \
             (in container '')\n | jsonpatch.escapeKey(\"a\") == \"b\"\n | ...................^"
        );
    }
}
