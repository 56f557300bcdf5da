//! Finding the end of a JSON value: in a whole buffer ([`value_end`], [`ObjectReader`]) and across chunks
//! ([`Boundary`]).
//!
//! Only strings and brackets are examined. Invalid literals between them are found when the value is decoded.
//! Nothing recurses; the depth is a counter.

use std::borrow::Cow;
use std::ops::Range;

use kubewright_machinery::scan::{BLOCK, Carry, brackets, quote_or_backslash};

use super::DecodeError;

/// Finds the end of one JSON value in chunks.
#[derive(Clone, Debug, Default)]
pub struct Boundary {
    depth: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    Between,
    String,
    Escape,
    Scalar,
}

/// Iterates over the fields of one JSON object in a whole buffer.
///
/// ```
/// use kubewright_client::stream::scan::ObjectReader;
///
/// let json = br#"{"kind": "Pod", "metadata": {"name": "web"}}"#;
/// let mut reader = ObjectReader::new(json, 0).unwrap();
/// while let Some(key) = reader.next_key().unwrap() {
///     let value = &json[reader.skip().unwrap()];
///     if key == b"metadata" {
///         assert_eq!(value, br#"{"name": "web"}"#);
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ObjectReader<'a> {
    bytes: &'a [u8],
    at: usize,
    first: bool,
}

/// Returns the end of the value that starts at `start`, after optional white space.
///
/// # Errors
///
/// Fails if the value is malformed or incomplete.
pub fn value_end(bytes: &[u8], start: usize) -> Result<usize, DecodeError> {
    let rest = bytes.get(start..).unwrap_or_default();
    let mut boundary = Boundary::default();
    match boundary.advance(rest) {
        Some(length) => Ok(start + length),
        // A number at the end of the buffer ends there.
        None if boundary.state == State::Scalar => Ok(bytes.len()),
        None => Err(DecodeError::Truncated("value")),
    }
}

/// Returns the position of the first byte at or after `at` that is not white space.
///
/// # Errors
///
/// Fails if the value is malformed or incomplete.
pub fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Decodes a JSON string with its quotes; `None` if it is not a string.
pub fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice(raw).ok().map(Cow::Owned)
}

impl Boundary {
    /// Reads on. Returns `Some(n)` if the value ended before byte `n` of these bytes, and `None` if it continues in the
    /// next chunk.
    pub fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.depth > 0 {
                match self.by_blocks(bytes, at) {
                    (next, true) => return Some(next),
                    (next, false) => at = next,
                }
            }
            let Some(byte) = bytes.get(at).copied() else {
                break;
            };
            match self.state {
                State::Start => {
                    match byte {
                        b'{' | b'[' => {
                            self.depth = 1;
                            self.state = State::Between;
                        }
                        b'"' => self.state = State::String,
                        _ if byte.is_ascii_whitespace() => {}
                        _ => self.state = State::Scalar,
                    }
                    at += 1;
                }
                State::Between => match self.between(bytes, at) {
                    (next, true) => return Some(next),
                    (next, false) => at = next,
                },
                State::String => {
                    at = quote_or_backslash(bytes, at);
                    if let Some(byte) = bytes.get(at) {
                        at += 1;
                        match byte {
                            b'\\' => self.state = State::Escape,
                            _ if self.depth == 0 => return Some(at),
                            _ => self.state = State::Between,
                        }
                    }
                }
                State::Escape => {
                    at += 1;
                    self.state = State::String;
                }
                State::Scalar => {
                    if matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace() {
                        return Some(at);
                    }
                    at += 1;
                }
            }
        }
        None
    }

    /// Scans whole blocks from `at` on, within brackets. Returns where it stopped, and whether the value ended there.
    fn by_blocks(&mut self, bytes: &[u8], at: usize) -> (usize, bool) {
        let mut carry = Carry {
            in_string: matches!(self.state, State::String | State::Escape),
            escaped: self.state == State::Escape,
        };
        let mut depth = self.depth;
        let mut stopped = at;
        let (whole, _) = bytes.get(at..).unwrap_or_default().as_chunks::<BLOCK>();
        for block in whole {
            let (brackets, next) = brackets(block, carry);
            let closing = brackets.closing.count_ones();
            if depth <= closing
                && let Some(end) = brackets.end(depth)
            {
                self.depth = 0;
                return (stopped + end, true);
            }
            // Every closing bracket has an opening one: otherwise the value would have ended.
            depth = depth.saturating_add(brackets.opening.count_ones()) - closing;
            carry = next;
            stopped += BLOCK;
        }
        self.depth = depth;
        self.state = match carry {
            Carry { escaped: true, .. } => State::Escape,
            Carry {
                in_string: true, ..
            } => State::String,
            _ => State::Between,
        };
        (stopped, false)
    }

    /// Scans brackets and whole strings from `at` on. Returns where it stopped, and whether the value ended there.
    #[inline]
    fn between(&mut self, bytes: &[u8], mut at: usize) -> (usize, bool) {
        let mut depth = self.depth;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    at = quote_or_backslash(bytes, at);
                    match bytes.get(at) {
                        Some(b'"') => at += 1,
                        _ => {
                            self.state = State::String;
                            break;
                        }
                    }
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.depth = 0;
                        return (at, true);
                    }
                }
                _ => {}
            }
        }
        self.depth = depth;
        (at, false)
    }
}

