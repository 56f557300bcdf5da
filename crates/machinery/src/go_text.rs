//! How Go prints strings and JSON inside messages, since the messages of errors are compared.

use std::{io, ops::Range};

use serde::Serialize;
use serde_json::{Value, ser::Formatter};

/// A string as Go's `%q` prints it.
pub fn go_quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            c if is_print(c) => out.push(c),
            c => match u32::from(c) {
                n @ (..0x20 | 0x7f) => out.push_str(&format!("\\x{n:02x}")),
                n @ ..0x10000 => out.push_str(&format!("\\u{n:04x}")),
                n => out.push_str(&format!("\\U{n:08x}")),
            },
        }
    }
    out.push('"');
    out
}

/// Whether a character can be seen, as Go's `unicode.IsPrint` says: letters, marks, numbers, punctuation, symbols and
/// the ASCII space.
pub fn is_print(c: char) -> bool {
    // Behind another character, `escape_debug` escapes exactly what is not printable, and three characters more.
    matches!(c, '\'' | '"' | '\\') || {
        let mut buffer = String::with_capacity(8);
        buffer.push('a');
        buffer.push(c);
        buffer.escape_debug().count() == 2
    }
}

/// A number as Go's `%v` prints it: `1` for 1.0, `1e-05`, `2.5e+06`.
pub fn go_float(value: f64) -> String {
    float(value, 1e-4..1e6, 2)
}

/// JSON as Go's `json.Marshal` prints it: compact, keys of maps sorted, `<`, `>` and `&` escaped.
pub fn go_json(value: &Value) -> String {
    go_json_of(value)
}

/// The same as [`go_json`] for a typed value, whose fields keep their order.
pub fn go_json_of(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, GoFormatter);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(float(value, 1e-6..1e21, 1).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        const SPECIAL: [char; 5] = ['<', '>', '&', '\u{2028}', '\u{2029}'];
        for part in fragment.split_inclusive(SPECIAL) {
            let plain = part.trim_end_matches(SPECIAL);
            writer.write_all(plain.as_bytes())?;
            for c in part.get(plain.len()..).unwrap_or_default().chars() {
                write!(writer, "\\u{:04x}", u32::from(c))?;
            }
        }
        Ok(())
    }
}

/// Shortest digits; in scientific notation unless it is in a range, with so many digits of exponent at least.
fn float(value: f64, plain: Range<f64>, width: usize) -> String {
    let size = value.abs();
    if size == 0.0 || plain.contains(&size) || !value.is_finite() {
        return value.to_string();
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>width$}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            assert_eq!(go_quote(text), quoted, "{text:?}");
        }
    }

    #[test]
    fn json_escapes_what_html_would_read() {
        assert_eq!(
            go_json(&json!({"b": [1, 1.5, null, true], "a": "x<&>y\u{2028}é\n"})),
            r#"{"a":"x\u003c\u0026\u003ey\u2028é\n","b":[1,1.5,null,true]}"#
        );
    }

    #[test]
    fn floats_print_differently_in_json_and_alone() {
        for (value, alone, json) in [
            (1.0, "1", "1"),
            (-0.5, "-0.5", "-0.5"),
            (999999.5, "999999.5", "999999.5"),
            (2147483648.0, "2.147483648e+09", "2147483648"),
            (1e20, "1e+20", "100000000000000000000"),
            (1e21, "1e+21", "1e+21"),
            (1.5e-5, "1.5e-05", "0.000015"),
            (1.5e-7, "1.5e-07", "1.5e-7"),
            (0.0001, "0.0001", "0.0001"),
            (1e300, "1e+300", "1e+300"),
        ] {
            assert_eq!(go_float(value), alone);
            assert_eq!(go_json(&json!([value])), format!("[{json}]"));
        }
    }
}
