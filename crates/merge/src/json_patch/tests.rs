use super::*;
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::json;

fn patched(document: Value, operations: Value) -> Result<Value, String> {
    let body = operations.to_string();
    let patch = Patch::decode(body.as_bytes(), Decoding::Checked).map_err(|e| e.to_string())?;
    apply(document, &patch).map_err(|e| e.to_string())
}

fn refused(document: Value, operation: Value) -> String {
    patched(document, json!([operation])).expect_err("the patch should fail")
}

#[test]
fn the_six_operations_run_in_order() {
    let out = patched(
        json!({"a": {"b": 1}, "l": [1, 2]}),
        json!([
            {"op": "test", "path": "/a/b", "value": 1},
            {"op": "add", "path": "/l/1", "value": 9},
            {"op": "replace", "path": "/a/b", "value": 2},
            {"op": "copy", "from": "/a", "path": "/c"},
            {"op": "move", "from": "/l/0", "path": "/m"},
            {"op": "remove", "path": "/a"},
        ]),
    );
    assert_eq!(out, Ok(json!({"c": {"b": 2}, "l": [9, 2], "m": 1})));
}

#[test]
fn indices_count_from_the_end_when_negative() {
    let doc = || json!({"l": [1, 2, 3]});
    let add = |at: &str| {
        patched(
            doc(),
            json!([{"op": "add", "path": format!("/l/{at}"), "value": 9}]),
        )
    };
    assert_eq!(add("-"), Ok(json!({"l": [1, 2, 3, 9]})));
    assert_eq!(add("-1"), Ok(json!({"l": [1, 2, 3, 9]})));
    assert_eq!(add("-4"), Ok(json!({"l": [9, 1, 2, 3]})));
    assert_eq!(
        add("-5"),
        Err("error in add for path: '/l/-5': Unable to access invalid index: -5: invalid index referenced".into())
    );
    assert_eq!(
        add("x"),
        Err("error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax".into())
    );
    let removed = patched(doc(), json!([{"op": "remove", "path": "/l/-1"}]));
    assert_eq!(removed, Ok(json!({"l": [1, 2]})));
}

#[test]
fn missing_places_are_named() {
    let doc = || json!({"a": {}, "s": "x"});
    for (operation, message) in [
        (
            json!({"op": "remove", "path": "/a/b"}),
            "error in remove for path: '/a/b': Unable to remove nonexistent key: b: missing value",
        ),
        (
            json!({"op": "remove", "path": "/x/b"}),
            "remove operation does not apply: doc is missing path: \"/x/b\": missing value",
        ),
        (
            json!({"op": "add", "path": "/s/b", "value": 1}),
            "add operation does not apply: doc is missing path: \"/s/b\": missing value",
        ),
        (
            json!({"op": "add", "path": "s", "value": 1}),
            "add operation does not apply: doc is missing path: \"s\": missing value",
        ),
        (
            json!({"op": "add", "value": 1}),
            "add operation failed to decode path: missing value",
        ),
        (
            json!({"op": "replace", "value": 1}),
            "replace operation failed to decode path: operation missing path field: missing value",
        ),
        (
            json!({"op": "move", "path": "/b"}),
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            json!({"op": "move", "from": "/q", "path": "/b"}),
            "error in move for path: 'q': Unable to remove nonexistent key: q: missing value",
        ),
        (
            json!({"op": "move", "from": "/a", "path": "/a/b"}),
            "move operation does not apply: doc is missing destination path: /a/b: missing value",
        ),
        (
            json!({"op": "test", "path": "/a/b", "value": 1}),
            "testing value /a/b failed: test failed",
        ),
        (
            json!({"op": "test", "path": "/x/b", "value": 1}),
            "test operation does not apply: is missing path: /x/b: missing value",
        ),
        (
            json!({"op": "replace", "path": "", "value": 1}),
            "replace operation value must be object or array: %!w(<nil>)",
        ),
        (json!({"op": "jump", "path": "/a"}), "Unexpected kind: jump"),
        (json!(null), "Unexpected kind: unknown"),
    ] {
        assert_eq!(refused(doc(), operation), message);
    }
}

#[test]
fn absent_keys_count_as_null() {
    let doc = || json!({"a": {}});
    assert_eq!(
        patched(
            doc(),
            json!([{"op": "test", "path": "/a/b", "value": null}])
        ),
        Ok(doc())
    );
    assert_eq!(
        patched(doc(), json!([{"op": "test", "path": "/a/b"}])),
        Ok(doc())
    );
    assert_eq!(
        patched(doc(), json!([{"op": "copy", "from": "/a/b", "path": "/c"}])),
        Ok(json!({"a": {}, "c": null}))
    );
    assert_eq!(
        patched(
            doc(),
            json!([{"op": "replace", "path": "/a/b", "value": 1}])
        ),
        Ok(json!({"a": {"b": 1}}))
    );
    assert_eq!(
        patched(doc(), json!([{"op": "add", "path": "/c"}])),
        Ok(json!({"a": {}, "c": null}))
    );
}

