//! Expressions with the answers of kube-apiserver 1.36.

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
