//! Checks the expressions of a policy against the schemas of the objects that it is for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::types::{namespace_type, request_type};
use super::{VARIABLES, variable_type};
use crate::decl::DeclType;
use crate::env::Env;
use crate::source::Issues;
use crate::types::Type;

/// Checks expressions of a policy against the type of the objects that it matches.
///
/// Policies are enforced without types: `object` and `params` may be anything there. This finds mistakes such as misspelt
/// fields beforehand, for `status.typeChecking`. The environment is that of kube-controller-manager: all expressions have
/// `authorizer`, and none has `authorizer.requestResource`.
///
/// ```
/// use kubewright_cel::{DeclType, Extent, Schema, TypeChecker};
/// use serde_json::json;
///
/// let schema = Schema::from_json(&json!({
///     "type": "object",
///     "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}},
/// }));
/// let object = DeclType::of(&schema, Extent::Resource).expect("an object has a type");
/// let mut checker = TypeChecker::new().object("Widget", &object);
/// checker.add_variable("replicas", "object.spec.replicas");
///
/// assert!(checker.check("variables.replicas < 5").is_ok());
/// let issues = checker.check("object.spec.replica < 5").expect_err("there is no such field");
/// assert!(issues.to_string().contains("undefined field 'replica'"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct TypeChecker {
    object: Option<Declared>,
    params: Option<Option<Declared>>,
    variables: BTreeMap<String, Type>,
}

/// A declared type with its name.
#[derive(Debug, Clone)]
struct Declared {
    name: Arc<str>,
    of: Arc<DeclType>,
}

impl TypeChecker {
    /// Creates a checker for objects of any type.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares the type of `object` and `oldObject`, which messages call `name`.
    #[must_use]
    pub fn object(mut self, name: &str, of: &Arc<DeclType>) -> Self {
        self.object = Some(Declared::new(name, of));
        self
    }

    /// Declares `params` of any type.
    #[must_use]
    pub fn params(mut self) -> Self {
        self.params = Some(None);
        self
    }

    /// Declares `params` of a type, which messages call `name`. The name must differ from that of `object`.
    #[must_use]
    pub fn params_of(mut self, name: &str, of: &Arc<DeclType>) -> Self {
        self.params = Some(Some(Declared::new(name, of)));
        self
    }

    /// Declares a variable for the expressions that follow. One that does not check is of any type.
    pub fn add_variable(&mut self, name: &str, expression: &str) {
        let checked = self.env().compile(expression);
        let of = checked.map_or(Type::Dyn, |checked| variable_type(checked.output_type()));
        self.variables.insert(name.to_owned(), of);
    }

    /// Checks an expression, which may be of any type.
    ///
    /// # Errors
    ///
    /// Returns the issues of an expression that does not parse or does not check.
    pub fn check(&self, expression: &str) -> Result<(), Issues> {
        self.env().compile(expression).map(drop)
    }

    fn env(&self) -> Env {
        let object = self.object.as_ref();
        let mut env = Env::new()
            .declared("namespaceObject", "kubernetes.Namespace", namespace_type())
            .declared("request", "kubernetes.AdmissionRequest", request_type());
        for name in ["object", "oldObject"] {
            env = declare(env, name, object);
        }
        if let Some(params) = &self.params {
            env = declare(env, "params", params.as_ref());
        }
        let authorizer = Type::object("kubernetes.authorization.Authorizer");
        let variables = self.variables.iter();
        let variables = variables.map(|(name, of)| (name.as_str(), DeclType::scalar(of.clone())));
        env.variable("authorizer", authorizer).declared(
            "variables",
            VARIABLES,
            &DeclType::named_object(VARIABLES, variables),
        )
    }
}

impl Declared {
    fn new(name: &str, of: &Arc<DeclType>) -> Self {
        Self {
            name: name.into(),
            of: of.clone(),
        }
    }
}

fn declare(env: Env, variable: &str, of: Option<&Declared>) -> Env {
    match of {
        Some(declared) => env.declared(variable, &declared.name, &declared.of),
        None => env.variable(variable, Type::Dyn),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decl::Extent;
    use crate::schema::Schema;

    fn checker() -> TypeChecker {
        let schema = Schema::from_json(&json!({
            "type": "object",
            "properties": {
                "spec": {"type": "object", "properties": {
                    "replicas": {"type": "integer"},
                    "port": {"x-kubernetes-int-or-string": true},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "anything": {"x-kubernetes-preserve-unknown-fields": true},
                }},
            },
        }));
        let of = DeclType::of(&schema, Extent::Resource).unwrap();
        TypeChecker::new().object("Widget", &of)
    }

    fn issues(checker: &TypeChecker, expression: &str) -> String {
        checker.check(expression).unwrap_err().to_string()
    }

    #[test]
    fn fields_that_the_schema_lacks_are_undefined() {
        let checker = checker();
        for expression in [
            "object.spec.replicas > 1 && oldObject.spec.replicas < 2",
            "object.metadata.name",
            "object.spec.port == 1 || object.spec.port == 'http'",
            "object.spec.labels.any == 'x'",
            "authorizer.group('').resource('pods').check('get').allowed()",
        ] {
            assert!(checker.check(expression).is_ok(), "{expression}");
        }
        assert_eq!(
            issues(&checker, "oldObject.spec.anything"),
            "ERROR: <input>:1:15: undefined field 'anything'\n | oldObject.spec.anything\n | ..............^"
        );
        assert_eq!(
            issues(&checker, "object.spec == 1"),
            "ERROR: <input>:1:13: found no matching overload for '_==_' applied to '(Widget.spec, int)'\n | object.spec == 1\n | ............^"
        );
    }

    #[test]
    fn params_are_declared_if_the_policy_has_them() {
        let without = checker();
        assert!(issues(&without, "params.max").contains("undeclared reference to 'params'"));
        assert!(without.clone().params().check("params.max").is_ok());
        let of = DeclType::object([("max".to_owned(), DeclType::scalar(Type::Int))]);
        let with = without.params_of("Limits", &of);
        assert!(with.check("params.max > object.spec.replicas").is_ok());
        assert!(issues(&with, "params.min").contains("undefined field 'min'"));
    }

    #[test]
    fn variables_keep_their_types_except_for_objects() {
        let mut checker = checker();
        checker.add_variable("replicas", "object.spec.replicas");
        checker.add_variable("spec", "object.spec");
        checker.add_variable("broken", "object.nothing");
        assert!(checker.check("variables.spec.anything").is_ok());
        assert!(checker.check("variables.broken == 'x'").is_ok());
        let text = issues(&checker, "variables.replicas == 'x'");
        assert!(text.contains("'_==_' applied to '(int, string)'"), "{text}");
        assert!(issues(&checker, "variables.unknown").contains("undefined field 'unknown'"));
    }

    #[test]
    fn the_resource_of_the_request_is_not_declared() {
        let text = issues(
            &checker(),
            "authorizer.requestResource.check('get').allowed()",
        );
        let why = "unexpected failed resolution of 'kubernetes.authorization.Authorizer'";
        assert!(text.contains(why), "{text}");
    }
}
