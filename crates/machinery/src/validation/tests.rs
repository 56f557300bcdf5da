use serde_json::{Value, json};

use super::{label_selector::LabelSelectorOptions, names::*, *};
use crate::field::{self, ErrorList, Path};

const KEY_RULE: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN_RULE: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

fn texts(errors: &ErrorList) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn create(meta: Value) -> Vec<String> {
    let errors = validate_object_meta(
        &meta,
        Scope::Namespaced,
        name_is_dns_subdomain,
        &Path::new("metadata"),
    );
    texts(&errors)
}

fn update(new: Value, old: Value) -> Vec<String> {
    texts(&validate_object_meta_update(
        &new,
        &old,
        &Path::new("metadata"),
    ))
}

#[test]
fn names_that_fit_have_nothing_against_them() {
    for label in ["a", "a-1", "1", &"x".repeat(63)] {
        assert!(is_dns1123_label(label).is_empty(), "{label}");
    }
    for subdomain in ["a.b", "1.2", &"x".repeat(253)] {
        assert!(is_dns1123_subdomain(subdomain).is_empty(), "{subdomain}");
    }
    for key in [
        "a",
        "A_b.c-1",
        "example.com/Name",
        &format!("{}/{}", "x".repeat(253), "y".repeat(63)),
    ] {
        assert!(is_qualified_name(key).is_empty(), "{key}");
    }
    assert!(is_label_value("").is_empty());
    assert!(is_path_segment_name("system:node").is_empty());
    assert!(is_dns1035_label("a1").is_empty());
    assert!(is_config_map_key(".bashrc").is_empty());
    assert!(is_port_name("http-2").is_empty());
    assert!(is_port_number(65535).is_empty());
    assert!(is_http_path("a/b?".trim_end_matches('?')).is_empty());
    assert!(is_ip("10.0.0.1").is_empty() && is_ip("2001:db8::1").is_empty());
}

