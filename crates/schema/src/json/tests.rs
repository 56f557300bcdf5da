use super::*;
use kubewright_machinery::limits::DOCUMENT_DEPTH;

fn error(text: &str) -> String {
    parse_json(text.as_bytes()).unwrap_err().message
}

#[test]
fn syntax_errors_read_as_in_go() {
    for (text, message) in [
        ("", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{", "unexpected end of JSON input"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        (
            "{\"a\":1 2}",
            "invalid character '2' after object key:value pair",
        ),
        (
            "{\"a\":1,}",
            "invalid character '}' looking for beginning of object key string",
        ),
        ("[1 2]", "invalid character '2' after array element"),
        (
            "[1,]",
            "invalid character ']' looking for beginning of value",
        ),
        ("{} x", "invalid character 'x' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("-", "invalid character ' ' in numeric literal"),
        (
            "1.x",
            "invalid character 'x' after decimal point in numeric literal",
        ),
        (
            "1e+",
            "invalid character ' ' in exponent of numeric literal",
        ),
        (
            "trux",
            "invalid character 'x' in literal true (expecting 'e')",
        ),
        (
            "nul",
            "invalid character ' ' in literal null (expecting 'l')",
        ),
        ("\"a", "unexpected end of JSON input"),
        ("\"a\\", "invalid character ' ' in string escape code"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        (
            "\"\\u12g4\"",
            "invalid character 'g' in \\u hexadecimal character escape",
        ),
        ("\"\n\"", "invalid character '\\n' in string literal"),
        ("\"\u{1}\"", "invalid character '\\x01' in string literal"),
        (
            "'",
            "invalid character '\\'' looking for beginning of value",
        ),
        ("é", "invalid character 'Ã' looking for beginning of value"),
    ] {
        assert_eq!(error(text), message, "{text:?}");
    }
}

#[test]
fn order_and_repeated_keys_are_kept() {
    let Node::Object(entries) = parse_json(br#"{"b":1,"a":2,"b":[]}"#).unwrap() else {
        panic!("an object");
    };
    let keys: Vec<_> = entries.iter().map(|(k, _)| k.as_ref()).collect();
    assert_eq!(keys, ["b", "a", "b"]);
    let node = Node::Object(entries);
    assert_eq!(node.get("b"), Some(&Node::Array(vec![])));
}

#[test]
fn numbers_keep_their_text() {
    for text in [
        "0",
        "-0",
        "1e999",
        "1.50",
        "123456789012345678901234567890",
        "-1E-5",
    ] {
        assert_eq!(
            parse_json(text.as_bytes()),
            Ok(Node::Number(Cow::Borrowed(text)))
        );
    }
}

#[test]
fn plain_strings_are_borrowed_and_escapes_decoded() {
    let string = |text: &'static str| match parse_json(text.as_bytes()) {
        Ok(Node::String(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(matches!(string("\"é\""), Cow::Borrowed("é")));
    assert_eq!(
        string(r#""a\n\"\\\/\b\f\r\t\u00e9z""#),
        "a\n\"\\/\u{8}\u{c}\r\té\u{7a}"
    );
    assert_eq!(string(r#""\ud83d\ude00""#), "😀");
}

#[test]
fn lone_surrogates_become_replacement_characters() {
    for (text, meaning) in [
        (r#""\ud800""#, "\u{fffd}"),
        (r#""\udc00x""#, "\u{fffd}x"),
        (r#""\ud800\u0041""#, "\u{fffd}A"),
        (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ud800\n""#, "\u{fffd}\n"),
    ] {
        assert_eq!(
            parse_json(text.as_bytes()),
            Ok(Node::String(Cow::Owned(meaning.to_owned()))),
            "{text}"
        );
    }
}

#[test]
fn every_invalid_byte_of_a_string_becomes_a_replacement_character() {
    let string = |bytes: &[u8]| match parse_json(bytes) {
        Ok(Node::String(text)) => text.into_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(string(b"\"a\xffb\""), "a\u{fffd}b");
    // A character cut short is as many replacements as it has bytes.
    assert_eq!(string(b"\"\xe2\x82\""), "\u{fffd}\u{fffd}");
    assert_eq!(string(b"\"\xe2\x82\\n\xc3\xa9\""), "\u{fffd}\u{fffd}\né");
    assert_eq!(
        parse_json(b"\xff").unwrap_err().message,
        "invalid character 'ÿ' looking for beginning of value"
    );
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse_json(nested(DOCUMENT_DEPTH).as_bytes()).is_ok());
    assert_eq!(
        error(&nested(DOCUMENT_DEPTH + 1)),
        "invalid character '[' exceeded max depth"
    );
}