impl<'a> ObjectReader<'a> {
    /// Reads the object that starts at `start`, after optional white space.
    ///
    /// # Errors
    ///
    /// Fails if there is no object.
    pub fn new(bytes: &'a [u8], start: usize) -> Result<Self, DecodeError> {
        let at = skip_space(bytes, start);
        match bytes.get(at) {
            Some(b'{') => Ok(Self {
                bytes,
                at: at + 1,
                first: true,
            }),
            Some(_) => Err(DecodeError::Malformed("an object was expected")),
            None => Err(DecodeError::Truncated("object")),
        }
    }

    /// Returns the next field's name as written, without its quotes, and moves to the value; `None` at the end of the
    /// object, with [`position`](Self::position) behind the closing bracket.
    ///
    /// # Errors
    ///
    /// Fails if the object is malformed or incomplete.
    pub fn next_key(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        let mut at = skip_space(self.bytes, self.at);
        match self.bytes.get(at) {
            Some(b'}') => {
                self.at = at + 1;
                return Ok(None);
            }
            Some(b',') if !self.first => at = skip_space(self.bytes, at + 1),
            _ => {}
        }
        match self.bytes.get(at) {
            Some(b'"') => {}
            Some(_) => return Err(DecodeError::Malformed("a field name was expected")),
            None => return Err(DecodeError::Truncated("object")),
        }
        let end = value_end(self.bytes, at)?;
        let colon = skip_space(self.bytes, end);
        match self.bytes.get(colon) {
            Some(b':') => {}
            Some(_) => return Err(DecodeError::Malformed("a colon was expected")),
            None => return Err(DecodeError::Truncated("object")),
        }
        self.first = false;
        self.at = skip_space(self.bytes, colon + 1);
        Ok(self.bytes.get(at + 1..end - 1))
    }

    /// Skips the value at the current position, and returns its range.
    pub fn skip(&mut self) -> Result<Range<usize>, DecodeError> {
        let end = value_end(self.bytes, self.at)?;
        let range = self.at..end;
        self.at = end;
        Ok(range)
    }

    /// Returns the current position.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Continues at `position`, the end of a value that another parser has read.
    pub fn resume_at(&mut self, position: usize) {
        self.at = position;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".*".prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::vec((".*", inner), 0..6).prop_map(|fields| fields
                    .into_iter()
                    .collect::<serde_json::Map<_, _>>()
                    .into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_ends_at_the_same_byte_however_it_is_cut(value in json(), cuts in prop::collection::vec(prop_oneof![1usize..9, 60usize..200], 1..64)) {
            let text = format!(" {value},");
            let end = text.len() - 1;
            prop_assert_eq!(value_end(text.as_bytes(), 0), Ok(end));
            let (mut boundary, mut at, mut cuts) = (Boundary::default(), 0, cuts.iter().cycle());
            loop {
                let next = (at + cuts.next().copied().unwrap_or(1)).min(text.len());
                if let Some(n) = boundary.advance(&text.as_bytes()[at..next]) {
                    prop_assert_eq!(at + n, end);
                    break;
                }
                prop_assert!(next < text.len());
                at = next;
            }
        }

        #[test]
        fn no_bytes_trip_the_scanner(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = value_end(&bytes, 0);
            if let Ok(mut reader) = ObjectReader::new(&bytes, 0) {
                while let Ok(Some(_)) = reader.next_key() {
                    if reader.skip().is_err() {
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn nesting_without_end_exhausts_nothing() {
        let deep = "[".repeat(5_000_000);
        assert_eq!(
            value_end(deep.as_bytes(), 0),
            Err(DecodeError::Truncated("value"))
        );
    }

    #[test]
    fn fields_are_walked_in_order() {
        let text = br#" { "a" : 1 , "b\"":[{"x":"}"}],"c":"\\"} "#;
        let mut reader = ObjectReader::new(text, 0).unwrap();
        let mut seen = Vec::new();
        while let Some(key) = reader.next_key().unwrap() {
            let value = reader.skip().unwrap();
            seen.push((key.to_vec(), text[value].to_vec()));
        }
        assert_eq!(
            seen,
            [
                (b"a".to_vec(), b"1".to_vec()),
                (b"b\\\"".to_vec(), br#"[{"x":"}"}]"#.to_vec()),
                (b"c".to_vec(), br#""\\""#.to_vec()),
            ]
        );
        assert_eq!(reader.position(), text.len() - 1);
    }
}
