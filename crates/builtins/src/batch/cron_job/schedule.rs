//! Validates cron schedules.

use kubewright_machinery::go;

/// The lowest and highest value of each field, and its names.
const FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (
        1,
        12,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];
const DESCRIPTORS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// Returns the error of an invalid schedule.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let mut spec = schedule;
    if spec.starts_with("TZ=") || spec.starts_with("CRON_TZ=") {
        spec = spec
            .split_once(' ')
            .map(|(_, rest)| rest.trim())
            .unwrap_or_default();
    }
    if spec.starts_with('@') {
        return check_descriptor(spec);
    }
    let fields: Vec<&str> = spec.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    for (text, (low, high, names)) in fields.into_iter().zip(FIELDS) {
        for part in text.split(',').filter(|p| !p.is_empty()) {
            check_range(part, low, high, names)?;
        }
    }
    Ok(())
}

fn check_descriptor(text: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&text) {
        return Ok(());
    }
    let Some(duration) = text.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {text}"));
    };
    if is_duration(duration) {
        return Ok(());
    }
    let problem = format!("time: invalid duration {}", go::quote(duration));
    Err(format!("failed to parse duration {text}: {problem}"))
}

/// `n`, `n-m`, `*`, each with `/step`.
fn check_range(text: &str, low: u32, high: u32, names: &[&str]) -> Result<(), String> {
    let range_and_step: Vec<&str> = text.split('/').collect();
    let low_and_high: Vec<&str> = range_and_step[0].split('-').collect();
    let single = low_and_high.len() == 1;
    let (start, mut end) = if matches!(low_and_high[0], "*" | "?") {
        (low, high)
    } else {
        let start = number_or_name(low_and_high[0], names)?;
        match low_and_high.as_slice() {
            [_] => (start, start),
            [_, end] => (start, number_or_name(end, names)?),
            _ => return Err(format!("too many hyphens: {text}")),
        }
    };
    let step = match range_and_step.as_slice() {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if single {
                end = high;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < low {
        return Err(format!(
            "beginning of range ({start}) below minimum ({low}): {text}"
        ));
    }
    if end > high {
        return Err(format!(
            "end of range ({end}) above maximum ({high}): {text}"
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number_or_name(text: &str, names: &[&str]) -> Result<u32, String> {
    let lower = text.to_lowercase();
    match names.iter().position(|n| *n == lower) {
        Some(i) if names.len() == 12 => Ok(i as u32 + 1),
        Some(i) => Ok(i as u32),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(n) if n < 0 => Err(format!("negative number ({n}) not allowed: {text}")),
        Ok(n) => Ok(u32::try_from(n).unwrap_or(u32::MAX)),
        Err(_) => {
            let quoted = go::quote(text);
            Err(format!(
                "failed to parse int from {text}: strconv.Atoi: parsing {quoted}: invalid syntax"
            ))
        }
    }
}

/// A duration such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let unit = rest[digits..]
            .find(|c: char| c.is_ascii_digit())
            .map_or(rest.len(), |i| digits + i);
        let number = &rest[..digits];
        let fine = number.bytes().any(|b| b.is_ascii_digit()) && number.matches('.').count() < 2;
        if !fine
            || !matches!(
                &rest[digits..unit],
                "ns" | "us" | "µs" | "ms" | "s" | "m" | "h"
            )
        {
            return false;
        }
        rest = &rest[unit..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules_of_every_form_are_fine() {
        for good in [
            "*/5 * * * *",
            "0 9-17/2 * jan-mar mon,wed",
            "@daily",
            "@every 1h30m",
            "? * * * ?",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn a_bad_schedule_says_why() {
        let cases = [
            ("x", "expected exactly 5 fields, found 1: [x]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "5-2 * * * *",
                "beginning of range (5) beyond end of range (2): 5-2",
            ),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            ("@soon", "unrecognized descriptor: @soon"),
        ];
        for (schedule, problem) in cases {
            assert_eq!(check(schedule), Err(problem.to_owned()));
        }
    }
}
