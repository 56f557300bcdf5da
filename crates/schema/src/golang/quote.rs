//! Quoting as `strconv.Quote` does.

use std::fmt::Write;

/// A string in double quotes, with Go's escapes.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push(&mut out, c, '"');
    }
    out.push('"');
    out
}

/// A byte in single quotes, as syntax errors show it. Bytes beyond ASCII show as the Latin-1 character.
pub(crate) fn quote_byte(byte: u8) -> String {
    let mut out = String::from("'");
    push(&mut out, char::from(byte), '\'');
    out.push('\'');
    out
}

fn push(out: &mut String, c: char, delimiter: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        c if c == delimiter => {
            out.push('\\');
            out.push(c);
        }
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        ' '..='~' => out.push(c),
        c if c < ' ' || c == '\u{7f}' => {
            let _ = write!(out, "\\x{:02x}", u32::from(c));
        }
        c if printable(c) => out.push(c),
        c if u32::from(c) < 0x1_0000 => {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
        c => {
            let _ = write!(out, "\\U{:08x}", u32::from(c));
        }
    }
}

fn printable(c: char) -> bool {
    !c.is_control() && !c.is_whitespace() && c != '\u{ad}' && c.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_go() {
        assert_eq!(quote("a\"b\\c\n\u{0}é\u{a0}"), r#""a\"b\\c\n\x00é\u00a0""#);
        assert_eq!(quote_byte(b'\''), r"'\''");
        assert_eq!(quote_byte(b'"'), "'\"'");
        assert_eq!(quote_byte(0xe2), "'â'");
        assert_eq!(quote_byte(0x80), r"'\u0080'");
    }
}
