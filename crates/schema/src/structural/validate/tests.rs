use serde_json::json;

use super::*;

fn schema(document: Value) -> Structural {
    Structural::compile(&document).unwrap()
}

fn texts(value: Value, document: Value) -> Vec<String> {
    let errors = validate(&value, &schema(document), &Path::root());
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn errors_are_bounded_in_number_and_size() {
    let long = "k".repeat(1 << 20);
    let of = |items: Value| json!({"type": "object", "additionalProperties": {"type": "array", "items": items}});
    let all_of: Vec<Value> = (0..1000)
        .map(|i| json!({"pattern": format!("^a{i}$")}))
        .collect();
    let any_of: Vec<Value> = (0..20_000)
        .map(|i| json!({"maxLength": 1, "minimum": i}))
        .collect();
    for (value, document) in [
        // A path of 1 MB, 100,000 times.
        (
            json!({&long: vec!["x"; 100_000]}),
            of(json!({"type": "integer"})),
        ),
        // A value of 1 MB, a thousand times.
        (
            json!({"a": [&long]}),
            of(json!({"type": "string", "allOf": all_of})),
        ),
        (
            json!({"a": vec!["x"; 100_000]}),
            of(json!({"type": "string", "pattern": "y".repeat(60_000)})),
        ),
        (
            json!({&long: [&long]}),
            of(json!({"type": "string", "anyOf": any_of})),
        ),
    ] {
        let start = std::time::Instant::now();
        let errors = validate(&value, &schema(document), &Path::root());
        assert!((1..=1000).contains(&errors.len()), "{}", errors.len());
        let size: usize = errors.iter().map(|error| error.size()).sum();
        assert!(size < 8 << 20, "{size}");
        assert!(start.elapsed().as_secs() < 20);
    }
}

#[test]
fn types_are_distinguished() {
    let of = |ty: &str| json!({"type": "object", "properties": {"a": {"type": ty}}});
    assert_eq!(
        texts(json!({"a": "x"}), of("integer")),
        [r#"a: Invalid value: "string": a in body must be of type integer: "string""#]
    );
    assert_eq!(
        texts(json!({"a": 1.5}), of("integer")),
        [
            r#"a: Invalid value: "number": a in body must be of type integer: "number""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in a"#
        ]
    );
    assert!(texts(json!({"a": 2}), of("number")).is_empty());
    assert_eq!(
        texts(json!({"a": null}), of("string")),
        [r#"a: Invalid value: "null": a in body must be of type string: "null""#]
    );
}

#[test]
fn numbers_have_bounds_and_factors() {
    let document = |check: Value| {
        let mut property = json!({"type": "integer"});
        for (key, value) in check.as_object().unwrap() {
            property[key] = value.clone();
        }
        json!({"type": "object", "properties": {"a": property}})
    };
    for (value, check, text) in [
        (1, json!({"minimum": 2}), "greater than or equal to 2"),
        (
            2,
            json!({"minimum": 2, "exclusiveMinimum": true}),
            "greater than 2",
        ),
        (9, json!({"maximum": 8}), "less than or equal to 8"),
        (
            9,
            json!({"maximum": 9, "exclusiveMaximum": true}),
            "less than 9",
        ),
        (6, json!({"multipleOf": 4}), "a multiple of 4"),
    ] {
        let expected = format!("a: Invalid value: {value}: a in body should be {text}");
        assert_eq!(texts(json!({"a": value}), document(check)), [expected]);
    }
    assert_eq!(
        texts(
            json!({"a": 4294967296i64}),
            document(json!({"format": "int32"}))
        ),
        [
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a"#
        ]
    );
}

#[test]
fn of_several_alternatives_the_best_match_is_reported() {
    let document = json!({"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}},
        "anyOf": [{"properties": {"a": {"minLength": 2}}}, {"properties": {"n": {"enum": [1]}}}]});
    assert_eq!(
        texts(json!({"a": "x", "n": 2}), document),
        [
            r#"<nil>: Invalid value: "": "" must validate at least one schema (anyOf)"#,
            r#"n: Unsupported value: 2: supported values: "1""#
        ]
    );
}

#[test]
fn unchanged_values_may_stay_invalid() {
    let schema = schema(json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 2},
        "m": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string", "pattern": "^good$"}}}},
        "l": {"type": "array", "items": {"type": "string", "enum": ["z"]}}}}));
    let old = json!({"a": "long", "m": [{"k": "1", "v": "bad"}, {"k": "2", "v": "bad"}], "l": ["a", "b"]});
    let texts = |new: Value| -> Vec<String> {
        let errors = validate_update(&new, Old::new(&old, &schema), &schema, &Path::root());
        errors.iter().map(|e| e.field.clone()).collect()
    };
    assert!(texts(json!({"a": "long", "m": [{"k": "2", "v": "bad"}], "l": ["a", "b"]})).is_empty());
    assert_eq!(texts(json!({"a": "longer"})), ["a"]);
    assert_eq!(
        texts(json!({"m": [{"k": "2", "v": "bad"}, {"k": "3", "v": "bad"}]})),
        ["m[1].v"]
    );
    assert_eq!(texts(json!({"l": ["a"]})), ["l[0]"]);
}

#[test]
fn an_item_without_keys_belongs_to_no_old_one() {
    let schema = schema(
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string", "maxLength": 1}}}}),
    );
    let wrong = |list: Value| -> Vec<String> {
        let errors = validate_update(&list, Old::new(&list, &schema), &schema, &Path::root());
        errors.iter().map(|e| e.field.clone()).collect()
    };
    assert!(wrong(json!([{"k": "1", "v": "bad"}])).is_empty());
    assert_eq!(wrong(json!([{"v": "bad"}])), ["[0].v"]);
    assert_eq!(wrong(json!([{"k": {}, "v": "bad"}])), ["[0].k", "[0].v"]);
}
