//! Cuts JSON text into tokens.

use kubewright_machinery::limits::DOCUMENT_DEPTH;

use super::tape::{Kind, Tape, Token};
use crate::EncodeError;

/// The rest of a text, and its tokens so far.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    pub(super) tape: &'a mut Tape,
}

impl Scanner<'_> {
    /// Cuts the whole text. Fields of the root for which `wanted` is false are left out.
    pub(super) fn root(&mut self, wanted: &impl Fn(&[u8]) -> bool) -> Result<(), EncodeError> {
        match self.peek()? {
            b'{' => self.object(1, Some(wanted))?,
            _ => self.value(0)?,
        };
        self.space();
        match self.at == self.text.len() {
            true => Ok(()),
            false => Err(EncodeError::Syntax),
        }
    }

    /// Skips white space and returns the byte behind it.
    #[inline]
    fn peek(&mut self) -> Result<u8, EncodeError> {
        match self.text.get(self.at) {
            Some(&byte) if byte > b' ' => Ok(byte),
            _ => {
                self.space();
                self.text.get(self.at).copied().ok_or(EncodeError::Syntax)
            }
        }
    }

    #[cold]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.get(self.at) {
            self.at += 1;
            self.tape.spaced = true;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), EncodeError> {
        match self.peek()? == byte {
            true => {
                self.at += 1;
                Ok(())
            }
            false => Err(EncodeError::Syntax),
        }
    }

    #[inline]
    fn push(&mut self, kind: Kind, start: usize, end: usize) -> u32 {
        // The text is shorter than 4 GiB, and each token takes at least one byte of it.
        let index = self.tape.tokens.len() as u32;
        self.tape.tokens.push(Token {
            start: start as u32,
            end: end as u32,
            next: index + 1,
            previous: 0,
            last: 0,
            kind,
        });
        index
    }

    /// Reads a value and returns its token.
    fn value(&mut self, depth: usize) -> Result<u32, EncodeError> {
        if depth > DOCUMENT_DEPTH {
            return Err(EncodeError::TooDeep);
        }
        match self.peek()? {
            b'"' => self.string(),
            b'{' => self.object(depth + 1, None::<&fn(&[u8]) -> bool>),
            b'[' => self.array(depth + 1),
            b't' => self.literal(b"true", Kind::True),
            b'f' => self.literal(b"false", Kind::False),
            b'n' => self.literal(b"null", Kind::Null),
            b'-' | b'0'..=b'9' => Ok(self.number()),
            _ => Err(EncodeError::Syntax),
        }
    }

    fn literal(&mut self, literal: &[u8], kind: Kind) -> Result<u32, EncodeError> {
        let start = self.at;
        let end = start + literal.len();
        if self.text.get(start..end) != Some(literal) {
            return Err(EncodeError::Syntax);
        }
        self.at = end;
        Ok(self.push(kind, start, end))
    }

    fn number(&mut self) -> u32 {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
        }
        self.push(Kind::Number, start, self.at)
    }

    /// Reads a string at its first quote.
    #[inline]
    fn string(&mut self) -> Result<u32, EncodeError> {
        let start = self.at + 1;
        let (end, escaped) = self.string_end(start)?;
        self.at = end + 1;
        let kind = if escaped { Kind::Escaped } else { Kind::String };
        Ok(self.push(kind, start, end))
    }

    /// Returns the index of the quote that ends a string, and whether there are escapes before it.
    #[inline]
    fn string_end(&self, start: usize) -> Result<(usize, bool), EncodeError> {
        let mut at = start;
        let mut escaped = false;
        loop {
            at += quote_or_backslash(self.text.get(at..).unwrap_or_default());
            match self.text.get(at) {
                Some(b'"') => return Ok((at, escaped)),
                Some(_) => {
                    escaped = true;
                    at += 2;
                }
                None => return Err(EncodeError::Syntax),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<u32, EncodeError> {
        let start = self.at;
        let index = self.push(Kind::Array, start, start);
        self.at += 1;
        let mut last = 0;
        if self.peek()? != b']' {
            loop {
                let item = self.value(depth)?;
                self.tape.tokens[item as usize].previous = last;
                last = item;
                match self.peek()? {
                    b',' => self.at += 1,
                    b']' => break,
                    _ => return Err(EncodeError::Syntax),
                }
            }
        }
        self.close(index, last);
        Ok(index)
    }

    fn object(
        &mut self,
        depth: usize,
        wanted: Option<&impl Fn(&[u8]) -> bool>,
    ) -> Result<u32, EncodeError> {
        let start = self.at;
        let index = self.push(Kind::Object, start, start);
        self.at += 1;
        let mut last = 0;
        if self.peek()? != b'}' {
            loop {
                if self.peek()? != b'"' {
                    return Err(EncodeError::Syntax);
                }
                let key = self.string()?;
                self.expect(b':')?;
                let token = self.tape.tokens[key as usize];
                let name = &self.text[token.start as usize..token.end as usize];
                if token.kind == Kind::String && wanted.is_some_and(|wanted| !wanted(name)) {
                    self.tape.tokens.pop();
                    self.skip()?;
                } else {
                    let field = self.value(depth)?;
                    self.tape.tokens[field as usize].previous = last;
                    last = field;
                }
                match self.peek()? {
                    b',' => self.at += 1,
                    b'}' => break,
                    _ => return Err(EncodeError::Syntax),
                }
            }
        }
        self.close(index, last);
        Ok(index)
    }

    /// Ends a container at its closing bracket.
    fn close(&mut self, index: u32, last: u32) {
        self.at += 1;
        let next = self.tape.tokens.len() as u32;
        let token = &mut self.tape.tokens[index as usize];
        token.end = self.at as u32;
        token.next = next;
        token.last = last;
    }

    /// Skips a value without tokens for it. Only brackets and strings are looked at.
    fn skip(&mut self) -> Result<(), EncodeError> {
        let mut open = 0usize;
        loop {
            match self.peek()? {
                b'"' => self.at = self.string_end(self.at + 1)?.0,
                b'{' | b'[' => open += 1,
                b'}' | b']' if open == 0 => return Ok(()),
                b'}' | b']' => open -= 1,
                b',' if open == 0 => return Ok(()),
                _ => {}
            }
            self.at += 1;
            if open == 0 && !matches!(self.text.get(self.at), Some(byte) if is_scalar(*byte)) {
                return Ok(());
            }
        }
    }
}

/// A byte of a number or literal.
fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Returns the number of bytes before the first quote or backslash. Looks at eight bytes at a time.
#[inline]
fn quote_or_backslash(text: &[u8]) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut skipped = 0;
    let mut rest = text;
    while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        // A byte of `zero` has its highest bit set where the byte of `x` is 0; bits above the first one may be wrong.
        let zero = |x: u64| x.wrapping_sub(LOW) & !x & HIGH;
        let found = zero(word ^ (LOW * b'"' as u64)) | zero(word ^ (LOW * b'\\' as u64));
        if found != 0 {
            return skipped + (found.trailing_zeros() / 8) as usize;
        }
        skipped += 8;
        rest = behind;
    }
    let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
    skipped + found.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_string_is_found_in_every_position() {
        for length in 0..40 {
            for end in ['"', '\\'] {
                let text = format!("{}{end}{}", "é".repeat(length), "x\"\\".repeat(5));
                assert_eq!(quote_or_backslash(text.as_bytes()), 2 * length);
                let tricky = format!("{}{end}", "\u{21}\u{23}\u{5b}\u{5d}".repeat(length));
                assert_eq!(quote_or_backslash(tricky.as_bytes()), 4 * length);
            }
        }
        assert_eq!(quote_or_backslash(&[0xa2; 21]), 21);
    }
}
