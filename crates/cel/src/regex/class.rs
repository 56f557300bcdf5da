//! Character classes and single characters.

use super::rewrite::{Classes, PatternError};

/// The names of classes, as in `[:alpha:]`.
const NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Writes a character literally, in a class or outside of one.
pub(super) fn literal(c: char, out: &mut String) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        out.push_str(&format!("\\x{{{:x}}}", c as u32));
    }
}

/// Writes `\d`, `\w`, `\s` and their negations as items of a class.
pub(super) fn perl(c: char, out: &mut String) {
    out.push_str(match c {
        'd' => "0-9",
        'D' => "[^0-9]",
        's' => "\\t\\n\\f\\r\\x20",
        'S' => "[^\\t\\n\\f\\r\\x20]",
        'w' => "0-9A-Za-z_",
        _ => "[^0-9A-Za-z_]",
    });
}

/// Rewrites `\pL` or `\p{Greek}` at the start and gives what follows.
pub(super) fn unicode<'p>(
    text: &'p str,
    classes: Classes,
    out: &mut String,
) -> Result<&'p str, PatternError> {
    let inner = text.get(2..).unwrap_or("");
    let length = match inner.strip_prefix('{') {
        Some(name) => name.find('}').map(|end| end + 2),
        None => inner.chars().next().map(char::len_utf8),
    };
    let range = "invalid character class range";
    let Some(length) = length else {
        return Err((range, text.into()));
    };
    let item = &text[..2 + length];
    let negated = item.replacen("{^", "{", 1);
    let item_out = match negated == item {
        true => item.to_owned(),
        // \p{^Greek} is \P{Greek}.
        false if item.starts_with("\\p") => negated.replacen("\\p", "\\P", 1),
        false => negated.replacen("\\P", "\\p", 1),
    };
    // One that was written before is known.
    let known = classes == Classes::Assumed || out.contains(&item_out);
    if !known && regex::Regex::new(&item_out).is_err() {
        return Err((range, item.into()));
    }
    out.push_str(&item_out);
    Ok(&text[2 + length..])
}

/// The character of the escape at the start, and the rest.
pub(super) fn escaped(text: &str) -> Result<(char, &str), PatternError> {
    let inner = text.get(1..).unwrap_or("");
    let Some(c) = inner.chars().next() else {
        return Err(("trailing backslash at end of expression", String::new()));
    };
    let rest = &inner[c.len_utf8()..];
    let invalid = |length: usize| {
        let part = text.get(..length).unwrap_or(text);
        Err(("invalid escape sequence", part.to_owned()))
    };
    match c {
        'a' => Ok(('\x07', rest)),
        'f' => Ok(('\x0c', rest)),
        'n' => Ok(('\n', rest)),
        'r' => Ok(('\r', rest)),
        't' => Ok(('\t', rest)),
        'v' => Ok(('\x0b', rest)),
        '0'..='7' => {
            // A single digit would be a back reference.
            if c != '0' && !rest.starts_with(|c: char| ('0'..='7').contains(&c)) {
                return invalid(2);
            }
            let more = rest
                .bytes()
                .take(2)
                .take_while(|b| (b'0'..=b'7').contains(b))
                .count();
            let code = u32::from_str_radix(&inner[..1 + more], 8).unwrap_or(0);
            Ok((char::from_u32(code).unwrap_or('\0'), &rest[more..]))
        }
        'x' => {
            let (digits, after) = match rest.strip_prefix('{') {
                Some(braced) => match braced.split_once('}') {
                    Some(parts) => parts,
                    None => return invalid(text.len()),
                },
                None => match rest.split_at_checked(2) {
                    Some(parts) => parts,
                    None => return invalid(text.len()),
                },
            };
            let hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| hex);
            match code.and_then(char::from_u32) {
                Some(c) => Ok((c, after)),
                None => invalid(text.len() - after.len()),
            }
        }
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok((c, rest)),
        c => invalid(1 + c.len_utf8()),
    }
}

/// Rewrites the class at the start and gives what follows.
pub(super) fn class<'p>(
    text: &'p str,
    classes: Classes,
    out: &mut String,
) -> Result<&'p str, PatternError> {
    let mut rest = &text[1..];
    out.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut first = true;
    // Once no name ends further on, none is looked for again.
    let mut names = true;
    loop {
        if rest.is_empty() {
            return Err(("missing closing ]", text.into()));
        }
        if rest.starts_with(']') && !first {
            out.push(']');
            return Ok(&rest[1..]);
        }
        first = false;
        let end = match names && rest.starts_with("[:") {
            true => rest.find(":]"),
            false => None,
        };
        names = end.is_some() || !rest.starts_with("[:") && names;
        if let Some(end) = end {
            let name = &rest[..end + 2];
            let known = name.get(2..end).unwrap_or_default();
            if !NAMES.contains(&known.strip_prefix('^').unwrap_or(known)) {
                return Err(("invalid character class range", name.into()));
            }
            out.push_str(name);
            rest = &rest[end + 2..];
            continue;
        }
        if let Some(c) = rest.strip_prefix('\\').and_then(|r| r.chars().next()) {
            match c {
                'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                    perl(c, out);
                    rest = &rest[2..];
                    continue;
                }
                'p' | 'P' => {
                    rest = unicode(rest, classes, out)?;
                    continue;
                }
                _ => {}
            }
        }
        let start = rest;
        let (low, after) = one(rest, text)?;
        rest = after;
        let range = rest
            .strip_prefix('-')
            .filter(|r| !r.is_empty() && !r.starts_with(']'));
        let high = match range {
            Some(after) => {
                let (high, after) = one(after, text)?;
                rest = after;
                if high < low {
                    let part = &start[..start.len() - rest.len()];
                    return Err(("invalid character class range", part.into()));
                }
                Some(high)
            }
            None => None,
        };
        literal(low, out);
        if let Some(high) = high {
            out.push('-');
            literal(high, out);
        }
    }
}

/// One character of a class.
fn one<'p>(text: &'p str, whole: &str) -> Result<(char, &'p str), PatternError> {
    match text.chars().next() {
        None => Err(("missing closing ]", whole.into())),
        Some('\\') => escaped(text),
        Some(c) => Ok((c, &text[c.len_utf8()..])),
    }
}
