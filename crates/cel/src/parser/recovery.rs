//! Reports syntax errors and resumes parsing.
//!
//! One excess token is skipped, one that is clearly missing is assumed, and otherwise tokens are skipped
//! until one that could follow. After an error nothing is reported until a token is accepted again.

use super::grammar::Parser;
use super::lexer::{Token, TokenKind};
use super::operators::{is_operator, starts_member};

/// The context in which an expression is expected, and the other tokens that it allows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Expression,
    Arguments,
    Index,
    ListItems,
    MapItems,
}

impl Expected {
    fn text(self) -> String {
        let (bracket, brace, paren, comma, question) = match self {
            Self::Expression => ("", "", "", "", ""),
            Self::Arguments => ("", "", "')', ", "", ""),
            Self::Index => ("", "", "", "", "'?', "),
            Self::ListItems => ("']', ", "", "", "',', ", "'?', "),
            Self::MapItems => ("", "'}', ", "", "',', ", "'?', "),
        };
        format!(
            "{{'[', {bracket}'{{', {brace}'(', {paren}'.', {comma}'-', '!', {question}'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}}"
        )
    }

    fn has(self, kind: TokenKind) -> bool {
        starts_member(kind)
            || match kind {
                TokenKind::Not => true,
                TokenKind::RightParen => self == Self::Arguments,
                TokenKind::RightBracket => self == Self::ListItems,
                TokenKind::RightBrace => self == Self::MapItems,
                TokenKind::Comma => matches!(self, Self::ListItems | Self::MapItems),
                TokenKind::Question => {
                    matches!(self, Self::Index | Self::ListItems | Self::MapItems)
                }
                _ => false,
            }
    }
}