#[test]
fn names_that_do_not_fit_say_why() {
    let check = |reasons: Vec<String>, expected: &[&str]| assert_eq!(reasons, expected);
    check(is_dns1123_label("a.b"), &["must not contain dots"]);
    check(is_dns1123_label(""), &[LABEL_RULE]);
    check(
        is_dns1123_label(&"x".repeat(64)),
        &["must be no more than 63 characters"],
    );
    check(
        is_dns1123_label_bytes(&"x".repeat(64)),
        &["must be no more than 63 bytes"],
    );
    check(is_dns1123_subdomain("A"), &[SUBDOMAIN_RULE]);
    check(
        is_dns1123_subdomain(&"x".repeat(254)),
        &["must be no more than 253 characters"],
    );
    check(is_qualified_name("/a"), &["prefix part must be non-empty"]);
    check(
        is_qualified_name(""),
        &["name part must be non-empty", KEY_RULE],
    );
    check(
        is_qualified_name(&format!("{}/{}", "x".repeat(254), "y".repeat(64))),
        &[
            "prefix part must be no more than 253 bytes",
            "name part must be no more than 63 bytes",
        ],
    );
    check(
        is_label_value(&"x".repeat(64)),
        &["must be no more than 63 bytes"],
    );
    check(is_label_value("é"), &[VALUE_RULE]);
    check(is_path_segment_name(".."), &["may not be '..'"]);
    check(
        is_path_segment_name("a/%"),
        &["may not contain '/'", "may not contain '%'"],
    );
    check(is_config_map_key("..a"), &["must not start with '..'"]);
    check(
        is_port_number(0),
        &["must be between 1 and 65535, inclusive"],
    );
    check(
        is_port_name("-1--2-"),
        &[
            "must contain at least one letter (a-z)",
            "must not contain consecutive hyphens",
            "must not begin or end with a hyphen",
        ],
    );
    check(is_ip("01.2.3.4"), &["must not have leading 0s"]);
    check(
        is_ip("::ffff:1.2.3.4"),
        &["must not be an IPv4-mapped IPv6 address"],
    );
    check(
        is_ip("2001:DB8::1"),
        &["must be in canonical form (\"2001:db8::1\")"],
    );
    check(
        is_ip("x"),
        &["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
    );
    assert!(ip::parse_ip("01.2.3.4", false).1.is_empty());
}

#[test]
fn a_generated_names_base_may_end_in_a_dash() {
    assert!(name_is_dns_label("web-", NameForm::Prefix).is_empty());
    assert_eq!(name_is_dns_label("web-", NameForm::Whole), [LABEL_RULE]);
    assert_eq!(
        name_is_dns_subdomain("-", NameForm::Prefix),
        [SUBDOMAIN_RULE]
    );
    assert_eq!(
        name_is_dns_subdomain("é-", NameForm::Prefix),
        [SUBDOMAIN_RULE]
    );
    assert!(name_is_dns1035_label("a--", NameForm::Prefix).is_empty());
    assert!(name_is_path_segment("..", NameForm::Prefix).is_empty());
    assert_eq!(
        name_is_path_segment("..", NameForm::Whole),
        ["may not be '..'"]
    );
}

#[test]
fn a_new_object_needs_a_name_and_a_namespace() {
    assert_eq!(
        create(json!({})),
        [
            "metadata.name: Required value: name or generateName is required",
            "metadata.namespace: Required value",
        ]
    );
    assert_eq!(
        create(json!({"name": "Q", "generateName": "Ab-", "namespace": "a.b"})),
        [
            format!("metadata.generateName: Invalid value: \"Ab-\": {SUBDOMAIN_RULE}"),
            format!("metadata.name: Invalid value: \"Q\": {SUBDOMAIN_RULE}"),
            "metadata.namespace: Invalid value: \"a.b\": must not contain dots".to_owned(),
        ]
    );
    let meta = json!({"name": "a", "namespace": "b"});
    let errors = validate_object_meta(
        &meta,
        Scope::Cluster,
        name_is_dns_label,
        &Path::new("metadata"),
    );
    assert_eq!(
        texts(&errors),
        ["metadata.namespace: Forbidden: not allowed on this type"]
    );
}

#[test]
fn labels_and_annotations_are_checked_key_by_key() {
    assert_eq!(
        create(json!({"name": "a", "namespace": "b",
            "labels": {"a b": "c d", "ok": ""},
            "annotations": {"Example.com/OK": "any thing", "x y": ""}})),
        [
            format!("metadata.labels: Invalid value: \"a b\": {KEY_RULE}"),
            format!("metadata.labels: Invalid value: \"c d\": {VALUE_RULE}"),
            format!("metadata.annotations: Invalid value: \"x y\": {KEY_RULE}"),
        ]
    );
    assert_eq!(
        create(json!({"name": "a", "namespace": "b", "annotations": {"a": "x".repeat(262_144)}})),
        ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    );
}

#[test]
fn owners_finalizers_and_managers_are_checked_in_order() {
    // The expected texts were taken from a kube-apiserver 1.36.
    let meta = json!({"name": "a", "namespace": "b", "generation": -5,
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Event", "name": "<x>", "uid": "u"},
            {"apiVersion": "a/b/c", "kind": "", "name": "", "uid": "", "controller": true},
            {"apiVersion": "", "kind": "K", "name": "z", "uid": "1", "controller": true, "blockOwnerDeletion": false}],
        "finalizers": ["orphan", "foregroundDeletion", "x y"]});
    let mut errors = create(meta.clone());
    let path = Path::new("metadata").child("finalizers");
    errors.extend(texts(&validate_builtin_finalizers(
        &meta["finalizers"],
        &path,
    )));
    assert_eq!(
        errors,
        [
            "metadata.generation: Invalid value: -5: must be greater than or equal to 0".to_owned(),
            r#"metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"\u003cx\u003e","uid":"u"}: /v1, Kind=Event is disallowed from being an owner"#.into(),
            "metadata.ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not be empty".into(),
            "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty".into(),
            "metadata.ownerReferences.name: Invalid value: \"\": must not be empty".into(),
            "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty".into(),
            "metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty".into(),
            r#"metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Event","name":"\u003cx\u003e","uid":"u"},{"apiVersion":"a/b/c","kind":"","name":"","uid":"","controller":true},{"apiVersion":"","kind":"K","name":"z","uid":"1","controller":true,"blockOwnerDeletion":false}]: Only one reference can have Controller set to true. Found "true" in references for / and K/z"#.into(),
            format!("metadata.finalizers: Invalid value: \"x y\": {KEY_RULE}"),
            r#"metadata.finalizers: Invalid value: ["orphan","foregroundDeletion","x y"]: finalizer orphan and foregroundDeletion cannot be both set"#.into(),
            "metadata.finalizers[2]: Invalid value: \"x y\": name is neither a standard finalizer name nor is it fully qualified".into(),
        ]
    );
}

