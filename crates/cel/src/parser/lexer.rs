//! Splits characters into tokens, by the longest match.
//!
//! Text that is not a token is reported and skipped, as far as it could have been the beginning of one.

use crate::source::{Issues, Source};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    EqualEqual,
    NotEqual,
    In,
    Less,
    LessEqual,
    GreaterEqual,
    Greater,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Not,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Ident,
    EscapedIdent,
    End,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'s> {
    pub(super) kind: TokenKind,
    pub(super) text: &'s str,
    /// The offset in characters.
    pub(super) offset: u32,
}

/// All tokens of a source, an [`TokenKind::End`] last.
pub(super) fn tokens<'s>(source: &'s Source, issues: &mut Issues) -> Vec<Token<'s>> {
    let text = source.text();
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut offset = 0u32;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (length, kind) = match next(rest) {
            Next::Token(kind, length) => (length, Some(kind)),
            Next::Hidden(length) => (length, None),
            Next::Nothing(length) => {
                let what = format!(
                    "Syntax error: token recognition error at: '{}'",
                    &rest[..length]
                );
                issues.report(source.location(offset), what);
                (length, None)
            }
        };
        let text = &rest[..length];
        if let Some(kind) = kind {
            tokens.push(Token { kind, text, offset });
        }
        at += length;
        offset += text.chars().count() as u32;
    }
    tokens.push(Token {
        kind: TokenKind::End,
        text: "<EOF>",
        offset,
    });
    tokens
}

enum Next {
    Token(TokenKind, usize),
    /// White space or a comment, up to this offset.
    Hidden(usize),
    /// Not a token, up to this offset.
    Nothing(usize),
}

fn next(rest: &str) -> Next {
    use TokenKind::*;
    let bytes = rest.as_bytes();
    let first = bytes.first().copied().unwrap_or(0);
    let second = bytes.get(1).copied();
    let two = |with: u8, both: TokenKind, alone: TokenKind| match second {
        Some(b) if b == with => Next::Token(both, 2),
        _ => Next::Token(alone, 1),
    };
    let only_two = |with: u8, both: TokenKind| match second {
        Some(b) if b == with => Next::Token(both, 2),
        _ => Next::Nothing(through(rest, 1)),
    };
    let one = |kind| Next::Token(kind, 1);
    match first {
        b'\t' | b' ' | b'\r' | b'\n' | 0x0c => Next::Hidden(span(rest, |b| {
            matches!(b, b'\t' | b' ' | b'\r' | b'\n' | 0x0c)
        })),
        b'/' if second == Some(b'/') => Next::Hidden(rest.find('\n').unwrap_or(rest.len())),
        b'=' => only_two(b'=', EqualEqual),
        b'!' => two(b'=', NotEqual, Not),
        b'<' => two(b'=', LessEqual, Less),
        b'>' => two(b'=', GreaterEqual, Greater),
        b'&' => only_two(b'&', And),
        b'|' => only_two(b'|', Or),
        b'[' => one(LeftBracket),
        b']' => one(RightBracket),
        b'{' => one(LeftBrace),
        b'}' => one(RightBrace),
        b'(' => one(LeftParen),
        b')' => one(RightParen),
        b',' => one(Comma),
        b'-' => one(Minus),
        b'?' => one(Question),
        b':' => one(Colon),
        b'+' => one(Plus),
        b'*' => one(Star),
        b'/' => one(Slash),
        b'%' => one(Percent),
        b'.' if second.is_some_and(|b| b.is_ascii_digit()) => number(rest),
        b'.' => one(Dot),
        b'0'..=b'9' => number(rest),
        b'"' | b'\'' => string(rest, 0, String),
        b'`' => escaped_ident(rest),
        b if b.is_ascii_alphabetic() || b == b'_' => word(rest),
        _ => Next::Nothing(through(rest, 0)),
    }
}

/// A name, a keyword, or a string with a prefix.
fn word(rest: &str) -> Next {
    use TokenKind::*;
    let bytes = rest.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let quote = |b: u8| b == b'"' || b == b'\'';
    let raw = |b: u8| b == b'r' || b == b'R';
    let prefix = match at(0) {
        b if raw(b) && quote(at(1)) => Some((1, String)),
        b'b' | b'B' if quote(at(1)) => Some((1, Bytes)),
        b'b' | b'B' if raw(at(1)) && quote(at(2)) => Some((2, Bytes)),
        _ => None,
    };
    if let Some((length, kind)) = prefix
        && let Next::Token(kind, length) = string(rest, length, kind)
    {
        return Next::Token(kind, length);
    }
    let length = span(rest, |b| b.is_ascii_alphanumeric() || b == b'_');
    let kind = match &rest[..length] {
        "in" => In,
        "true" => True,
        "false" => False,
        "null" => Null,
        _ => Ident,
    };
    Next::Token(kind, length)
}

