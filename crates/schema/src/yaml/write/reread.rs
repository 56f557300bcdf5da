//! Applies what happens to a string that is written as JSON and read back as YAML, which is how Kubernetes converts an
//! object to YAML.
//!
//! JSON leaves some characters unescaped that mean something to YAML: of the line breaks, U+0085 is folded away with
//! the spaces around it, and control characters beyond ASCII's first 32 are not read at all.

use std::borrow::Cow;

use super::YamlWriteError;

/// The longest key, in characters of JSON.
const KEY: usize = 1024;

const NEXT_LINE: char = '\u{85}';

/// A value, its line breaks folded.
pub(super) fn value(text: &str) -> Result<Cow<'_, str>, YamlWriteError> {
    readable(text)?;
    if text.contains(NEXT_LINE) {
        Ok(Cow::Owned(folded(text)))
    } else {
        Ok(Cow::Borrowed(text))
    }
}

/// A key, which must be on one line.
pub(super) fn key(text: &str) -> Result<&str, YamlWriteError> {
    readable(text)?;
    // No character takes more than six.
    let long = text.len() > KEY / 6 && text.chars().map(json_width).sum::<usize>() + 2 > KEY;
    if long || text.contains(NEXT_LINE) {
        return Err(YamlWriteError::UnreadableKey);
    }
    Ok(text)
}

fn readable(text: &str) -> Result<(), YamlWriteError> {
    let unreadable =
        |c| matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    if text.contains(unreadable) {
        Err(YamlWriteError::ControlCharacter)
    } else {
        Ok(())
    }
}

/// One line break becomes a space, more of them become one less; spaces around them go.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let white = rest
            .find(|c| c != ' ' && c != NEXT_LINE)
            .unwrap_or(rest.len());
        let (run, behind) = rest.split_at(white);
        match run.matches(NEXT_LINE).count() {
            0 => out.push_str(run),
            1 => out.push(' '),
            breaks => out.extend(std::iter::repeat_n('\n', breaks - 1)),
        }
        let text = behind.find([' ', NEXT_LINE]).unwrap_or(behind.len());
        let (word, behind) = behind.split_at(text);
        out.push_str(word);
        rest = behind;
    }
    out
}

fn json_width(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
        _ => 1,
    }
}
