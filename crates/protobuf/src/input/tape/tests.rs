use super::*;
use crate::layout::{Lookup, message_of_kind};

fn layout(api_version: &str, kind: &str) -> &'static Message {
    match message_of_kind(api_version, kind) {
        Lookup::Found(layout) => layout,
        _ => panic!("{kind} is built in"),
    }
}

fn scanned(text: &str) -> Result<String, EncodeError> {
    let mut tape = Tape::default();
    let (mut source, root) = tape.scan(text.as_bytes(), layout("v1", "ConfigMap"))?;
    Ok(print(&mut source, root))
}

/// Prints an object with its labels, finalizers and data.
fn print<'a>(source: &mut Text<'a>, root: Scanned<'a>) -> String {
    let slot = |layout: &'static Message, name: &str| {
        let name = layout.name(name.as_bytes()).expect("a field");
        name.slot
    };
    let (map, meta) = (layout("v1", "ConfigMap"), "metadata");
    let fields = source.open(map, Some(root));
    let (data, metadata) = (
        source.get(fields, slot(map, "data")),
        source.get(fields, slot(map, meta)),
    );
    let partial = layout("meta.k8s.io/v1", "PartialObjectMetadata");
    let meta = match partial.name(b"metadata").and_then(|n| n.shape.as_ref()) {
        Some(crate::layout::Shape::Message(id)) => crate::layout::message(*id),
        _ => panic!("metadata is a message"),
    };
    let inner = source.open(meta, metadata);
    let labels = source.get(inner, slot(meta, "labels"));
    let finalizers = source.get(inner, slot(meta, "finalizers"));
    source.close(inner);
    source.close(fields);
    let text = |value: Scanned<'_>| match value.text() {
        Some(text) => String::from_utf8(text.into_owned()).unwrap(),
        None => String::from_utf8(value.json().unwrap().into_owned()).unwrap(),
    };
    let entries = |value: Option<Scanned<'_>>| {
        let entries = value.into_iter().flat_map(Json::entries_reversed);
        let entries = entries
            .map(|(key, value)| format!("{}={}", String::from_utf8_lossy(&key), text(value)));
        entries.collect::<Vec<_>>().join(",")
    };
    let items = finalizers.into_iter().flat_map(Json::items_reversed);
    let items: Vec<_> = items.map(text).collect();
    format!("{} {} {}", entries(labels), items.join(","), entries(data))
}

#[test]
fn documents_are_cut_into_values() {
    for (text, printed) in [
        ("{}", "  "),
        (" { } ", "  "),
        (
            r#"{"metadata":{"labels":{"a":"1","b":"2"},"finalizers":["x",[2,-3.5e+7],{},null]},"data":{}}"#,
            "b=2,a=1 null,{},[2,-3.5e+7],x ",
        ),
        (
            r#"{"data":{"a":"b","c":true},"metadata":{"labels":{"x":{"y":"}"}}}}"#,
            r#"x={"y":"}"}  c=true,a=b"#,
        ),
        (
            r#"{"data" : {"a\"b" : "c\\\n\u00e9\ud83d\ude00"}}"#,
            "  a\"b=c\\\né😀",
        ),
        ("\"\"", "  "),
    ] {
        assert_eq!(scanned(text).as_deref(), Ok(printed), "{text}");
    }
}

#[test]
fn text_that_is_not_json_is_an_error() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "\"",
        "\"\\",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,}",
        "{1:2}",
        "[1,]",
        "[1 2]",
        "{}x",
        "nul",
        "tru",
        "+1",
        "]",
        ",",
    ] {
        let field = if text.starts_with('[') {
            "finalizers"
        } else {
            "labels"
        };
        for text in [
            format!("{{\"metadata\":{{\"{field}\":{text}}}}}"),
            format!("{{\"metadata\":{{\"{field}\":{text}"),
        ] {
            assert_eq!(scanned(&text), Err(EncodeError::Syntax), "{text}");
        }
        if !text.starts_with('[') || text == "[" {
            assert_eq!(scanned(text), Err(EncodeError::Syntax), "{text}");
        }
    }
    let deep = "[".repeat(10_000);
    assert_eq!(scanned(&deep), Err(EncodeError::Syntax), "it is skipped");
    let start = r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":"#;
    for item in ["{\"not\":", "{\"items\":["] {
        let deep = format!("{start}{}", item.repeat(10_000));
        let definition = layout("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let mut tape = Tape::default();
        let scanned = tape.scan(deep.as_bytes(), definition).map(|_| ());
        assert_eq!(scanned, Err(EncodeError::TooDeep));
    }
}

#[test]
fn fields_that_are_not_on_the_wire_are_left_out() {
    for skipped in [
        "1",
        "-1.5e3",
        "true",
        "null",
        "\"a\\\"}\"",
        "{}",
        "[]",
        "{\"a\":[{}]}",
        "[1,\"]\",{}]",
    ] {
        for text in [
            format!("{{\"no\":{skipped},\"data\":{{\"a\":\"1\"}}}}"),
            format!("{{\"data\":{{\"a\":\"1\"}},\"kind\":{skipped}}}"),
            format!("{{ \"no\" : {skipped} , \"data\" : {{\"a\":\"1\"}} , \"no\" : {skipped} }}"),
        ] {
            assert_eq!(scanned(&text).as_deref(), Ok("  a=1"), "{text}");
        }
    }
}

#[test]
fn nothing_is_read_behind_the_last_field_of_the_type() {
    let partial = layout("meta.k8s.io/v1", "PartialObjectMetadata");
    let mut tape = Tape::default();
    let text = br#"{"kind":"K","metadata":{"name":"n"},"spec":{"#;
    assert!(tape.scan(text, partial).is_ok());
}

#[test]
fn only_space_between_tokens_counts() {
    for (json, spaced) in [
        (r#"{"a b":"c \" d"}"#, false),
        (r#"{"a":"b"}"#, false),
        (r#"{"a b": 1}"#, true),
        ("[1,\n2]", true),
    ] {
        assert_eq!(is_spaced(json.as_bytes()), spaced, "{json}");
    }
}
