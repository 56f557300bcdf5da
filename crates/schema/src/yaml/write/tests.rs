//! Recordings of what a Kubernetes API server prints.

mod strings;

use serde_json::{Value, json};

use super::{YamlWriteError, to_yaml};

#[track_caller]
fn prints(value: Value, lines: &[&str]) {
    let expected: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let printed = to_yaml(&value).unwrap();
    assert_eq!(printed, expected, "\n{printed}");
}

#[test]
fn lists_are_level_with_their_key() {
    prints(
        json!({
            "b": [], "a": {}, "c": {"d": {"e": ["f"]}},
            "list": [
                "x", ["y", ["z"]], {"k": 1, "l": [{"m": null}]}, {"n": {"o": true}}, [[], {}]
            ],
        }),
        &[
            "a: {}",
            "b: []",
            "c:",
            "  d:",
            "    e:",
            "    - f",
            "list:",
            "- x",
            "- - \"y\"",
            "  - - z",
            "- k: 1",
            "  l:",
            "  - m: null",
            "- \"n\":",
            "    o: true",
            "- - []",
            "  - {}",
        ],
    );
}

#[test]
fn literals_are_indented_below_their_key() {
    prints(
        json!({"lit": ["a\nb\n", {"k": "a\nb"}], "z": {"lit": " a\nb\n\n", "next": 1}}),
        &[
            "lit:",
            "- |",
            "  a",
            "  b",
            "- k: |-",
            "    a",
            "    b",
            "z:",
            "  lit: |2+",
            "     a",
            "    b",
            "",
            "  next: 1",
        ],
    );
}

#[test]
fn a_key_of_many_lines_or_many_bytes_stands_behind_a_question_mark() {
    let long = |c: &str, n: usize| c.repeat(n);
    prints(
        json!({
            "": 1, "a: b": 1, "true": 1, long("k", 128): "v", long("k", 129): "v",
            long("l", 129): ["v"], long("m", 129): {"w": 1}, "two\nlines": [1],
        }),
        &[
            "\"\": 1",
            "'a: b': 1",
            &format!("{}: v", long("k", 128)),
            &format!("? {}", long("k", 129)),
            ": v",
            &format!("? {}", long("l", 129)),
            ": - v",
            &format!("? {}", long("m", 129)),
            ": w: 1",
            "\"true\": 1",
            "? |-",
            "  two",
            "  lines",
            ": - 1",
        ],
    );
}

#[test]
fn lines_fold_at_the_first_space_behind_column_80() {
    let word = |n: usize| ["word"].repeat(n).join(" ");
    prints(
        json!([
            format!("{} end", word(30)),
            "word: ".repeat(20),
            "\"tab\t ".repeat(20),
            format!("{}end", "a  b ".repeat(20)),
            format!("{}  y\t", "x".repeat(100)),
            {"k ".repeat(60): format!("{} y", "x".repeat(100))},
        ]),
        &[
            &format!("- {}", word(16)),
            &format!("  {} end", word(14)),
            &format!("- '{}", ["word:"].repeat(14).join(" ")),
            &format!("  {} '", ["word:"].repeat(6).join(" ")),
            &format!("- \"{}", ["\\\"tab\\t"].repeat(10).join(" ")),
            &format!("  {} \"", ["\\\"tab\\t"].repeat(10).join(" ")),
            &format!("- {}", ["a  b"].repeat(16).join(" ")),
            &format!("  {} end", ["a  b"].repeat(4).join(" ")),
            &format!("- \"{}", "x".repeat(100)),
            "  \\ y\\t\"",
            &format!("- '{}': {}", "k ".repeat(60), "x".repeat(100)),
            "    y",
        ],
    );
}

#[test]
fn keys_are_in_natural_order() {
    let order = [
        "-1", "1", "01", "9", "10", "A", "a", "a-b", "a.b", "a_b", "a0", "a00", "a1", "a01",
        "a001", "a2", "a10", "ab", "b", "z", "é",
    ];
    let map: serde_json::Map<_, _> = order
        .iter()
        .map(|key| ((*key).to_owned(), json!(0)))
        .collect();
    let printed = to_yaml(&Value::Object(map)).unwrap();
    let keys: Vec<&str> = printed
        .lines()
        .map(|line| line.trim_end_matches(": 0").trim_matches('"'))
        .collect();
    assert_eq!(keys, order);
}

#[test]
fn numbers_are_printed_as_go_prints_them() {
    let table = [
        (json!(0), "0"),
        (json!(-1), "-1"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!(i64::MIN), "-9223372036854775808"),
        (json!(1.5), "1.5"),
        (json!(-0.0), "0"),
        (json!(1e6), "1000000"),
        (json!(123456.5), "123456.5"),
        (json!(1234567.5), "1.2345675e+06"),
        (json!(0.0001), "0.0001"),
        (json!(0.00012), "0.00012"),
        (json!(1e-5), "1e-05"),
        (json!(1e19), "10000000000000000000"),
        (json!(1e20), "1e+20"),
        (json!(-9.223372036854776e18), "-9.223372036854776e+18"),
        (json!(2.5490830074123382e17), "254908300741233820"),
        (json!(27134673328941.062), "2.7134673328941062e+13"),
        (json!(f64::MAX), "1.7976931348623157e+308"),
        (json!(5e-324), "5e-324"),
    ];
    for (number, text) in table {
        assert_eq!(to_yaml(&number), Ok(format!("{text}\n")));
    }
}

#[test]
fn control_characters_and_long_keys_have_no_yaml() {
    for text in ["\u{7f}", "a\u{80}", "\u{9f}", "\u{fffe}", "\u{ffff}"] {
        assert_eq!(
            to_yaml(&json!([text])),
            Err(YamlWriteError::ControlCharacter),
            "{text:?}"
        );
        assert_eq!(
            to_yaml(&json!({text: 1})),
            Err(YamlWriteError::ControlCharacter),
            "{text:?}"
        );
    }
    for key in ["k".repeat(1023), "<".repeat(171), "a\u{85}".to_owned()] {
        assert_eq!(
            to_yaml(&json!({&key: 1})),
            Err(YamlWriteError::UnreadableKey),
            "{key:?}"
        );
    }
    assert!(to_yaml(&json!({"k".repeat(1022): 1})).is_ok());
}

#[test]
fn depth_costs_no_stack() {
    const DEPTH: usize = 200_000;
    let mut value = json!("x");
    for _ in 0..DEPTH {
        value = Value::Array(vec![value]);
    }
    assert!(to_yaml(&value) == Ok(format!("{}x\n", "- ".repeat(DEPTH))));
    // Dropping it would take a stack.
    std::mem::forget(value);
}

#[test]
fn keys_without_a_strict_order_are_all_printed() {
    // `10` before `1a`, `1a` before `9`, `9` before `10`.
    let map: serde_json::Map<_, _> = (0..200)
        .map(|n| {
            (
                if n % 3 == 0 {
                    format!("{n}a")
                } else {
                    n.to_string()
                },
                json!(n),
            )
        })
        .chain((0..60).map(|n| ("9".repeat(n + 1), json!(n))))
        .collect();
    let count = map.len();
    assert_eq!(to_yaml(&Value::Object(map)).unwrap().lines().count(), count);
}
