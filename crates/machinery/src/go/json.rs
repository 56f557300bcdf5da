//! JSON text, as Go's encoders write it.

use std::{fmt::Write, io};

use serde::Serialize;
use serde_json::{Number, Value, ser::Formatter};

use super::float::{write_iterator_float, write_json_float};

/// The encoder whose text is reproduced. Kubernetes uses two, and they differ in escapes and exponents.
///
/// ```
/// use kubewright_machinery::go::JsonStyle;
/// use serde_json::json;
///
/// let mut text = String::new();
/// JsonStyle::Iterator.write(&mut text, &json!("\u{8}"));
/// assert_eq!(text, r#""\u0008""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonStyle {
    /// `encoding/json`: HTML characters escaped, short escapes for backspace and form feed, `1e-7`.
    Standard,
    /// json-iterator, which writes the values inside of field paths: HTML characters escaped, `\u0008`, `1e-07`.
    Iterator,
    /// json-iterator where it writes the key of an object: as [`JsonStyle::Iterator`], with HTML characters as they are.
    IteratorKey,
}

/// A buffer that JSON text is appended to.
pub trait TextSink {
    /// Appends a text.
    fn push_text(&mut self, text: &str);
}

impl TextSink for String {
    #[inline]
    fn push_text(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl TextSink for Vec<u8> {
    #[inline]
    fn push_text(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }
}

/// Prints a value as `json.Marshal` does: compact, HTML characters escaped, keys in the order of the map.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    JsonStyle::Standard.write(&mut out, value);
    out
}

/// Prints a typed value as [`json`](fn@json) does; its fields keep their order.
///
/// ```
/// use kubewright_machinery::go::json_of;
///
/// assert_eq!(json_of(&["<", ">"]), r#"["\u003c","\u003e"]"#);
/// ```
pub fn json_of(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, GoFormatter);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

impl JsonStyle {
    /// Appends a value. Recurses as deep as the value nests, so callers hand in values of bounded depth.
    pub fn write(self, out: &mut String, value: &Value) {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(n) => self.write_number(out, n),
            Value::String(text) => self.write_string(out, text),
            Value::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    self.write(out, item);
                }
                out.push(']');
            }
            Value::Object(fields) => {
                out.push('{');
                for (i, (name, field)) in fields.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    self.write_string(out, name);
                    out.push(':');
                    self.write(out, field);
                }
                out.push('}');
            }
        }
    }

    /// Appends a number: integers as they are, floats in the shortest form.
    pub fn write_number(self, out: &mut String, n: &Number) {
        match (n.as_i64(), n.as_u64(), n.as_f64()) {
            // Writing to a string cannot fail.
            (Some(int), _, _) => _ = write!(out, "{int}"),
            (None, Some(uint), _) => _ = write!(out, "{uint}"),
            (None, None, Some(float)) if self == Self::Standard => write_json_float(out, float),
            (None, None, Some(float)) => write_iterator_float(out, float),
            (None, None, None) => _ = write!(out, "{n}"),
        }
    }

    /// Appends a string, quoted.
    #[inline]
    pub fn write_string(self, out: &mut impl TextSink, text: &str) {
        out.push_text("\"");
        self.write_escaped(out, text);
        out.push_text("\"");
    }

    /// Appends what stands between the quotes of a string.
    #[inline]
    pub fn write_escaped(self, out: &mut impl TextSink, text: &str) {
        match plain_prefix(text.as_bytes()) {
            plain if plain == text.len() => out.push_text(text),
            plain => self.write_escapes(out, text, plain),
        }
    }

    /// Appends a string in which the first `plain` bytes stand for themselves.
    fn write_escapes(self, out: &mut impl TextSink, text: &str, plain: usize) {
        let bytes = text.as_bytes();
        let mut start = 0;
        for (i, &byte) in bytes.iter().enumerate().skip(plain) {
            if PLAIN[usize::from(byte)] {
                continue;
            }
            let Some((escape, len)) = self.escape(byte, bytes.get(i + 1..i + 3)) else {
                continue;
            };
            // Escaped characters start and end at `i` and `i + len`, so these are boundaries of characters.
            out.push_text(text.get(start..i).unwrap_or_default());
            match escape {
                Escape::Text(escape) => out.push_text(escape),
                Escape::Code(byte) => {
                    let hex = |digit: u8| char::from_digit(u32::from(digit), 16).unwrap_or('0');
                    out.push_text("\\u00");
                    for digit in [hex(byte >> 4), hex(byte & 15)] {
                        out.push_text(digit.encode_utf8(&mut [0; 4]));
                    }
                }
            }
            start = i + len;
        }
        out.push_text(text.get(start..).unwrap_or_default());
    }

    /// Returns the escape of a character and the number of bytes it replaces; `None` if it is not escaped.
    fn escape(self, byte: u8, next: Option<&[u8]>) -> Option<(Escape, usize)> {
        let escape = match byte {
            b'"' => Escape::Text("\\\""),
            b'\\' => Escape::Text("\\\\"),
            b'\n' => Escape::Text("\\n"),
            b'\r' => Escape::Text("\\r"),
            b'\t' => Escape::Text("\\t"),
            0x08 if self == Self::Standard => Escape::Text("\\b"),
            0x0c if self == Self::Standard => Escape::Text("\\f"),
            b'<' | b'>' | b'&' | 0xe2 if self == Self::IteratorKey => return None,
            // U+2028 and U+2029 are line ends to JavaScript.
            0xe2 => {
                return match next {
                    Some([0x80, 0xa8]) => Some((Escape::Text("\\u2028"), 3)),
                    Some([0x80, 0xa9]) => Some((Escape::Text("\\u2029"), 3)),
                    _ => None,
                };
            }
            other => Escape::Code(other),
        };
        Some((escape, 1))
    }
}