#[test]
fn managed_fields_are_checked_entry_by_entry() {
    let entries = json!([
        {"manager": "ok", "operation": "Apply", "fieldsType": "FieldsV1"},
        {"manager": "a\u{1}é\u{200b}", "operation": "Merge", "fieldsType": "V2", "subresource": "s".repeat(257)},
        {"manager": "m".repeat(129), "operation": "Update"},
    ]);
    assert_eq!(
        texts(&validate_managed_fields(&entries, &Path::new("m"))),
        [
            "m[1].operation: Invalid value: \"Merge\": must be `Apply` or `Update`",
            "m[1].fieldsType: Invalid value: \"V2\": must be `FieldsV1`",
            r#"m[1].manager: Invalid value: "a\x01é\u200b": invalid character U+0001 (at position 1)"#,
            r#"m[1].manager: Invalid value: "a\x01é\u200b": invalid character U+200B (at position 4)"#,
            "m[1].subresource: Too long: may not be more than 256 bytes",
            "m[2].manager: Too long: may not be more than 128 bytes",
        ]
    );
}

#[test]
fn an_update_may_not_change_who_an_object_is() {
    let old = json!({"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 2,
        "creationTimestamp": "2024-05-01T10:00:00Z"});
    assert!(update(old.clone(), old.clone()).is_empty());
    let same_time = json!({"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 3,
        "creationTimestamp": "2024-05-01T12:00:00+02:00", "labels": {"a": "b"}});
    assert!(update(same_time, old.clone()).is_empty());
    assert_eq!(
        update(
            json!({"name": "b", "namespace": "m", "uid": "v", "generation": 1,
                "deletionTimestamp": "2024-05-01T12:00:00Z", "deletionGracePeriodSeconds": 30}),
            old
        ),
        [
            "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
            "metadata.generation: Invalid value: 1: must not be decremented",
            "metadata.name: Invalid value: \"b\": field is immutable",
            "metadata.namespace: Invalid value: \"m\": field is immutable",
            "metadata.uid: Invalid value: \"v\": field is immutable",
            "metadata.creationTimestamp: Invalid value: null: field is immutable",
            "metadata.deletionTimestamp: Invalid value: \"2024-05-01T12:00:00Z\": field is immutable",
            "metadata.deletionGracePeriodSeconds: Invalid value: 30: field is immutable",
        ]
    );
}

#[test]
fn an_object_that_goes_gets_no_new_finalizers() {
    let old = json!({"name": "a", "resourceVersion": "1", "finalizers": ["x/a", "x/b"],
        "deletionTimestamp": "2024-05-01T10:00:00Z"});
    let mut new = old.clone();
    new["finalizers"] = json!(["x/d", "x/a", "x/c"]);
    assert_eq!(
        update(new, old),
        [
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"x/c\", \"x/d\"}"
        ]
    );
}

#[test]
fn label_selectors_are_checked_with_their_paths() {
    let selector = json!({"matchLabels": {"a b": "c"}, "matchExpressions": [
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["b"]},
        {"key": "a/b/c", "operator": "Like", "values": ["-"]},
        {"key": "a", "operator": "NotIn", "values": ["b"]}]});
    let path = Path::new("spec").child("selector");
    let strict = validate_label_selector(&selector, LabelSelectorOptions::default(), &path);
    assert_eq!(
        texts(&strict),
        [
            format!("spec.selector.matchLabels: Invalid value: \"a b\": {KEY_RULE}"),
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'".into(),
            "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'".into(),
            "spec.selector.matchExpressions[2].operator: Invalid value: \"Like\": not a valid selector operator".into(),
            format!("spec.selector.matchExpressions[2].key: Invalid value: \"a/b/c\": {}",
                is_qualified_name("a/b/c")[0]),
            format!("spec.selector.matchExpressions[2].values[0]: Invalid value: \"-\": {VALUE_RULE}"),
        ]
    );
    let lenient = LabelSelectorOptions {
        allow_invalid_values: true,
        allow_unknown_operators: true,
    };
    assert_eq!(validate_label_selector(&selector, lenient, &path).len(), 4);
    assert!(validate_label_selector(&Value::Null, lenient, &path).is_empty());
    assert!(label_selector::has_invalid_values(&selector));
}

#[test]
fn values_of_wrong_types_count_as_not_set() {
    let meta = json!({"name": 1, "namespace": [], "labels": 5, "annotations": [1], "finalizers": {"a": 1},
        "ownerReferences": [5, null], "managedFields": "x", "generation": "1"});
    assert_eq!(create(meta.clone()).len(), 2);
    assert!(!update(meta.clone(), meta).is_empty());
    assert_eq!(field::aggregate(&[]), "");
}
