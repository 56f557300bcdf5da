//! Patterns: the output that an expectation allows.
//!
//! A placeholder such as `<age>` stands for one value of its kind, and the value is kept for later commands. `...`
//! alone on a line stands for any number of lines. Between words, two or more spaces match two or more spaces, because
//! the width of a column depends on values that vary; at the start of a line every space counts. Deletions match
//! `deleted` even if later kubectls add the namespace. JSON output is compared as JSON.

use std::collections::BTreeMap;

use super::json;

/// The last value of each placeholder.
pub(crate) type Values = BTreeMap<String, String>;

/// Placeholders and their values, in the order of the output.
pub(crate) type Found<'a> = Vec<(&'static str, &'a str)>;

/// A placeholder, and what its values are.
type Placeholder = (&'static str, fn(&str) -> bool);

const PLACEHOLDERS: [Placeholder; 9] = [
    ("<age>", is_age),
    ("<any>", |text| !text.is_empty()),
    ("<ip>", |text| text.parse::<std::net::IpAddr>().is_ok()),
    ("<number>", is_number),
    ("<port>", is_number),
    ("<rv>", is_number),
    ("<suffix>", |text| {
        text.len() == 5
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    }),
    ("<time>", is_time),
    ("<uid>", is_uid),
];

/// Returns whether the output matches, and adds the values of placeholders to `values` if it does.
pub(crate) fn matches(expected: &str, actual: &str, values: &mut Values) -> bool {
    if let Some(expected) = json::values(expected) {
        let Some(actual) = json::values(actual) else {
            return false;
        };
        let mut found = Found::new();
        let matched = expected.len() == actual.len()
            && expected
                .iter()
                .zip(&actual)
                .all(|(expected, actual)| json::matches(expected, actual, &mut found));
        return keep(matched, found, values);
    }
    let lines = |text: &str| text.trim_end().lines().map(collapsed).collect::<Vec<_>>();
    let mut found = Found::new();
    let (expected, actual) = (lines(expected), lines(actual));
    let matched = all(&expected, &actual, &mut found);
    if matched {
        values.extend(
            found
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
    }
    matched
}

/// A command with the placeholders that have a value replaced by it.
pub(crate) fn filled_in(command: &str, values: &Values) -> String {
    values
        .iter()
        .fold(command.to_owned(), |command, (name, value)| {
            command.replace(name, value)
        })
}

pub(crate) fn is_age(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(['s', 'm', 'h', 'd', 'y'])
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "smhdy".contains(c))
}

pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// `2026-01-31T12:00:00Z`, with or without fractions, or as `kubectl describe` has it.
pub(crate) fn is_time(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    matches!(
        shape.as_str(),
        "0000-00-00T00:00:00Z" | "0000-00-00T00:00:00.000000Z"
    ) || (text.ends_with(" +0000") && shape.contains(" 00:00:00 ") && shape.contains(", "))
}

pub(crate) fn is_uid(text: &str) -> bool {
    let groups: Vec<_> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups
            .iter()
            .all(|group| group.chars().all(|c| c.is_ascii_hexdigit()))
}

fn keep(matched: bool, found: Found<'_>, values: &mut Values) -> bool {
    if matched {
        values.extend(
            found
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
    }
    matched
}

/// A line with runs of spaces between words, and at its end, cut short.
fn collapsed(line: &str) -> String {
    let text = line.trim_start();
    let mut collapsed = line[..line.len() - text.len()].to_owned();
    let mut spaces = 0;
    for c in text.trim_end().chars() {
        spaces = if c == ' ' { spaces + 1 } else { 0 };
        if spaces <= 2 {
            collapsed.push(c);
        }
    }
    without_namespace(collapsed)
}

fn without_namespace(line: String) -> String {
    let parts = line.split_once(" deleted from ");
    match parts.and_then(|(what, rest)| Some((what, rest.split_once(" namespace")?.1))) {
        Some((what, rest)) => format!("{what} deleted{rest}"),
        None => line,
    }
}

fn all<'a>(expected: &[String], actual: &'a [String], found: &mut Found<'a>) -> bool {
    let Some((first, rest)) = expected.split_first() else {
        return actual.is_empty();
    };
    let known = found.len();
    if first.trim() == "..." {
        return (0..=actual.len()).any(|skip| {
            found.truncate(known);
            all(rest, &actual[skip..], found)
        });
    }
    let Some((line, others)) = actual.split_first() else {
        return false;
    };
    let matched = one(first, line, found) && all(rest, others, found);
    if !matched {
        found.truncate(known);
    }
    matched
}

/// Returns whether one line, or a string, matches.
pub(crate) fn one<'a>(expected: &str, actual: &'a str, found: &mut Found<'a>) -> bool {
    let next = PLACEHOLDERS
        .iter()
        .filter_map(|placeholder| Some((expected.find(placeholder.0)?, placeholder)))
        .min_by_key(|(at, _)| *at);
    let Some((at, (name, is_value))) = next else {
        return expected == actual;
    };
    let Some(actual) = actual.strip_prefix(&expected[..at]) else {
        return false;
    };
    let rest = &expected[at + name.len()..];
    let known = found.len();
    let ends = actual
        .char_indices()
        .map(|(at, _)| at)
        .chain([actual.len()]);
    for end in ends.rev().filter(|end| is_value(&actual[..*end])) {
        found.push((name, &actual[..end]));
        if one(rest, &actual[end..], found) {
            return true;
        }
        found.truncate(known);
    }
    false
}