enum Escape {
    Text(&'static str),
    /// `\u00` and two digits.
    Code(u8),
}

/// Bytes that stand for themselves in every style. 0xe2 starts two characters that do not.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        plain[byte] = false;
        byte += 1;
    }
    plain[b'"' as usize] = false;
    plain[b'\\' as usize] = false;
    plain[b'<' as usize] = false;
    plain[b'>' as usize] = false;
    plain[b'&' as usize] = false;
    plain[0xe2] = false;
    plain
};

/// Returns the number of bytes at the start of a text that are surely plain, eight at a time where possible.
#[inline]
fn plain_prefix(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let prefix = words.iter().take_while(|word| is_plain(**word)).count() * 8;
    let rest = bytes.get(prefix..).unwrap_or_default();
    let tail = rest.iter().take_while(|byte| PLAIN[usize::from(**byte)]);
    prefix + tail.count()
}

/// Reports whether all of eight bytes are ASCII and plain. Each test sets the high bit of a byte that matches; bytes after the
/// first match may be set falsely, which does no harm.
#[inline]
fn is_plain(word: [u8; 8]) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_ne_bytes(word);
    let zero = |word: u64| word.wrapping_sub(LOW) & !word;
    // `"` and `&` differ in one bit, and so do `<` and `>`.
    let quote_or_and = (word | (LOW * 0x04)) ^ (LOW * b'&' as u64);
    let angle = (word | (LOW * 0x02)) ^ (LOW * b'>' as u64);
    let backslash = word ^ (LOW * b'\\' as u64);
    let control = word.wrapping_sub(LOW * 0x20) & !word;
    let found = control | zero(quote_or_and) | zero(angle) | zero(backslash) | word;
    found & HIGH == 0
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let mut text = String::new();
        write_json_float(&mut text, value);
        writer.write_all(text.as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // A fragment holds nothing that JSON must escape, so only the characters of HTML are left to do.
        let mut text = String::with_capacity(fragment.len());
        JsonStyle::Standard.write_escaped(&mut text, fragment);
        writer.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn characters_of_html_are_escaped() {
        let value = json!({"b": [1, 1.5, null, true], "a": "x<&>y\u{2028}\u{2027}é\n"});
        let text = r#"{"a":"x\u003c\u0026\u003ey\u2028‧é\n","b":[1,1.5,null,true]}"#;
        assert_eq!(super::json(&value), text);
        assert_eq!(json_of(&value), text);
    }

    #[test]
    fn every_byte_is_escaped_alike_wherever_it_stands() {
        for code in 0..0x100u32 {
            let c = char::from_u32(code).unwrap();
            let mut alone = String::new();
            JsonStyle::Standard.write_escapes(&mut alone, &c.to_string(), 0);
            for before in 0..17 {
                let text = format!("{}{c}{}", "a".repeat(before), "b".repeat(9));
                let mut out = String::new();
                JsonStyle::Standard.write_escaped(&mut out, &text);
                let expected = format!("{}{alone}{}", "a".repeat(before), "b".repeat(9));
                assert_eq!(out, expected, "{code:#x}");
            }
        }
    }

    #[test]
    fn the_two_encoders_differ_in_escapes_and_exponents() {
        let value = json!(["\u{8}\u{c}\u{0}\u{1f}\u{7f}<\u{ad}", 1e-7, u64::MAX]);
        let text = |style: JsonStyle| {
            let mut out = String::new();
            style.write(&mut out, &value);
            out
        };
        assert_eq!(
            text(JsonStyle::Standard),
            "[\"\\b\\f\\u0000\\u001f\u{7f}\\u003c\u{ad}\",1e-7,18446744073709551615]"
        );
        assert_eq!(
            text(JsonStyle::Iterator),
            "[\"\\u0008\\u000c\\u0000\\u001f\u{7f}\\u003c\u{ad}\",1e-07,18446744073709551615]"
        );
        let mut key = String::new();
        JsonStyle::IteratorKey.write_string(&mut key, "<\u{2028}\u{8}\"");
        assert_eq!(key, "\"<\u{2028}\\u0008\\\"\"");
    }
}
