//! Quoting, as `strconv.Quote` does it.

use std::fmt::Write;

use super::printable::PRINTABLE;

/// Quotes a string as Go's `%q` does: in double quotes, with everything escaped that is not printable.
///
/// ```
/// use kubewright_machinery::go;
///
/// assert_eq!(go::quote("a \"b\" \u{ad}"), r#""a \"b\" \u00ad""#);
/// ```
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push(&mut out, c, '"');
    }
    out.push('"');
    out
}

/// Quotes the texts of a list as `%q` does.
///
/// ```
/// use kubewright_machinery::go;
///
/// assert_eq!(go::quote_all(["a", "b c"]), r#"["a" "b c"]"#);
/// ```
pub fn quote_all<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

/// Quotes a byte in single quotes, as Go's syntax errors show it. Bytes beyond ASCII show as the Latin-1 character.
///
/// ```
/// use kubewright_machinery::go::quote_byte;
///
/// assert_eq!(quote_byte(b'}'), "'}'");
/// ```
pub fn quote_byte(byte: u8) -> String {
    let mut out = String::from("'");
    push(&mut out, char::from(byte), '\'');
    out.push('\'');
    out
}

/// Reports whether Go prints a character as it is: letters, marks, numbers, punctuation, symbols and the ASCII space.
///
/// ```
/// use kubewright_machinery::go::is_print;
///
/// assert!(is_print('ö') && !is_print('\u{ad}'));
/// ```
pub fn is_print(c: char) -> bool {
    if matches!(c, ' '..='~') {
        return true;
    }
    let code = u32::from(c);
    let behind = PRINTABLE.partition_point(|(first, _)| *first <= code);
    let range = behind.checked_sub(1).and_then(|i| PRINTABLE.get(i));
    range.is_some_and(|(_, last)| code <= *last)
}

fn push(out: &mut String, c: char, delimiter: char) {
    let short = match c {
        '\\' => "\\\\",
        '"' if delimiter == '"' => "\\\"",
        '\'' if delimiter == '\'' => "\\'",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        c if is_print(c) => return out.push(c),
        c => {
            // Writing to a string cannot fail.
            let _ = match u32::from(c) {
                code @ (..0x20 | 0x7f) => write!(out, "\\x{code:02x}"),
                code @ ..0x10000 => write!(out, "\\u{code:04x}"),
                code => write!(out, "\\U{code:08x}"),
            };
            return;
        }
    };
    out.push_str(short);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_go_does() {
        for (text, quoted) in [
            ("", r#""""#),
            ("a\"b\\", r#""a\"b\\""#),
            ("\n\t\r\u{7}\u{8}\u{b}\u{c}", r#""\n\t\r\a\b\v\f""#),
            ("\0\u{1f}\u{7f}", r#""\x00\x1f\x7f""#),
            ("é漢😀'", "\"é漢😀'\""),
            ("e\u{301}", "\"e\u{301}\""),
            ("\u{301}", "\"\u{301}\""),
            (
                "\u{80}\u{a0}\u{200b}\u{feff}\u{2028}",
                r#""\u0080\u00a0\u200b\ufeff\u2028""#,
            ),
            ("\u{e000}\u{10ffff}", r#""\ue000\U0010ffff""#),
        ] {
            assert_eq!(quote(text), quoted, "{text:?}");
        }
    }

    #[test]
    fn characters_without_a_shape_are_escaped() {
        // A soft hyphen, an Arabic number sign, a Mongolian vowel separator, a language tag, an unassigned code point
        // and an ideographic space.
        assert_eq!(
            quote("\u{ad}\u{600}\u{180e}\u{e0001}\u{378}\u{3000}"),
            r#""\u00ad\u0600\u180e\U000e0001\u0378\u3000""#
        );
    }

    #[test]
    fn characters_newer_than_the_unicode_of_go_are_escaped() {
        // Assigned in Unicode 16.
        assert_eq!(quote("\u{1c89}\u{10d40}"), r#""\u1c89\U00010d40""#);
    }

    #[test]
    fn a_byte_is_quoted_as_a_latin_1_character() {
        for (byte, quoted) in [
            (b'\'', r"'\''"),
            (b'"', "'\"'"),
            (0xe2, "'â'"),
            (0x80, r"'\u0080'"),
            (0xad, r"'\u00ad'"),
        ] {
            assert_eq!(quote_byte(byte), quoted);
        }
    }

    #[test]
    fn ranges_of_printable_characters_ascend() {
        assert!(PRINTABLE.iter().all(|(first, last)| first <= last));
        assert!(PRINTABLE.is_sorted_by(|a, b| a.1 < b.0));
    }
}
