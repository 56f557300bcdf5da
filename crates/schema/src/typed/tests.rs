use super::*;
use crate::json::parse_json;
use kubewright_machinery::limits::DOCUMENT_DEPTH;
use serde_json::json;

fn ty(group: &str, version: &str, resource: &str) -> &'static StructType {
    kubewright_catalog::resource(group, version, resource)
        .expect("built in")
        .ty
}

fn decode(ty: &'static StructType, text: &str) -> Result<Typed, String> {
    decode_typed(parse_json(text.as_bytes()).unwrap(), ty).map_err(|e| e.to_string())
}

fn value(ty: &'static StructType, text: &str) -> Value {
    decode(ty, text).unwrap().value
}

fn config_map() -> &'static StructType {
    ty("", "v1", "configmaps")
}

fn deployment() -> &'static StructType {
    ty("apps", "v1", "deployments")
}

fn pod() -> &'static StructType {
    ty("", "v1", "pods")
}

fn crd() -> &'static StructType {
    ty("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

#[test]
fn unknown_fields_vanish_and_are_reported_by_path() {
    let typed = decode(
        pod(),
        r#"{"foo":1,"spec":{"containers":[{"name":"a"},{"imagee":"x","ports":[{"y":{}}]}],"nodeSelector":{"q":"1"}},"foo":2}"#,
    )
    .unwrap();
    assert_eq!(
        typed.problems.to_string(),
        r#"strict decoding error: unknown field "foo", unknown field "spec.containers[1].imagee", unknown field "spec.containers[1].ports[0].y""#
    );
    assert_eq!(typed.value["spec"]["containers"][1].get("imagee"), None);
}

#[test]
fn repeated_fields_are_reported_and_decoded_over_each_other() {
    let typed = decode(
        config_map(),
        r#"{"metadata":{"name":"a","name":null,"labels":{"x":"1","x":"2"}},"metadata":{"namespace":"n","labels":{"y":"3"},"namespace":"m"},
           "data":{"a":"1"},"data":null,"immutable":true,"immutable":null}"#,
    )
    .unwrap();
    assert_eq!(
        typed.value,
        json!({"metadata":{"name":"a","namespace":"m","labels":{"x":"2","y":"3"}}})
    );
    assert_eq!(
        typed.problems.duplicate().collect::<Vec<_>>(),
        [
            "metadata.name",
            "metadata.labels.x",
            "metadata",
            "metadata.namespace",
            "data",
            "immutable"
        ]
    );
}

#[test]
fn items_of_a_repeated_list_are_decoded_over_each_other() {
    let typed = value(
        config_map(),
        r#"{"metadata":{"ownerReferences":[{"name":"a","uid":"1"},{"name":"b"}],"ownerReferences":[{"uid":"2"}]}}"#,
    );
    assert_eq!(
        typed["metadata"]["ownerReferences"],
        json!([{"apiVersion":"","kind":"","name":"a","uid":"2"}])
    );
}

#[test]
fn at_most_a_hundred_problems_are_reported() {
    let fields: Vec<_> = (0..200).map(|i| format!("\"f{i}\":1")).collect();
    let typed = decode(config_map(), &format!("{{{}}}", fields.join(","))).unwrap();
    assert_eq!(typed.problems.iter().count(), 100);
}

