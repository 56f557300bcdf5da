//! JSON text as tokens, without a tree of values.
//!
//! A [`Tape`] has one token for every value and every key, in the order of the text. A token knows where its text is,
//! which token follows its subtree, and which value precedes it in the same list or map, so a container can be walked in
//! both directions. Strings and numbers are read when they are needed.
//!
//! Invariants: indices of tokens are below the length of the tape, and token 0 is the root, so 0 stands for none among
//! siblings. The structure of the text is checked; scalars are checked when they are read.

use std::borrow::Cow;

use serde_json::Value;

use super::{Form, Json, scanner::Scanner, tree::json_text, unescape::unescape};
use crate::EncodeError;

/// The tokens of one document. Reused for the next one.
#[derive(Default)]
pub(crate) struct Tape {
    pub(super) tokens: Vec<Token>,
    /// Whether there is white space between tokens.
    pub(super) spaced: bool,
}

/// A value or a key.
#[derive(Clone, Copy)]
pub(super) struct Token {
    /// The range of the text; of a string without its quotes.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The token behind the subtree.
    pub(super) next: u32,
    /// The value before this one in the same container, or 0.
    pub(super) previous: u32,
    /// The last value of a container, or 0.
    pub(super) last: u32,
    pub(super) kind: Kind,
}

/// The type of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    False,
    True,
    Number,
    String,
    /// A string with escapes in it.
    Escaped,
    Array,
    Object,
}

/// A value of a scanned text.
#[derive(Clone, Copy)]
pub(crate) struct Scanned<'a> {
    text: &'a [u8],
    tape: &'a Tape,
    index: u32,
}

impl Tape {
    /// Cuts a text into tokens. Fields of the root for which `wanted` is false are left out.
    pub(crate) fn scan<'a>(
        &'a mut self,
        text: &'a [u8],
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Scanned<'a>, EncodeError> {
        self.tokens.clear();
        self.spaced = false;
        if u32::try_from(text.len()).is_err() {
            return Err(EncodeError::Syntax);
        }
        let mut scanner = Scanner {
            text,
            at: 0,
            tape: self,
        };
        scanner.root(&wanted)?;
        Ok(Scanned {
            text,
            tape: self,
            index: 0,
        })
    }
}

impl<'a> Scanned<'a> {
    #[inline]
    fn token(self) -> Token {
        self.tape.tokens[self.index as usize]
    }

    #[inline]
    fn at(self, index: u32) -> Self {
        Scanned { index, ..self }
    }

    #[inline]
    fn source(self) -> &'a [u8] {
        let token = self.token();
        &self.text[token.start as usize..token.end as usize]
    }

    fn number(self) -> Option<&'a str> {
        match self.token().kind {
            Kind::Number => std::str::from_utf8(self.source()).ok(),
            _ => None,
        }
    }

    /// The values of a container, the last one first.
    fn values_reversed(self, container: Kind) -> impl Iterator<Item = Self> {
        let token = self.token();
        let last = if token.kind == container {
            token.last
        } else {
            0
        };
        let some = |index: u32| (index != 0).then_some(index);
        std::iter::successors(some(last), move |index| {
            some(self.at(*index).token().previous)
        })
        .map(move |index| self.at(index))
    }
}

