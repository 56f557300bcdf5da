//! The format `duration`.

use kubewright_machinery::time::parse_duration;

/// The names of the units; the last of each may be followed by more letters.
const UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// Reports whether a text is a duration in Go's notation, or contains a number with a unit: `5 days`.
pub(super) fn is_duration(text: &str) -> bool {
    if parse_duration(text).is_ok() {
        return true;
    }
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let from = &rest[start..];
        let digits = from.len() - from.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let after = from[digits..].trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let unit_end = after
            .find(|c: char| !c.is_ascii_alphabetic() && c != 'µ')
            .unwrap_or(after.len());
        let unit = after[..unit_end].to_lowercase();
        rest = &after[unit_end..];
        if unit.is_empty() {
            continue;
        }
        if from[..digits].parse::<i64>().is_err() {
            return false;
        }
        found |= UNITS.iter().any(|variants| {
            let open = variants.last().is_some_and(|last| unit.starts_with(last));
            open || variants.contains(&unit.as_str())
        });
    }
    found
}