#[test]
fn mismatches_name_the_struct_and_the_fields() {
    let cases: &[(&'static StructType, &str, &str)] = &[
        (
            config_map(),
            r#"{"data":5}"#,
            "number into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            config_map(),
            r#"{"data":{"a":[]}}"#,
            "array into Go struct field ConfigMap.data of type string",
        ),
        (
            config_map(),
            r#"{"metadata":{"labels":[]}}"#,
            "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            config_map(),
            r#"{"metadata":{"creationTimestamp":5}}"#,
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            config_map(),
            r#"{"binaryData":{"a":[1,300]}}"#,
            "number 300 into Go struct field ConfigMap.binaryData of type uint8",
        ),
        (
            config_map(),
            "[]",
            "array into Go value of type v1.ConfigMap",
        ),
        (
            deployment(),
            r#"{"spec":{"replicas":"x"}}"#,
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            deployment(),
            r#"{"spec":{"replicas":1.5}}"#,
            "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            deployment(),
            r#"{"spec":{"replicas":3000000000}}"#,
            "number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            deployment(),
            r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":true}}}}"#,
            "bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
        (
            pod(),
            r#"{"spec":{"containers":[5]}}"#,
            "number into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            pod(),
            r#"{"spec":{"containers":{}}}"#,
            "object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            pod(),
            r#"{"spec":{"dnsPolicy":5}}"#,
            "number into Go struct field PodSpec.spec.dnsPolicy of type v1.DNSPolicy",
        ),
        (
            pod(),
            r#"{"spec":{"volumes":[{"hostPath":{"path":5}}]}}"#,
            "number into Go struct field HostPathVolumeSource.spec.volumes.VolumeSource.hostPath.path of type string",
        ),
        (
            pod(),
            r#"{"spec":{"containers":[{"resources":{"limits":5}}]}}"#,
            "number into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
        ),
        (
            crd(),
            r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":{"type":5}}}}]}}"#,
            "number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.type of type string",
        ),
    ];
    for (ty, text, message) in cases {
        assert_eq!(
            decode(ty, text).map(|t| t.value),
            Err(format!("json: cannot unmarshal {message}")),
            "{text}"
        );
    }
}

#[test]
fn values_with_decoders_of_their_own_give_their_own_errors() {
    for (ty, text, message) in [
        (
            config_map(),
            r#"{"binaryData":{"a":"!!"}}"#,
            "illegal base64 data at input byte 0",
        ),
        (
            config_map(),
            r#"{"metadata":{"creationTimestamp":"x"}}"#,
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
        ),
        (
            pod(),
            r#"{"spec":{"overhead":{"cpu":"x"}}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            pod(),
            r#"{"spec":{"overhead":{"cpu":{}}}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            crd(),
            r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"additionalProperties":5}}}]}}"#,
            "boolean or JSON schema expected",
        ),
    ] {
        assert_eq!(decode(ty, text).map(|t| t.value), Err(message.to_owned()));
    }
}

#[test]
fn an_error_that_stops_decoding_wins_over_an_earlier_mismatch() {
    let error = decode(
        config_map(),
        r#"{"data":5,"metadata":{"creationTimestamp":"x"}}"#,
    )
    .unwrap_err();
    assert!(error.starts_with("parsing time"), "{error}");
    let error = decode(config_map(), r#"{"data":5,"immutable":"x"}"#).unwrap_err();
    assert!(error.contains("ConfigMap.data"), "{error}");
}

#[test]
fn zero_values_are_left_out_or_written_as_the_type_says() {
    assert_eq!(
        value(
            config_map(),
            r#"{"metadata":{"name":"","labels":{},"finalizers":[]},"data":{},"immutable":false}"#
        ),
        json!({"metadata":{},"immutable":false})
    );
    assert_eq!(value(config_map(), "null"), json!({"metadata":{}}));
    assert_eq!(
        value(deployment(), r#"{"spec":{"replicas":0}}"#),
        json!({
            "metadata": {},
            "spec": {
                "replicas": 0,
                "selector": null,
                "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": null}},
            },
            "status": {},
        })
    );
    let role = ty("rbac.authorization.k8s.io", "v1", "roles");
    for text in ["{}", r#"{"rules":null}"#] {
        assert_eq!(value(role, text), json!({"metadata":{},"rules":null}));
    }
}

