//! Converts the text of a literal to its value.

use crate::ast::Literal;

use super::lexer::{Token, TokenKind};

/// The value of a literal token; `negative` if a minus stands before it.
pub(super) fn value(token: Token<'_>, negative: bool) -> Result<Literal, &'static str> {
    match token.kind {
        TokenKind::True => Ok(Literal::Bool(true)),
        TokenKind::False => Ok(Literal::Bool(false)),
        TokenKind::Int => int(token.text, negative).ok_or("invalid int literal"),
        TokenKind::Uint => uint(token.text).ok_or("invalid uint literal"),
        TokenKind::Float => float(token.text, negative).ok_or("invalid double literal"),
        TokenKind::String => {
            let bytes = unquote(token.text, false)?;
            String::from_utf8(bytes)
                .map(Literal::String)
                .map_err(|_| "unable to unescape string")
        }
        TokenKind::Bytes => unquote(token.text.get(1..).unwrap_or(""), true).map(Literal::Bytes),
        _ => Ok(Literal::Null),
    }
}

fn int(text: &str, negative: bool) -> Option<Literal> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    let sign = if negative { "-" } else { "" };
    i64::from_str_radix(&format!("{sign}{digits}"), radix)
        .ok()
        .map(Literal::Int)
}

fn uint(text: &str) -> Option<Literal> {
    let text = text.trim_end_matches(['u', 'U']);
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok().map(Literal::Uint)
}

fn float(text: &str, negative: bool) -> Option<Literal> {
    let number: f64 = text.parse().ok()?;
    let number = if negative { -number } else { number };
    number.is_finite().then_some(Literal::Double(number))
}

/// Removes quotes and escapes. In bytes, `\xff` is a byte; in strings it is a character.
fn unquote(text: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (raw, text) = match text.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, text.as_str()),
    };
    let quotes = if text.len() >= 6 && (text.starts_with("'''") || text.starts_with("\"\"\"")) {
        3
    } else {
        1
    };
    let inner = text
        .get(quotes..text.len().saturating_sub(quotes))
        .ok_or("unable to unescape string")?;
    if raw || !inner.contains('\\') {
        return Ok(inner.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        let escape = chars
            .next()
            .ok_or("unable to unescape string, found '\\' as last character")?;
        let mut code = |digits: usize, radix: u32, first: u32| {
            (0..digits).try_fold(first, |n, _| {
                let digit = chars.next().and_then(|c| c.to_digit(radix));
                digit.map(|digit| n.wrapping_mul(radix) + digit)
            })
        };
        let code = match escape {
            'a' => Some(7),
            'b' => Some(8),
            'f' => Some(12),
            'n' => Some(10),
            'r' => Some(13),
            't' => Some(9),
            'v' => Some(11),
            '\\' | '\'' | '"' | '`' | '?' => Some(u32::from(escape)),
            'x' | 'X' => code(2, 16, 0),
            'u' if !bytes => code(4, 16, 0),
            'U' if !bytes => code(8, 16, 0),
            '0'..='3' => code(2, 8, u32::from(escape) - u32::from('0')),
            _ => None,
        }
        .ok_or("unable to unescape string")?;
        if bytes {
            out.push(code as u8);
        } else {
            push(
                &mut out,
                char::from_u32(code).ok_or("invalid unicode code point")?,
            );
        }
    }
    Ok(out)
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}