impl<'s> Parser<'s, '_> {
    /// Reports whether an expression begins here. If not, adds an error, and a placeholder where one is needed.
    pub(super) fn begins(&mut self, expected: Expected) -> bool {
        let token = self.peek();
        let first = match expected {
            Expected::Expression => starts_member(token.kind),
            _ => starts_member(token.kind) || token.kind == TokenKind::Not,
        };
        if first {
            return true;
        }
        let after_not = self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::Not;
        let ends = token.kind == TokenKind::End;
        if (!ends && expected.has(self.peek_at(1).kind)) || (ends && after_not) {
            let what = format!(
                "extraneous input '{}' expecting {}",
                token.text,
                expected.text()
            );
            self.syntax(token, what);
            self.advance();
            let kind = self.peek().kind;
            if starts_member(kind) || (kind == TokenKind::Not && expected != Expected::Expression) {
                return true;
            }
        } else {
            let what = format!(
                "mismatched input '{}' expecting {}",
                token.text,
                expected.text()
            );
            self.syntax(token, what);
            self.recover();
        }
        if matches!(expected, Expected::Expression | Expected::Index) {
            self.placeholder(token.offset);
        }
        false
    }

    /// Reports whether another item of a list or map follows; consumes the comma before it, or the closing token.
    pub(super) fn another_item(&mut self, so_far: usize, close: TokenKind) -> bool {
        let (closing, expected) = match close {
            TokenKind::RightBracket => ("']'", Expected::ListItems),
            _ => ("'}'", Expected::MapItems),
        };
        let mut comma = so_far == 0;
        if so_far > 0 {
            comma = self.skip(TokenKind::Comma);
            if !comma && self.peek().kind != close {
                let token = self.peek();
                let next = self.peek_at(1).kind;
                let set = format!("{{{closing}, ','}}");
                if (next == close || next == TokenKind::Comma) && token.kind != TokenKind::End {
                    self.syntax(
                        token,
                        format!("extraneous input '{}' expecting {set}", token.text),
                    );
                    self.advance();
                    return self.another_item(so_far, close);
                }
                self.syntax(
                    token,
                    format!("mismatched input '{}' expecting {set}", token.text),
                );
                self.closers.pop();
                self.recover();
                return false;
            }
        }
        let token = self.peek();
        if token.kind == close {
            self.take();
            self.closers.pop();
            return false;
        }
        if so_far == 0 && token.kind == TokenKind::Comma {
            self.take();
            self.closers.pop();
            self.expect(close);
            return false;
        }
        if so_far > 0 && comma && token.kind == TokenKind::Comma {
            self.closers.pop();
            self.expect(close);
            return false;
        }
        if token.kind == TokenKind::Question || token.kind == TokenKind::Not {
            return true;
        }
        if so_far == 0 && !starts_member(token.kind) {
            let begins = self.begins(expected);
            if !begins {
                self.closers.pop();
            }
            return begins;
        }
        true
    }

    /// The colon between the key and the value of a map.
    pub(super) fn map_colon(&mut self) {
        let token = self.peek();
        if self.expect(TokenKind::Colon) {
            self.nodes.id(token.offset);
        }
    }

    /// The name after a dot.
    pub(super) fn field_name(&mut self, dot: Token<'s>, optional: bool) -> Option<Token<'s>> {
        let name = self.peek();
        match name.kind {
            TokenKind::Ident => Some(self.take()),
            TokenKind::EscapedIdent => {
                let place = self.source.location(name.offset);
                self.issues.report(place, "unsupported syntax: '`'");
                Some(self.take())
            }
            TokenKind::True | TokenKind::False | TokenKind::Null => {
                let what = format!("mismatched input '{}' expecting IDENTIFIER", name.text);
                self.syntax(name, what);
                self.recover();
                None
            }
            _ if optional => {
                let what = format!(
                    "mismatched input '{}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}",
                    name.text
                );
                self.syntax(name, what);
                self.recover();
                None
            }
            _ => {
                self.no_viable_alternative(dot);
                None
            }
        }
    }

    /// Consumes a token of this kind, or reports that it is missing. Returns whether parsing can continue.
    pub(super) fn expect(&mut self, kind: TokenKind) -> bool {
        let token = self.peek();
        if token.kind == kind {
            self.take();
            return true;
        }
        let text = match kind {
            TokenKind::Colon => "':'",
            TokenKind::RightParen => "')'",
            TokenKind::RightBracket => "']'",
            TokenKind::RightBrace => "'}'",
            _ => "IDENTIFIER",
        };
        if self.peek_at(1).kind == kind && token.kind != TokenKind::End {
            self.syntax(
                token,
                format!("extraneous input '{}' expecting {text}", token.text),
            );
            self.advance();
            self.take();
            return true;
        }
        if inserted(kind, token.kind) {
            self.syntax(token, format!("missing {text} at '{}'", token.text));
            return true;
        }
        self.syntax(
            token,
            format!("mismatched input '{}' expecting {text}", token.text),
        );
        self.recover();
        false
    }

    pub(super) fn expect_end(&mut self) {
        let token = self.peek();
        if token.kind == TokenKind::End {
            return;
        }
        let word = match self.peek_at(1).kind {
            TokenKind::End => "extraneous",
            _ => "mismatched",
        };
        self.syntax(
            token,
            format!("{word} input '{}' expecting <EOF>", token.text),
        );
    }

    /// Reports the tokens from `start` to here, and continues.
    pub(super) fn no_viable_alternative(&mut self, start: Token<'s>) {
        let token = self.peek();
        let end = match token.kind {
            TokenKind::End => start.offset + start.text.chars().count() as u32,
            _ => token.offset + token.text.chars().count() as u32,
        };
        let length = end.saturating_sub(start.offset) as usize;
        let text: String = self
            .source
            .text()
            .chars()
            .skip(start.offset as usize)
            .take(length)
            .collect();
        self.syntax(token, format!("no viable alternative at input '{text}'"));
        self.recover();
    }

    pub(super) fn peek(&self) -> Token<'s> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Token<'s> {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + ahead).min(last)]
    }

    /// Consumes a token.
    pub(super) fn take(&mut self) -> Token<'s> {
        self.recovering = false;
        self.advance()
    }

    pub(super) fn skip(&mut self, kind: TokenKind) -> bool {
        let found = self.peek().kind == kind;
        if found {
            self.take();
        }
        found
    }

    fn advance(&mut self) -> Token<'s> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Skips tokens that cannot follow.
    fn recover(&mut self) {
        loop {
            let kind = self.peek().kind;
            let follows = is_operator(kind)
                || matches!(
                    kind,
                    TokenKind::End | TokenKind::Dot | TokenKind::LeftBracket
                )
                || self.closers.contains(&kind)
                || (kind == TokenKind::Comma
                    && self.closers.iter().any(|c| *c != TokenKind::Colon));
            if follows {
                return;
            }
            self.advance();
        }
    }

    fn syntax(&mut self, token: Token<'_>, what: String) {
        if self.recovering {
            return;
        }
        self.recovering = true;
        let place = self.source.location(token.offset);
        self.issues.report(place, format!("Syntax error: {what}"));
    }
}

/// Reports whether a missing `kind` is assumed before `next`.
fn inserted(kind: TokenKind, next: TokenKind) -> bool {
    match kind {
        TokenKind::RightParen | TokenKind::RightBracket => next == TokenKind::End,
        TokenKind::Colon => starts_member(next),
        _ => false,
    }
}