#[test]
fn an_empty_list_is_kept_until_the_object_is_stored() {
    let role = ty("rbac.authorization.k8s.io", "v1", "roles");
    let sent = value(role, r#"{"rules":[]}"#);
    assert_eq!(sent, json!({"metadata":{},"rules":[]}));
    let stored = normalize_typed(sent, role).unwrap();
    assert_eq!(stored, json!({"metadata":{},"rules":null}));
}

#[test]
fn null_is_nothing_and_a_null_item_is_a_zero_item() {
    let typed = value(
        pod(),
        r#"{"spec":{"containers":[null,{"name":null,"resources":null,"livenessProbe":null}],"hostNetwork":null,"securityContext":{}}}"#,
    );
    let empty = json!({"name":"","resources":{}});
    assert_eq!(
        typed["spec"],
        json!({"containers":[empty, empty],"securityContext":{}})
    );
}

#[test]
fn leaves_take_their_canonical_text() {
    let typed = value(
        pod(),
        r#"{"metadata":{"creationTimestamp":"2020-01-01T02:00:00.5+02:00"},
            "spec":{"containers":[{"resources":{"limits":{"cpu":"1000m","memory":1.5,"x":"1024Mi"}},"livenessProbe":{"httpGet":{"port":"8080"}}}]}}"#,
    );
    assert_eq!(
        typed["metadata"]["creationTimestamp"],
        "2020-01-01T00:00:00Z"
    );
    let container = &typed["spec"]["containers"][0];
    assert_eq!(
        container["resources"]["limits"],
        json!({"cpu":"1","memory":"1500m","x":"1Gi"})
    );
    assert_eq!(container["livenessProbe"]["httpGet"]["port"], "8080");
    assert_eq!(
        value(config_map(), r#"{"binaryData":{"a":"QR==","b":[65]}}"#)["binaryData"],
        json!({"a":"QQ==","b":"QQ=="})
    );
}

#[test]
fn schemas_nest_and_their_alternatives_are_kept() {
    let text = r#"{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{
        "properties":{
            "a":{"additionalProperties":true,"maximum":1.0,"default":{"z":1.5,"z":2}},
            "b":{"additionalProperties":{"type":"string","foo":1}},
            "c":{"items":[{"type":"string"}],"dependencies":{"x":["y"],"z":{"type":"object"}}},
            "d":{"items":{"type":"array","items":{"type":"integer"}},"bar":1}
        }}}}]}}"#;
    let typed = decode(crd(), text).unwrap();
    let properties = &typed.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    assert_eq!(
        properties,
        &json!({
            "a": {"additionalProperties": true, "maximum": 1, "default": {"z": 2}},
            "b": {"additionalProperties": {"type": "string"}},
            "c": {"items": [{"type": "string"}], "dependencies": {"x": ["y"], "z": {"type": "object"}}},
            "d": {"items": {"type": "array", "items": {"type": "integer"}}},
        })
    );
    // Go decodes the alternatives apart, so what is unknown in there goes unseen.
    assert_eq!(
        typed.problems.unknown().collect::<Vec<_>>(),
        ["spec.versions[0].schema.openAPIV3Schema.properties.d.bar"]
    );
}

#[test]
fn normalising_equals_decoding_the_text() {
    let text = r#"{"metadata":{"name":"a","x":1},"spec":{"replicas":3,"minReadySeconds":0,"template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2000m"}}}]}}}}"#;
    let plain: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        normalize_typed(plain, deployment()).unwrap(),
        value(deployment(), text)
    );
    let error = normalize_typed(json!({"spec":{"replicas":"x"}}), deployment()).unwrap_err();
    assert!(error.to_string().ends_with("of type int32"));
}

#[test]
fn a_value_nested_beyond_the_bound_is_refused() {
    let mut deep = json!({});
    for _ in 0..DOCUMENT_DEPTH + 5 {
        deep = json!({"not": deep});
    }
    let object = json!({"spec":{"versions":[{"schema":{"openAPIV3Schema": deep}}]}});
    assert_eq!(
        normalize_typed(object, crd()).unwrap_err().to_string(),
        "exceeded max depth"
    );
}
