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

fn evaluated(env: &AdmissionEnv, expression: &str, input: &AdmissionInput<'_>) -> (String, u64) {
    let program = env.check(expression).and_then(|c| instantiate(&c)).unwrap();
    let activation = input.activation();
    let evaluation = program.evaluate(&activation);
    let text = match evaluation.result {
        Ok(value) => value.literal(),
        Err(error) => error.to_string(),
    };
    (text, evaluation.cost)
}

/// Allows verbs that begin with a `g`.
#[derive(Debug)]
struct Readers;

impl crate::AccessDecisions for Readers {
    fn decision(
        &self,
        check: &crate::AccessCheck,
    ) -> Option<std::sync::Arc<crate::AccessDecision>> {
        let account = check.service_account.as_deref();
        Some(std::sync::Arc::new(crate::AccessDecision {
            allowed: check.verb.starts_with('g'),
            reason: format!("{account:?} {:?}", check.target),
            error: (&*check.verb == "err").then(|| "broken".to_owned()),
        }))
    }
}

#[test]
fn authorization_checks_ask_for_decisions() {
    let env = AdmissionEnv::new().authorizer();
    let input = AdmissionInput {
        decisions: Some(&Readers),
        ..AdmissionInput::default()
    };
    for (expression, result) in [
        ("authorizer.path('/x').check('get').allowed()", "true"),
        (
            "authorizer.group('').resource('pods').check('list').allowed()",
            "false",
        ),
        ("authorizer.requestResource.check('err').errored()", "true"),
        (
            "authorizer.requestResource.check('err').error()",
            "\"broken\"",
        ),
        ("authorizer.requestResource.check('get').error()", "\"\""),
        (
            "authorizer.path(' ').check('get').allowed()",
            "path must not be empty",
        ),
        (
            "authorizer.group('').resource('').check('get').allowed()",
            "resource must not be empty",
        ),
        (
            "authorizer.serviceAccount('a', 'B').path('/').check('get').allowed()",
            "Invalid service account name",
        ),
        (
            "authorizer.serviceAccount('a.b', 'b').path('/').check('get').allowed()",
            "Invalid service account namespace",
        ),
        (
            "authorizer.serviceAccount('a', 'b').path('/x').check('get').reason()",
            r#""Some((\"a\", \"b\")) Path(\"/x\")""#,
        ),
    ] {
        assert_eq!(
            evaluated(&env, expression, &input).0,
            result,
            "{expression}"
        );
    }
    let resource = "authorizer.group('g').resource('r').subresource('s').namespace('n').name('x')\
         .fieldSelector('f').labelSelector('l').check('get').reason()";
    let (reason, cost) = evaluated(&env, resource, &input);
    for part in [
        "group: \\\"g\\\"",
        "label_selector: \\\"l\\\"",
        "name: \\\"x\\\"",
    ] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(cost, 350_009);
    let absent = AdmissionInput::default();
    let (text, _) = evaluated(
        &env,
        "authorizer.path('/x').check('get').allowed()",
        &absent,
    );
    assert_eq!(text, "no such attribute(s): authorizer");
}

#[test]
fn two_checks_fit_into_an_expression() {
    let env = AdmissionEnv::new().authorizer();
    let input = AdmissionInput {
        decisions: Some(&Readers),
        ..AdmissionInput::default()
    };
    let check = "authorizer.requestResource.check('get').allowed()";
    let two = format!("{check} && {check}");
    assert_eq!(evaluated(&env, &two, &input), ("true".to_owned(), 700_004));
    let (three, _) = evaluated(&env, &format!("{two} && {check}"), &input);
    assert_eq!(three, "operation cancelled: actual cost limit exceeded");
}

#[test]
fn messages_have_fields() {
    let env = AdmissionEnv::new().patch_types();
    let input = AdmissionInput::default();
    for (expression, result) in [
        ("Object{a: 1}.a", "1"),
        ("Object{a: 1}.b == null", "true"),
        ("has(Object{a: 1}.a)", "true"),
        ("has(Object{a: 1}.b)", "false"),
        ("Object{a: 1} == Object{a: 1}", "true"),
        ("Object{a: 1} == Object{a: 2}", "false"),
        ("dyn(Object.a{}) == dyn(Object{})", "false"),
        ("jsonpatch.escapeKey('a/b~c')", "\"a~1b~0c\""),
    ] {
        assert_eq!(
            evaluated(&env, expression, &input).0,
            result,
            "{expression}"
        );
    }
    assert_eq!(
        evaluated(&env, "Object{spec: Object.spec{a: 1}}", &input).1,
        80
    );
    let expression = "Object{spec: Object.spec{?a: optional.of(1), ?b: optional.none(), c: [Object.spec.c{d: {'e': null}}]}}";
    let program = env.compile(expression, &[Type::object("Object")]).unwrap();
    let activation = input.activation();
    let value = program.evaluate(&activation).result.unwrap();
    let json = serde_json::json!({"spec": {"a": 1, "c": [{"d": {"e": null}}]}});
    assert_eq!(value.to_json().unwrap(), json);
    let crate::Value::Message(message) = value else {
        panic!("a message");
    };
    assert_eq!(message.check_type_names(), Ok(()));
}

#[test]
fn objects_are_named_after_their_fields() {
    let env = AdmissionEnv::new().patch_types();
    let program = env.compile("Object{spec: Object.status{}}", &[Type::object("Object")]);
    let (program, input) = (program.unwrap(), AdmissionInput::default());
    let activation = input.activation();
    let Ok(crate::Value::Message(message)) = program.evaluate(&activation).result else {
        panic!("a message");
    };
    assert_eq!(
        message.check_type_names().unwrap_err(),
        r#"unexpected type name "Object.status", expected "Object.spec", which matches field name path from root Object type"#
    );
}

#[test]
fn variables_are_evaluated_once_and_only_if_used() {
    let mut env = AdmissionEnv::new();
    let mut variables = Vec::new();
    for (name, expression) in [
        ("one", "1"),
        ("fails", "object.missing == 1"),
        ("broken", "nope"),
        ("two", "variables.one + 1"),
    ] {
        let program = env.add_variable(name, expression);
        variables.push(crate::NamedProgram::new(name, program));
    }
    let object = serde_json::json!({});
    let input = AdmissionInput {
        object: Some(&object),
        ..AdmissionInput::default()
    };
    let (activation, composition) = (input.activation(), crate::Composition::new(&variables));
    for (expression, result, cost) in [
        ("variables.one == 1 || variables.fails", "true", 0),
        ("variables.two == 2", "true", 3),
        ("variables.two == 2", "true", 0),
        ("has(variables.two)", "true", 0),
        (
            "variables.fails",
            "composited variable \"fails\" fails to evaluate: no such key: missing",
            3,
        ),
        ("variables.fails || true", "true", 0),
    ] {
        let program = env.compile(expression, &[Type::Bool]).unwrap();
        let program = Box::leak(Box::new(program));
        let evaluation = program.evaluate_composed(&activation, &composition);
        let text = evaluation
            .result
            .map_or_else(|e| e.to_string(), |v| v.literal());
        assert_eq!(
            (text.as_str(), composition.take_cost()),
            (result, cost),
            "{expression}"
        );
    }
    let broken = env.compile("variables.broken == 1", &[Type::Bool]).unwrap();
    let composition = crate::Composition::new(&variables);
    let evaluation = broken.evaluate_composed(&activation, &composition);
    let text = evaluation.result.unwrap_err().to_string();
    assert!(
        text.starts_with("composited variable \"broken\" fails to compile: compilation failed:"),
        "{text}"
    );
}
