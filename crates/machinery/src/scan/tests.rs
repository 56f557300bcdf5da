use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

fn json() -> impl Strategy<Value = Value> {
    let text = || prop_oneof!["[\\\\\"{}\\[\\]a]{0,9}", ".{0,90}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        let fields = prop::collection::vec((text(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            fields.prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_ends_where_it_ends_at_every_offset(value in json(), offset in 0usize..70) {
        let text = format!("{}{value}", " ".repeat(offset));
        let followed = format!("{text},\"}}]");
        prop_assert_eq!(value_end(text.as_bytes(), offset), Some(text.len()));
        prop_assert_eq!(value_end(followed.as_bytes(), offset), Some(text.len()));
        if value.is_object() || value.is_array() || value.is_string() {
            for cut in offset..text.len() {
                prop_assert_eq!(value_end(&text.as_bytes()[..cut], offset), None);
            }
        }
    }

    #[test]
    fn no_bytes_trip_the_scanner(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..210) {
        value_end(&bytes, at);
        container_end(&bytes, at);
        string_end(&bytes, at);
    }
}

#[test]
fn the_end_of_a_string_is_found_in_every_position() {
    for length in 0..100 {
        for end in ['"', '\\'] {
            let text = format!("{}{end}{}", "é".repeat(length), "x\"\\".repeat(5));
            assert_eq!(quote_or_backslash(text.as_bytes(), 0), 2 * length);
            let tricky = format!("{}{end}", "\u{21}\u{23}\u{5b}\u{5d}".repeat(length));
            assert_eq!(quote_or_backslash(tricky.as_bytes(), 0), 4 * length);
        }
    }
    assert_eq!(quote_or_backslash(&[0xa2; 21], 0), 21);
    assert_eq!(quote_or_backslash(&[0xa2; 21], 30), 21);
}

#[test]
fn nesting_without_end_exhausts_nothing() {
    let deep = "[".repeat(5_000_000);
    assert_eq!(value_end(deep.as_bytes(), 0), None);
}