fn escaped_ident(rest: &str) -> Next {
    let inner = rest.get(1..).unwrap_or("");
    let length = span(inner, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/' | b' ')
    });
    if length > 0 && inner[length..].starts_with('`') {
        return Next::Token(TokenKind::EscapedIdent, length + 2);
    }
    Next::Nothing(through(rest, length + 1))
}

fn number(rest: &str) -> Next {
    use TokenKind::*;
    let bytes = rest.as_bytes();
    let uint = |length: usize| match bytes.get(length) {
        Some(b'u' | b'U') => Next::Token(Uint, length + 1),
        _ => Next::Token(Int, length),
    };
    if let Some(hex) = rest.strip_prefix("0x") {
        let digits = span(hex, |b| b.is_ascii_hexdigit());
        if digits > 0 {
            return uint(digits + 2);
        }
    }
    let whole = span(rest, |b| b.is_ascii_digit());
    let mut length = whole;
    if bytes.get(whole) == Some(&b'.') {
        let fraction = span(&rest[whole + 1..], |b| b.is_ascii_digit());
        if fraction > 0 {
            length = whole + 1 + fraction;
        }
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let start = length + 1 + sign;
        let digits = span(rest.get(start..).unwrap_or(""), |b| b.is_ascii_digit());
        if digits > 0 {
            return Next::Token(Float, start + digits);
        }
    }
    if length > whole {
        return Next::Token(Float, length);
    }
    uint(whole)
}

/// A string whose quote is at `start`; raw if an `r` is before it.
fn string(rest: &str, start: usize, kind: TokenKind) -> Next {
    let raw = start > 0 && matches!(rest.as_bytes().get(start - 1), Some(b'r' | b'R'));
    let body = &rest[start..];
    let quote = &body[..1];
    let triple = quote.repeat(3);
    if body.starts_with(&triple)
        && let Ok(length) = scan(body, 3, &triple, raw, true)
    {
        return Next::Token(kind, start + length);
    }
    match scan(body, 1, quote, raw, false) {
        Ok(length) => Next::Token(kind, start + length),
        Err(stop) => Next::Nothing(through(rest, start + stop)),
    }
}

/// The length of a string to its end quote, or where it breaks off.
fn scan(body: &str, from: usize, end: &str, raw: bool, lines: bool) -> Result<usize, usize> {
    let bytes = body.as_bytes();
    let mut at = from;
    while let Some(b) = bytes.get(at) {
        if body[at..].starts_with(end) {
            return Ok(at + end.len());
        }
        match b {
            b'\n' | b'\r' if !lines => return Err(at),
            b'\\' if !raw => at += escape(bytes, at)?,
            b => at += utf8_length(*b),
        }
    }
    Err(body.len())
}

/// The length of the escape at `at`, or where it breaks off.
fn escape(bytes: &[u8], at: usize) -> Result<usize, usize> {
    let all = |from: usize, count: usize, wanted: fn(&u8) -> bool| match (from..from + count)
        .find(|i| !bytes.get(*i).is_some_and(wanted))
    {
        None => Ok(from + count - at),
        Some(bad) => Err(bad),
    };
    match bytes.get(at + 1) {
        Some(
            b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`',
        ) => Ok(2),
        Some(b'x' | b'X') => all(at + 2, 2, u8::is_ascii_hexdigit),
        Some(b'u') => all(at + 2, 4, u8::is_ascii_hexdigit),
        Some(b'U') => all(at + 2, 8, u8::is_ascii_hexdigit),
        Some(b'0'..=b'3') => all(at + 2, 2, |b| matches!(b, b'0'..=b'7')),
        _ => Err(at + 1),
    }
}

fn span(text: &str, wanted: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|b| wanted(*b)).count()
}

/// `at` and the character there.
fn through(text: &str, at: usize) -> usize {
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some(c) => at + c.len_utf8(),
        None => text.len(),
    }
}

fn utf8_length(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}