#[test]
fn tests_compare_text() {
    let run = |doc: Value, body: &str| {
        let patch = Patch::decode(body.as_bytes(), Decoding::Lenient).map_err(|e| e.to_string())?;
        apply(doc, &patch).map(drop).map_err(|e| e.to_string())
    };
    let doc = || json!({"n": 1, "s": "<", "o": {"x": [1, {"y": null}]}});
    assert!(run(doc(), r#"[{"op":"test","path":"/n","value":1}]"#).is_ok());
    assert!(run(doc(), r#"[{"op":"test","path":"/n","value":1.0}]"#).is_err());
    assert!(run(doc(), r#"[{"op":"test","path":"/s","value":"<"}]"#).is_err());
    assert!(run(doc(), r#"[{"op":"test","path":"/s","value":"\u003c"}]"#).is_ok());
    assert!(
        run(
            doc(),
            r#"[{"op":"test","path":"/o","value": { "x" : [1,{"y":null}] } }]"#
        )
        .is_ok()
    );
    assert!(
        run(
            doc(),
            r#"[{"op":"test","path":"/o","value":{"x":[1,{"y":1}]}}]"#
        )
        .is_err()
    );
    assert!(
        run(
            doc(),
            r#"[{"op":"test","path":"","value":{"n":1,"s":"\u003c","o":{"x":[1,{"y":null}]}}}]"#
        )
        .is_ok()
    );
}

#[test]
fn escaped_tokens_are_read_once() {
    let out = patched(
        json!({}),
        json!([{"op": "add", "path": "/a~1b~01~", "value": 1}]),
    );
    assert_eq!(out, Ok(json!({"a/b~1~": 1})));
}

#[test]
fn bodies_of_another_shape_are_refused_in_the_servers_words() {
    for (body, decoding, message) in [
        (
            "{}",
            Decoding::Checked,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            "{}",
            Decoding::Lenient,
            "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ),
        (
            "[1]",
            Decoding::Checked,
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
        (
            "[1]",
            Decoding::Lenient,
            "json: cannot unmarshal number into Go value of type jsonpatch.Operation",
        ),
        (
            r#"[{"op":"add","path":5}]"#,
            Decoding::Checked,
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
    ] {
        let error = Patch::decode(body.as_bytes(), decoding).expect_err(body);
        assert_eq!(error.to_string(), message);
    }
    assert!(Patch::decode(b"null", Decoding::Checked).is_ok_and(|p| p.is_empty()));
    assert!(Patch::decode(b"[{", Decoding::Checked).is_err());
    assert!(Patch::decode(b"\xff", Decoding::Checked).is_err());
}

#[test]
fn unknown_and_repeated_members_are_listed() {
    let body =
        br#"[{"op":"add","path":"/x","value":{"a":1,"a":[{"b":1,"b":2}]},"foo":1,"op":"add"}]"#;
    let patch = Patch::decode(body, Decoding::Checked).expect("valid");
    assert_eq!(
        patch.strict_errors(),
        [
            "json patch duplicate field \"[0].value.a\"",
            "json patch duplicate field \"[0].value.a[0].b\"",
            "json patch unknown field \"[0].foo\"",
            "json patch duplicate field \"[0].op\"",
        ]
    );
}

#[test]
fn too_many_operations_are_refused() {
    let operations = vec![json!({"op": "test", "path": "/x"}); MAX_OPERATIONS + 1];
    let error = patched(json!({}), Value::Array(operations)).expect_err("too many");
    assert_eq!(
        error,
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn copies_have_a_budget() {
    let copies = vec![json!({"op": "copy", "from": "/a", "path": "/b"}); 4];
    let out = patched(json!({"a": "x".repeat(1024 * 1024)}), Value::Array(copies));
    assert_eq!(
        out.expect_err("too big"),
        "Unable to complete the copy, the accumulated size increase of copy is 3145734, exceeding the limit 3145728"
    );
}

#[test]
fn documents_cannot_grow_deeper_than_the_bound() {
    let mut operations = vec![json!({"op": "add", "path": "/a", "value": {}})];
    for _ in 0..20 {
        operations.push(json!({"op": "copy", "from": "/a", "path": "/t"}));
        operations.push(json!({"op": "move", "from": "/a", "path": "/t/a"}));
        operations.push(json!({"op": "move", "from": "/t", "path": "/a"}));
    }
    // Twenty levels are fine, however often things move.
    assert!(patched(json!({}), Value::Array(operations)).is_ok());
    let mut path = String::new();
    let mut operations = Vec::new();
    for _ in 0..VALUE_DEPTH + 2 {
        path.push_str("/a");
        operations.push(json!({"op": "add", "path": path, "value": {}}));
    }
    assert_eq!(
        patched(json!({}), Value::Array(operations)),
        Err("exceeded max depth".into())
    );
}
