use super::*;

fn json(text: &str) -> serde_json::Value {
    parse_yaml(text.as_bytes())
        .unwrap()
        .node
        .into_value()
        .unwrap()
}

fn error(text: &str) -> String {
    parse_yaml(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn documents_become_json() {
    assert_eq!(
        json("b: [1, 1.5, 1e3, yes, ~, 'no', \"x\\ny\"]\na: {1: a, 1.5: b, on: c, 0x10: d}\n"),
        serde_json::json!({
            "a": {"1": "a", "1.5": "b", "true": "c", "16": "d"},
            "b": [1, 1.5, 1000, true, null, "no", "x\ny"],
        })
    );
    assert_eq!(json(""), serde_json::Value::Null);
    assert_eq!(json("# nothing\n"), serde_json::Value::Null);
    assert_eq!(json("a: |\n  x\n  y\n"), serde_json::json!({"a": "x\ny\n"}));
}

#[test]
fn only_the_first_document_is_read() {
    assert_eq!(json("a: 1\n---\n{"), serde_json::json!({"a": 1}));
}

#[test]
fn keys_are_sorted() {
    let Node::Object(entries) = parse_yaml(b"z: 1\na: 2\nm: 3").unwrap().node else {
        panic!("an object");
    };
    let keys: Vec<_> = entries.iter().map(|(k, _)| k.as_ref()).collect();
    assert_eq!(keys, ["a", "m", "z"]);
}

#[test]
fn aliases_and_merges_are_expanded() {
    assert_eq!(
        json("x: &x {a: 1, b: 2}\nw: {<<: *x, b: 3}\nz: *x\nl: {<<: [{a: 5}, *x]}"),
        serde_json::json!({
            "x": {"a": 1, "b": 2},
            "w": {"a": 1, "b": 3},
            "z": {"a": 1, "b": 2},
            "l": {"a": 5, "b": 2},
        })
    );
}

#[test]
fn repeated_keys_are_reported_by_line_and_the_last_wins() {
    let yaml = parse_yaml(b"d:\n  a: x\n  a: w\n  1: z\n  1:\n    q\n").unwrap();
    assert_eq!(
        yaml.problem,
        Some(Problem::Other(
            "yaml: unmarshal errors:\n  line 3: key \"a\" already set in map\n  line 6: key 1 already set in map"
                .into()
        ))
    );
    assert_eq!(
        yaml.node.get("d").and_then(|d| d.get("a")?.as_str()),
        Some("w")
    );
}

#[test]
fn errors_read_as_in_go() {
    for (text, message) in [
        (
            "a: b: c",
            "yaml: mapping values are not allowed in this context",
        ),
        (
            "\na: b: c",
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        ("[1,2", "yaml: line 1: did not find expected ',' or ']'"),
        (
            "a: 1\nb: {c: d\n",
            "yaml: line 2: did not find expected ',' or '}'",
        ),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: &x [*x]", "yaml: anchor 'x' value contains itself"),
        (
            "a: !!binary xx",
            "yaml: !!binary value contains invalid base64 data",
        ),
        ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("? [a]\n: b", "yaml: invalid map key: []interface {}{\"a\"}"),
        (
            "~: b",
            "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"b\"",
        ),
        ("a: .nan", "json: unsupported value: NaN"),
        ("a: -.inf", "json: unsupported value: -Inf"),
        ("a: @x", "yaml: found character that cannot start any token"),
        ("a: \"x", "yaml: found unexpected end of stream"),
        ("a: \u{1}", "yaml: control characters are not allowed"),
    ] {
        assert_eq!(error(text), message, "{text:?}");
    }
    assert_eq!(
        parse_yaml(b"a: \xff").unwrap_err().to_string(),
        "yaml: invalid leading UTF-8 octet"
    );
}

#[test]
fn json_that_escapes_halves_of_characters_is_no_yaml() {
    let message = |text: &str| parse_yaml(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        message(r#"{"a":"\ud83d\ude00"}"#),
        "yaml: found invalid Unicode character escape code"
    );
    assert_eq!(
        message("{\"a\":\n\"\\uD83D\"}"),
        "yaml: line 2: found invalid Unicode character escape code"
    );
    for fine in [
        r#"{"a":"\\ud83d"}"#,
        r#"{"a":"\u00e9 \ud7ff"}"#,
        "{a: '\\ud83d'}",
    ] {
        assert!(parse_yaml(fine.as_bytes()).is_ok(), "{fine}");
    }
}
