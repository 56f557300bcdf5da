//! Parses JSON text into a [`Node`].
//!
//! The grammar and the texts of the errors are those of Go's `encoding/json`, which the real server prints. Invalid
//! UTF-8 and lone surrogates in strings become U+FFFD, one for each byte or escape. Numbers are kept as written.

use kubewright_machinery::{go, limits::DOCUMENT_DEPTH};
use std::{borrow::Cow, fmt};

use crate::document::Node;

/// The text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The description of the error, worded as in Go.
    pub message: String,
    /// The offset of the byte at which it was noticed.
    pub offset: usize,
}

/// Reads one JSON document. Strings without escapes are borrowed.
///
/// # Errors
///
/// Returns Go's error if the text is not JSON or nests too deep.
///
/// ```
/// use kubewright_schema::parse_json;
///
/// assert_eq!(parse_json(b"{\"a\": 1}")?.get("a").map(|n| n.kind()), Some("number"));
/// assert_eq!(
///     parse_json(b"{").unwrap_err().to_string(),
///     "unexpected end of JSON input"
/// );
/// # Ok::<(), kubewright_schema::SyntaxError>(())
/// ```
pub fn parse_json(bytes: &[u8]) -> Result<Node<'_>, SyntaxError> {
    let mut parser = Parser {
        bytes,
        text: std::str::from_utf8(bytes).ok(),
        at: 0,
    };
    parser.skip_space();
    let node = parser.value(0).map_err(|error| *error)?;
    parser.skip_space();
    if parser.at < bytes.len() {
        return Err(*parser.unexpected("after top-level value"));
    }
    Ok(node)
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// Boxed, so that results stay small.
type Fail = Box<SyntaxError>;

struct Parser<'a> {
    bytes: &'a [u8],
    /// The same bytes, where all of them are UTF-8.
    text: Option<&'a str>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, Fail> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                Ok(Node::String(self.string()?))
            }
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Node::Bool(true)),
            Some(b'f') => self.literal("false", Node::Bool(false)),
            Some(b'n') => self.literal("null", Node::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node<'a>, Fail> {
        self.check_depth(depth)?;
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Node::Object(Vec::new()));
        }
        let mut entries = Vec::new();
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            self.at += 1;
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            self.skip_space();
            let value = self.value(depth)?;
            entries.push((key, value));
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Node::Object(entries));
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
            self.skip_space();
        }
    }

    fn array(&mut self, depth: usize) -> Result<Node<'a>, Fail> {
        self.check_depth(depth)?;
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Node::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Node::Array(items));
                }
                _ => return Err(self.unexpected("after array element")),
            }
            self.skip_space();
        }
    }

    fn check_depth(&self, depth: usize) -> Result<(), Fail> {
        if depth > DOCUMENT_DEPTH {
            return Err(self.unexpected("exceeded max depth"));
        }
        Ok(())
    }

    fn literal(&mut self, word: &str, node: Node<'a>) -> Result<Node<'a>, Fail> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let expected = char::from(expected);
                return Err(self.broken(&format!("in literal {word} (expecting '{expected}')")));
            }
            self.at += 1;
        }
        Ok(node)
    }

    fn number(&mut self) -> Result<Node<'a>, Fail> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.broken("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.broken("after decimal point in numeric literal"));
            }
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.broken("in exponent of numeric literal"));
            }
            self.digits();
        }
        Ok(Node::Number(self.slice(start, self.at)))
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    /// A string whose opening quote has been read.
    fn string(&mut self) -> Result<Cow<'a, str>, Fail> {
        let start = self.at;
        self.plain_run();
        match self.peek() {
            Some(b'"') => {
                let text = self.slice(start, self.at);
                self.at += 1;
                Ok(text)
            }
            Some(b'\\') => self.escaped_string(start),
            _ => Err(self.unexpected("in string literal")),
        }
    }

    /// Skips to the next quote, backslash or control character.
    fn plain_run(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (words, _) = rest.as_chunks::<8>();
        let plain = words.iter().take_while(|word| is_plain(**word)).count() * 8;
        let rest = rest.get(plain..).unwrap_or_default();
        let tail = rest
            .iter()
            .position(|&b| b == b'"' || b == b'\\' || b < 0x20);
        self.at += plain + tail.unwrap_or(rest.len());
    }

    fn escaped_string(&mut self, start: usize) -> Result<Cow<'a, str>, Fail> {
        let mut out = self.slice(start, self.at).into_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(c) if c >= 0x20 => {
                    let from = self.at;
                    self.plain_run();
                    out.push_str(&self.slice(from, self.at));
                }
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    /// An escape whose backslash has been read.
    fn escape(&mut self) -> Result<char, Fail> {
        let c = match self.peek() {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(c @ (b'\\' | b'/' | b'"')) => char::from(c),
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.broken("in string escape code")),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode_escape(&mut self) -> Result<char, Fail> {
        let first = self.hex4()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        // A surrogate: only the first of a pair that is complete means a character.
        let pair = self.bytes.get(self.at..self.at + 6);
        if let Some([b'\\', b'u', hex @ ..]) = pair
            && let Some(second) = std::str::from_utf8(hex)
                .ok()
                .and_then(|h| u32::from_str_radix(h, 16).ok())
            && (0xD800..0xDC00).contains(&first)
            && (0xDC00..0xE000).contains(&second)
            && let Some(c) = char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        {
            self.at += 6;
            return Ok(c);
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, Fail> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|c| char::from(c).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.broken("in \\u hexadecimal character escape"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn slice(&self, start: usize, end: usize) -> Cow<'a, str> {
        if let Some(text) = self.text {
            return Cow::Borrowed(text.get(start..end).unwrap_or_default());
        }
        let mut rest = self.bytes.get(start..end).unwrap_or_default();
        match std::str::from_utf8(rest) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => {
                let mut out = String::with_capacity(rest.len() + 8);
                while let Err(bad) = std::str::from_utf8(rest) {
                    let (good, tail) = rest.split_at(bad.valid_up_to());
                    out.push_str(&String::from_utf8_lossy(good));
                    out.push(char::REPLACEMENT_CHARACTER);
                    rest = tail.get(1..).unwrap_or_default();
                }
                out.push_str(&String::from_utf8_lossy(rest));
                Cow::Owned(out)
            }
        }
    }

    /// The next byte does not belong here; at the end of the input, more was needed.
    fn unexpected(&self, context: &str) -> Fail {
        let message = match self.peek() {
            Some(c) => format!("invalid character {} {context}", go::quote_byte(c)),
            None => "unexpected end of JSON input".to_owned(),
        };
        Box::new(SyntaxError {
            message,
            offset: self.at,
        })
    }

    /// As [`unexpected`](Self::unexpected), inside a token: there the end of the input reads as a space.
    fn broken(&self, context: &str) -> Fail {
        let c = self.peek().unwrap_or(b' ');
        Box::new(SyntaxError {
            message: format!("invalid character {} {context}", go::quote_byte(c)),
            offset: self.at,
        })
    }
}

/// Reports whether none of eight bytes ends a run of plain text. Each test sets the high bit of a byte that matches;
/// bytes after the first match may be set falsely, which does no harm.
fn is_plain(word: [u8; 8]) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_ne_bytes(word);
    let quote = word ^ (LOW * b'"' as u64);
    let backslash = word ^ (LOW * b'\\' as u64);
    let found = (word.wrapping_sub(LOW * 0x20) & !word)
        | (quote.wrapping_sub(LOW) & !quote)
        | (backslash.wrapping_sub(LOW) & !backslash);
    found & HIGH == 0
}

#[cfg(test)]
mod tests;