#[test]
fn placeholders_stand_for_values_of_their_kind() {
    let mut values = Values::new();
    assert!(matches(
        "NAME   AGE\na      <age>",
        "NAME  AGE\na     2m3s\n",
        &mut values
    ));
    assert!(!matches(
        "NAME   AGE\na      <age>",
        "NAME  AGE\na     never\n",
        &mut values
    ));
    assert!(matches(
        "on 127.0.0.1:<port>",
        "on 127.0.0.1:8001",
        &mut values
    ));
    assert!(matches(
        "pod/x-<suffix> created",
        "pod/x-abc12 created",
        &mut values
    ));
    assert!(!matches(
        "pod/x-<suffix> created",
        "pod/x-ABC12 created",
        &mut values
    ));
    assert!(matches(
        "uid: <uid> at <time>",
        "uid: 01234567-89ab-cdef-0123-456789abcdef at 2026-01-31T12:00:00Z",
        &mut values
    ));
    assert!(matches(
        "Time: <time>",
        "Time:  Sun, 15 Nov 2026 22:05:40 +0000"
            .replace("  ", " ")
            .as_str(),
        &mut values
    ));
    assert_eq!(
        filled_in("curl :<port>/<none>", &values),
        "curl :8001/<none>"
    );
}

#[test]
fn json_is_compared_by_value() {
    let mut values = Values::new();
    assert!(matches(
        r#"{"a": 1, "rv": "<rv>"}"#,
        "{\n  \"rv\": \"7\",\n  \"a\": 1\n}",
        &mut values
    ));
    assert_eq!(values["<rv>"], "7");
    assert!(!matches(r#"{"a":1}"#, r#"{"a":1,"b":2}"#, &mut values));
    assert!(!matches(r#"{"a":1}"#, r#"{"a":"1"}"#, &mut values));
    assert!(!matches(r#"{"a":1}"#, "{\"a\":1}\n{\"a\":1}", &mut values));
}

#[test]
fn dots_stand_for_any_lines() {
    let mut values = Values::new();
    assert!(matches("a\n...\nz", "a\nz", &mut values));
    assert!(matches("a\n...\nz", "a\nb\nz\nz", &mut values));
    assert!(!matches("a\n...\nz", "a\nb", &mut values));
    assert!(!matches("a", "a\nb", &mut values));
    assert!(!matches("  a", "    a", &mut values));
}
