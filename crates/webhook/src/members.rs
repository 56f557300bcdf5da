//! [`Members`]: the members of a JSON object as text, found without decoding or validating them.
//!
//! Skipping a large value this way is several times as fast as parsing it. Values that are used must be parsed, which finds any
//! errors in them.

use std::ops::Range;

/// The members of an object inside a text.
pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
}

/// A text that is not an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl<'a> Members<'a> {
    /// Starts at an object, which may be surrounded by whitespace.
    pub(crate) fn new(text: &'a str) -> Result<Self, Malformed> {
        Self::at(text, space_end(text.as_bytes(), 0))
    }

    fn at(text: &'a str, start: usize) -> Result<Self, Malformed> {
        match text.as_bytes().get(start) {
            Some(b'{') => Ok(Self {
                text,
                at: start + 1,
            }),
            _ => Err(Malformed),
        }
    }

    /// Returns the key of the next member, with its quotes, or `None` at the end of the object. The caller must then skip the
    /// value with [`value`](Self::value), or with [`enter`](Self::enter) and [`leave`](Self::leave).
    pub(crate) fn key(&mut self) -> Result<Option<&'a str>, Malformed> {
        let bytes = self.text.as_bytes();
        let mut at = space_end(bytes, self.at);
        match bytes.get(at) {
            Some(b',') => at = space_end(bytes, at + 1),
            Some(b'}') => {
                self.at = at;
                return Ok(None);
            }
            _ => {}
        }
        if bytes.get(at) != Some(&b'"') {
            return Err(Malformed);
        }
        let end = string_end(bytes, at).ok_or(Malformed)?;
        let colon = space_end(bytes, end);
        if bytes.get(colon) != Some(&b':') {
            return Err(Malformed);
        }
        self.at = space_end(bytes, colon + 1);
        self.text.get(at..end).map(Some).ok_or(Malformed)
    }

    /// Skips the value of the member, and returns its range.
    pub(crate) fn value(&mut self) -> Result<Range<usize>, Malformed> {
        let start = self.at;
        self.at = value_end(self.text.as_bytes(), start).ok_or(Malformed)?;
        Ok(start..self.at)
    }

    /// Returns the members of the value, or `None` if it is not an object.
    pub(crate) fn enter(&self) -> Option<Self> {
        Self::at(self.text, self.at).ok()
    }

    /// Continues after a value whose members have all been visited.
    pub(crate) fn leave(&mut self, value: Self) {
        self.at = value.at + 1;
    }
}

/// Returns the index after the value that begins at `start`.
pub(crate) fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    match bytes.get(start)? {
        b'"' => string_end(bytes, start),
        b'{' | b'[' => container_end(bytes, start),
        _ => {
            let ends =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
            let length = bytes[start..].iter().position(ends)?;
            (length > 0).then_some(start + length)
        }
    }
}

/// Returns the index after the string that begins at `start`.
pub(crate) fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        // Eight bytes at a time, up to the first special one.
        while let Some((word, _)) = bytes.get(at..)?.split_first_chunk() {
            let word = u64::from_le_bytes(*word);
            let hits = zero_bytes(word ^ QUOTES) | zero_bytes(word ^ BACKSLASHES);
            if hits != 0 {
                at += hits.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);

/// Sets the highest bit of the first zero byte, and possibly of later bytes.
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

fn container_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

fn space_end(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Result<Vec<(&str, &str)>, Malformed> {
        let mut members = Members::new(text)?;
        let mut found = Vec::new();
        while let Some(key) = members.key()? {
            found.push((key, &text[members.value()?]));
        }
        Ok(found)
    }

    #[test]
    fn members_are_found_with_and_without_spaces() {
        let text = " { \"a\" : -1.5e3 ,\n\"b\\\"}\":[{\"x\":\"]\\\\\"},[ ]] , \"c\":{\"é\":null},\"d\":\"\" }\n";
        let expected = [
            ("\"a\"", "-1.5e3"),
            ("\"b\\\"}\"", "[{\"x\":\"]\\\\\"},[ ]]"),
            ("\"c\"", "{\"é\":null}"),
            ("\"d\"", "\"\""),
        ];
        assert_eq!(members(text).unwrap(), expected);
        assert_eq!(members("{}").unwrap(), []);
    }

    #[test]
    fn strings_end_at_the_first_quote_that_is_not_escaped() {
        for length in 0..40 {
            for tail in ["", "\\\\", "\\\"", "\\\"é", "\u{80}\u{ff}!#[]"] {
                let string = format!("\"{}{tail}\"", "x".repeat(length));
                let text = format!("{string}\"\\, more");
                assert_eq!(string_end(text.as_bytes(), 0), Some(string.len()), "{text}");
                let cut = &string.as_bytes()[..string.len() - 1];
                assert_eq!(string_end(cut, 0), None, "{string}");
            }
        }
    }

    #[test]
    fn truncated_texts_and_other_values_are_malformed() {
        let whole = r#"{"a":[1,{"b":"c\""}],"d":true}"#;
        for end in 0..whole.len() {
            assert_eq!(members(&whole[..end]), Err(Malformed), "{end}");
        }
        for text in ["[]", "1", "{1:2}", r#"{"a" 1}"#, r#"{"a":}"#] {
            assert_eq!(members(text), Err(Malformed), "{text}");
        }
    }
}