impl<'a> Json<'a> for Scanned<'a> {
    #[inline]
    fn form(self) -> Form {
        match self.token().kind {
            Kind::Null => Form::Null,
            Kind::False => Form::Bool(false),
            Kind::True => Form::Bool(true),
            Kind::Number => Form::Number,
            Kind::String | Kind::Escaped => Form::String,
            Kind::Array => Form::Array,
            Kind::Object => Form::Object,
        }
    }

    fn integer(self) -> Option<i64> {
        // A negative zero is a float.
        self.number().filter(|text| *text != "-0")?.parse().ok()
    }

    fn float(self) -> Option<f64> {
        self.number()?.parse().ok()
    }

    #[inline]
    fn text(self) -> Option<Cow<'a, [u8]>> {
        match self.token().kind {
            Kind::String => Some(Cow::Borrowed(self.source())),
            Kind::Escaped => unescape(self.source()).map(Cow::Owned),
            _ => None,
        }
    }

    fn items_reversed(self) -> impl Iterator<Item = Self> {
        self.values_reversed(Kind::Array)
    }

    fn entries(self) -> impl Iterator<Item = (Cow<'a, [u8]>, Self)> {
        let token = self.token();
        let end = match token.kind {
            Kind::Object => token.next,
            _ => 0,
        };
        let mut index = self.index + 1;
        std::iter::from_fn(move || {
            if index >= end {
                return None;
            }
            let (key, value) = (self.at(index), self.at(index + 1));
            index = value.token().next;
            Some((key.text().unwrap_or_default(), value))
        })
    }

    fn entries_reversed(self) -> impl Iterator<Item = (Cow<'a, [u8]>, Self)> {
        self.values_reversed(Kind::Object).map(move |value| {
            // The key of a field is the token before its value.
            let key = value.at(value.index - 1);
            (key.text().unwrap_or_default(), value)
        })
    }

    fn json(self) -> Result<Cow<'a, [u8]>, EncodeError> {
        let token = self.token();
        let source = match token.kind {
            Kind::String | Kind::Escaped => {
                // With its quotes.
                &self.text[token.start as usize - 1..token.end as usize + 1]
            }
            _ => self.source(),
        };
        if !self.tape.spaced {
            return Ok(Cow::Borrowed(source));
        }
        let value: Value = serde_json::from_slice(source).map_err(|_| EncodeError::Syntax)?;
        Ok(Cow::Owned(json_text(&value).into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> Result<String, EncodeError> {
        fn print(value: Scanned<'_>) -> String {
            match value.form() {
                Form::Array => {
                    let mut items: Vec<_> = value.items_reversed().map(print).collect();
                    items.reverse();
                    format!("[{}]", items.join(","))
                }
                Form::Object => {
                    let show = |(key, value): (Cow<'_, [u8]>, Scanned<'_>)| {
                        format!("{}={}", String::from_utf8_lossy(&key), print(value))
                    };
                    let forwards: Vec<_> = value.entries().map(show).collect();
                    let mut backwards: Vec<_> = value.entries_reversed().map(show).collect();
                    backwards.reverse();
                    assert_eq!(forwards, backwards);
                    format!("{{{}}}", forwards.join(","))
                }
                Form::String => String::from_utf8(value.text().unwrap().into_owned()).unwrap(),
                _ => String::from_utf8(value.json().unwrap().into_owned()).unwrap(),
            }
        }
        let mut tape = Tape::default();
        tape.scan(text.as_bytes(), |_| true).map(print)
    }

    #[test]
    fn documents_are_cut_into_values() {
        for (text, printed) in [
            ("{}", "{}"),
            (" [ ] ", "[]"),
            ("[1,[2,-3.5e+7],{},null]", "[1,[2,-3.5e+7],{},null]"),
            (
                r#"{"a":{"b":[true,false]},"c":"x"}"#,
                "{a={b=[true,false]},c=x}",
            ),
            (r#"{"a\"b" : "c\\\n\u00e9\ud83d\ude00"}"#, "{a\"b=c\\\né😀}"),
            ("\"\"", ""),
        ] {
            assert_eq!(scanned(text).as_deref(), Ok(printed), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_json_is_an_error() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "\"",
            "\"\\",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "{1:2}",
            "[1,]",
            "[1 2]",
            "{}x",
            "nul",
            "tru",
            "+1",
            "]",
            ",",
        ] {
            assert_eq!(scanned(text), Err(EncodeError::Syntax), "{text}");
        }
        let deep = "[".repeat(10_000);
        assert_eq!(scanned(&deep), Err(EncodeError::TooDeep));
    }

    #[test]
    fn fields_of_the_root_are_left_out() {
        for skipped in [
            "1",
            "-1.5e3",
            "true",
            "null",
            "\"a\\\"}\"",
            "{}",
            "[]",
            "{\"a\":[{}]}",
            "[1,\"]\",{}]",
        ] {
            for text in [
                format!("{{\"no\":{skipped},\"yes\":1}}"),
                format!("{{\"yes\":1,\"no\":{skipped}}}"),
                format!("{{ \"no\" : {skipped} , \"yes\" : 1 , \"no\" : {skipped} }}"),
            ] {
                let mut tape = Tape::default();
                let root = tape.scan(text.as_bytes(), |name| name == b"yes").unwrap();
                let entries: Vec<_> = root.entries().collect();
                assert_eq!(entries.len(), 1, "{text}");
                assert_eq!(entries[0].1.integer(), Some(1), "{text}");
            }
        }
    }
}
