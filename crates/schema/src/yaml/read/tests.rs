use proptest::{collection, prelude::*};
use serde_json::Value;

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

#[test]
fn json_is_read_as_yaml_reads_it() {
    let deep = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let pretty = "{\n  \"b\": [\n    1,\n    -2\n  ],\n  \"a\": {\n\"c\": {}\n}\n}\n";
    let texts = [
        r#"{}"#.to_owned(),
        r##"{"b":1,"a":[true,false,null,"x y"," ","","#"]}"##.to_owned(),
        r#"{"<<":{"a":1},"":2,"yes":"no","~":"~","010":"0x1f","a: b":"- c"}"#.to_owned(),
        r#"{ "a" : 1 }"#.to_owned(),
        r#"{"a":-0,"b":1.0,"c":1e3,"d":12345678901234567890}"#.to_owned(),
        r#"{"a":999999999999999999,"b":-999999999999999999}"#.to_owned(),
        r#"{"a":1,"a":2}"#.to_owned(),
        r#"{"a":"\u00e9\n"}"#.to_owned(),
        r#"{"a":"é"}"#.to_owned(),
        r#"{"---":"...","a":"---"}"#.to_owned(),
        format!(r#"{{"{}":1}}"#, "k".repeat(MAX_SIMPLE_KEY - 1)),
        format!(r#"{{"{}":1}}"#, "k".repeat(MAX_SIMPLE_KEY + 1)),
        pretty.to_owned(),
        "{\"a\"\n:1}".to_owned(),
        "{\t\"a\":1}".to_owned(),
        "{\"a\":1} ".to_owned(),
        "{\"a\":1}\n\n".to_owned(),
        "{\"a\":1} x".to_owned(),
        deep(DOCUMENT_DEPTH - 1),
        deep(DOCUMENT_DEPTH),
        deep(DOCUMENT_DEPTH + 1),
    ];
    for text in texts {
        let (short, long) = (parse_yaml(text.as_bytes()), read_yaml(text.as_bytes()));
        match (short, long) {
            (Ok(short), Ok(long)) => {
                assert_eq!(short.node, long.node, "{text}");
                assert_eq!(short.problem, long.problem, "{text}");
            }
            (short, long) => assert_eq!(short.err(), long.err(), "{text}"),
        }
    }
}

/// The characters within which YAML looks for the colon behind a key.
const MAX_SIMPLE_KEY: usize = 1024;

#[test]
fn plain_json_takes_the_short_way() {
    assert!(json::parse(br#"{"b":[1,"x"],"a":{"c":null}}"#).is_some());
    assert!(json::parse(br#"{"a":1.5}"#).is_none());
}

proptest! {
    #[test]
    fn any_plain_json_is_read_as_yaml_reads_it(value in plain_value(), pretty: bool) {
        let text = match pretty {
            true => serde_json::to_string_pretty(&value),
            false => serde_json::to_string(&value),
        }
        .unwrap();
        let short = json::parse(text.as_bytes());
        prop_assert!(short.is_some());
        let long = read_yaml(text.as_bytes()).unwrap();
        prop_assert!(long.problem.is_none());
        prop_assert_eq!(short.unwrap(), long.node);
    }
}

/// Objects of printable ASCII and integers.
fn plain_value() -> impl Strategy<Value = Value> {
    let text = "[ !#-\\[\\]-~]{0,12}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            collection::btree_map(text, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    collection::btree_map(text, value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}
