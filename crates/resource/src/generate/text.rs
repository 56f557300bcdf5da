//! Generates strings: by pattern, by format, by length.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::rng::Rng;

/// The characters of strings without a pattern.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789-";

/// The maximum number of repetitions beyond the required ones.
const MORE: u32 = 3;

/// Generates a string that matches a pattern, or `None` if the pattern cannot be parsed.
pub(super) fn of_pattern(pattern: &str, rng: &mut Rng) -> Option<String> {
    let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
    let mut out = String::new();
    write(&hir, rng, &mut out, 0);
    Some(out)
}

/// Generates a string of a format, or `None` if the format is not known.
pub(super) fn of_format(format: &str, rng: &mut Rng) -> Option<String> {
    let n = |rng: &mut Rng, bound: usize| rng.below(bound);
    let (a, b, c) = (n(rng, 28) + 1, n(rng, 12) + 1, n(rng, 60));
    Some(match format {
        "date-time" | "datetime" => {
            format!(
                "20{:02}-{b:02}-{a:02}T{:02}:{c:02}:{:02}Z",
                n(rng, 100),
                n(rng, 24),
                n(rng, 60)
            )
        }
        "date" => format!("20{:02}-{b:02}-{a:02}", n(rng, 100)),
        "duration" => format!("{a}m{c}s"),
        "byte" => "aGVsbG8=".to_owned(),
        "email" => format!("user{a}@example.com"),
        "hostname" => format!("host-{a}.example.com"),
        "ipv4" | "ip" => format!("10.{a}.{b}.{c}"),
        "ipv6" => format!("2001:db8::{a:x}:{c:x}"),
        "cidr" => format!("10.{a}.{b}.0/24"),
        "mac" => format!("02:00:00:{a:02x}:{b:02x}:{c:02x}"),
        "uri" => format!("https://example.com/{a}"),
        "uuid" | "uuid4" => format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            rng.number() & 0xffff_ffff,
            rng.number() & 0xffff,
            rng.number() & 0xfff,
            rng.number() & 0xfff,
            rng.number() & 0xffff_ffff_ffff
        ),
        _ => return None,
    })
}

/// Generates a string with a length in the given range.
pub(super) fn of_length(least: i64, most: i64, rng: &mut Rng) -> String {
    let least = least.max(0);
    let length = rng.between(least, most.min(least.saturating_add(8)).max(least));
    let letters = (0..length).map(|_| char::from(rng.pick(LETTERS).copied().unwrap_or(b'a')));
    letters.collect()
}

fn write(hir: &Hir, rng: &mut Rng, out: &mut String, depth: usize) {
    // The parser bounds nesting; the limit on length keeps nested repetitions small.
    if out.len() > 4096 || depth > 250 {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => out.extend(letter(class, rng)),
        HirKind::Repetition(repetition) => {
            let least = repetition.min;
            let most = repetition
                .max
                .unwrap_or(u32::MAX)
                .min(least.saturating_add(MORE));
            let times = rng.between(least.into(), most.into());
            for _ in 0..times.min(4096) {
                write(&repetition.sub, rng, out, depth + 1);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, rng, out, depth + 1),
        HirKind::Concat(parts) => parts
            .iter()
            .for_each(|part| write(part, rng, out, depth + 1)),
        HirKind::Alternation(parts) => {
            if let Some(part) = rng.pick(parts) {
                write(part, rng, out, depth + 1);
            }
        }
    }
}

fn letter(class: &Class, rng: &mut Rng) -> Option<char> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => class
            .ranges()
            .iter()
            .map(|range| (u32::from(range.start()), u32::from(range.end())))
            .collect(),
        Class::Bytes(class) => class
            .ranges()
            .iter()
            .map(|range| (range.start().into(), range.end().into()))
            .collect(),
    };
    // Prefer printable ASCII characters.
    let plain: Vec<(u32, u32)> = ranges
        .iter()
        .map(|(low, high)| (*low.max(&0x20), *high.min(&0x7e)))
        .filter(|(low, high)| low <= high)
        .collect();
    let (low, high) = *rng.pick(if plain.is_empty() { &ranges } else { &plain })?;
    let code = rng.between(low.into(), high.into());
    u32::try_from(code).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_strings_match_their_pattern() {
        let patterns = [
            r"^[a-z]([-a-z0-9]*[a-z0-9])?$",
            r"^(\d{1,3}\.){3}\d{1,3}$",
            r"^(red|green|blue)$",
            r"^\p{L}+\s?x{2,4}$",
            r"b+",
        ];
        for pattern in patterns {
            let regex = kubewright_cel::regex::Regex::compile(pattern).expect("valid pattern");
            let mut rng = Rng::new(7);
            for _ in 0..100 {
                let text = of_pattern(pattern, &mut rng).expect("valid pattern");
                assert!(regex.is_match(&text), "{pattern}: {text:?}");
            }
        }
    }
}
