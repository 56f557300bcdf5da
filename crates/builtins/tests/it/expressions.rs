//! Expressions that do not compile, in webhooks, policies and device selectors. The messages are those of
//! kube-apiserver 1.36.

use serde_json::{Value, json};

use crate::{created, errors_of_create, updated};

const ADMISSION: &str = "admissionregistration.k8s.io";
const RESOURCE: &str = "resource.k8s.io";

fn constraints() -> Value {
    json!({"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
    ]})
}

fn policy(spec: Value) -> Value {
    let mut policy = json!({"metadata": {"name": "x"}, "spec": spec});
    policy["spec"]["matchConstraints"] = constraints();
    policy
}

fn webhook(expression: &str) -> Value {
    json!({"metadata": {"name": "x"}, "webhooks": [{
        "name": "a.b.c",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://x/y"},
        "rules": constraints()["resourceRules"],
        "matchConditions": [{"name": "m", "expression": expression}],
    }]})
}

#[test]
fn match_conditions_of_webhooks_must_compile() {
    let kind = "ValidatingWebhookConfiguration";
    let path = "webhooks[0].matchConditions[0].expression: Invalid value";
    for (expression, message) in [
        ("1", r#""1": must evaluate to bool but got int"#),
        (
            "params == null",
            "\"params == null\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params == null\n | ^",
        ),
        (
            "object.spec.",
            "\"object.spec.\": compilation failed: ERROR: <input>:1:13: Syntax error: no viable alternative at input '.'\n | object.spec.\n | ............^",
        ),
    ] {
        let expected = format!("{path}: {message}");
        assert_eq!(
            errors_of_create(ADMISSION, kind, webhook(expression)),
            [expected]
        );
    }
    let fine = webhook("authorizer.path('/x').check('get').allowed()");
    assert_eq!(
        errors_of_create(ADMISSION, kind, fine),
        Vec::<String>::new()
    );
}

#[test]
fn match_conditions_that_stay_are_not_compiled_again() {
    let kind = "MutatingWebhookConfiguration";
    let old = created(ADMISSION, kind, webhook("nope"));
    let (_, errors) = updated(ADMISSION, kind, &old, webhook("nope"));
    assert_eq!(errors, Vec::<String>::new());
    let (_, errors) = updated(ADMISSION, kind, &old, webhook("nope == 1"));
    assert_eq!(errors.len(), 1);
}

#[test]
fn policies_must_compile() {
    let of_policy = |spec| errors_of_create(ADMISSION, "ValidatingAdmissionPolicy", policy(spec));
    assert_eq!(
        of_policy(json!({
            "variables": [{"name": "a", "expression": "1"}, {"name": "c", "expression": "variables.nope"}],
            "validations": [
                {"expression": "variables.a == 1"},
                {"expression": "variables.c"},
                {"expression": "true", "messageExpression": "authorizer"},
                {"expression": "int(\"x\") == 1", "messageExpression": "1"},
            ],
            "auditAnnotations": [
                {"key": "k", "valueExpression": "null"},
                {"key": "l", "valueExpression": " \"x\" + 1"},
            ],
            "matchConditions": [{"name": "m", "expression": " foo"}],
        })),
        [
            "spec.matchConditions[0].expression: Invalid value: \"foo\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo\n | ^",
            "spec.variables[1].expression: Invalid value: \"variables.nope\": compilation failed: ERROR: <input>:1:10: undefined field 'nope'\n | variables.nope\n | .........^",
            "spec.validations[1].expression: Invalid value: \"variables.c\": must evaluate to bool but got dyn",
            "spec.validations[2].messageExpression: Invalid value: \"authorizer\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')\n | authorizer\n | ^",
            "spec.validations[3].expression: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
            "spec.validations[3].messageExpression: Invalid value: \"1\": must evaluate to string but got int",
            "spec.auditAnnotations[1].valueExpression: Invalid value: \" \\\"x\\\" + 1\": compilation failed: ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n | \"x\" + 1\n | ....^",
        ]
    );
    let with_params = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "params.x == 1"}],
        "matchConditions": [{"name": "m", "expression": "params.a == 1"}],
    });
    assert_eq!(of_policy(with_params), Vec::<String>::new());
}

#[test]
fn mutations_must_compile() {
    let of_mutation = |mutation: Value| {
        let spec = json!({"reinvocationPolicy": "Never", "mutations": [mutation]});
        errors_of_create(ADMISSION, "MutatingAdmissionPolicy", policy(spec))
    };
    let apply = |text: &str| json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}});
    let patch = |text: &str| json!({"patchType": "JSONPatch", "jsonPatch": {"expression": text}});
    assert_eq!(
        of_mutation(apply("Object{spec: Object.spec{replicas: 1}}")),
        Vec::<String>::new()
    );
    assert_eq!(
        of_mutation(apply("variables.x")),
        [
            "spec.mutations[0].applyConfiguration.expression: Invalid value: \"variables.x\": compilation failed: ERROR: <input>:1:10: undefined field 'x'\n | variables.x\n | .........^"
        ]
    );
    assert_eq!(
        of_mutation(patch("[JSONPatch{op: 1}]")),
        [
            "spec.mutations[0].jsonPatch.expression: Invalid value: \"[JSONPatch{op: 1}]\": compilation failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'\n | [JSONPatch{op: 1}]\n | .............^"
        ]
    );
}

#[test]
fn selectors_of_devices_must_compile() {
    let class = |text: &str| json!({"metadata": {"name": "x"}, "spec": {"selectors": [{"cel": {"expression": text}}]}});
    assert_eq!(
        errors_of_create(RESOURCE, "DeviceClass", class("device.driver == 'a'")),
        Vec::<String>::new()
    );
    assert_eq!(
        errors_of_create(RESOURCE, "DeviceClass", class("1")),
        [
            "spec.selectors[0].cel.expression: Invalid value: \"1\": must evaluate to bool or the unknown type, not int"
        ]
    );
    let long = format!("true{}", " ".repeat(10240));
    assert_eq!(
        errors_of_create(RESOURCE, "DeviceClass", class(&long)),
        ["spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"]
    );
    let selectors = json!([{"cel": {"expression": "x."}}]);
    let claim = json!({"metadata": {"name": "x", "namespace": "n"}, "spec": {"devices": {"requests": [
        {"name": "r", "exactly": {"deviceClassName": "c", "selectors": selectors}},
        {"name": "s", "firstAvailable": [{"name": "t", "deviceClassName": "c", "selectors": selectors}]},
    ]}}});
    let message = "Invalid value: \"x.\": compilation failed: ERROR: <input>:1:3: Syntax error: no viable alternative at input '.'\n | x.\n | ..^";
    assert_eq!(
        errors_of_create(RESOURCE, "ResourceClaim", claim),
        [
            format!("spec.devices.requests[0].exactly.selectors[0].cel.expression: {message}"),
            format!(
                "spec.devices.requests[1].firstAvailable[0].selectors[0].cel.expression: {message}"
            ),
        ]
    );
}
