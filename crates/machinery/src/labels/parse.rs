//! The grammar of label selectors. A lexer hands out tokens one at a time; the parser looks one ahead.

use super::{Operator, Requirement, SelectorError, check_key};
use crate::field::Path;

/// Parses into requirements, in the order of the text.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut parser = Parser::new(text);
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Not => {}
            Token::End => return Ok(requirements),
            other => {
                return Err(expected(
                    other,
                    ", expected: !, identifier, or 'end of string'",
                ));
            }
        }
        let requirement = parser
            .requirement()
            .map_err(|e| SelectorError(format!("unable to parse requirement: {e}")))?;
        requirements.push(requirement);
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Comma => match parser.peek() {
                Token::Word(_) | Token::Not => {}
                other => return Err(expected(other, ", expected: identifier after ','")),
            },
            other => return Err(expected(other, ", expected: ',' or 'end of string'")),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Token<'a> {
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    /// An identifier or one of the keywords `in` and `notin`, which are identifiers where a key or a value may stand.
    Word(&'a str),
    Less,
    NotEquals,
    Open,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::End => "",
            Self::Close => ")",
            Self::Comma => ",",
            Self::Not => "!",
            Self::DoubleEquals => "==",
            Self::Equals => "=",
            Self::Greater => ">",
            Self::Word(word) => word,
            Self::Less => "<",
            Self::NotEquals => "!=",
            Self::Open => "(",
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    ahead: Token<'a>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut parser = Self {
            text,
            at: 0,
            ahead: Token::End,
        };
        parser.ahead = parser.lex();
        parser
    }

    fn peek(&self) -> Token<'a> {
        self.ahead
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.ahead;
        self.ahead = self.lex();
        token
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let mut token = self.next();
        let negated = token == Token::Not;
        if negated {
            token = self.next();
        }
        let Token::Word(key) = token else {
            return Err(expected(token, ", expected: identifier"));
        };
        if let Some(error) = check_key(key, &Path::root()) {
            return Err(SelectorError(error.to_string()));
        }
        let (operator, values) = if negated {
            (Operator::DoesNotExist, Vec::new())
        } else if matches!(self.peek(), Token::End | Token::Comma) {
            (Operator::Exists, Vec::new())
        } else {
            self.operator_and_values()?
        };
        Requirement::new(key.to_owned(), operator, values)
    }

    fn operator_and_values(&mut self) -> Result<(Operator, Vec<String>), SelectorError> {
        let operator = match self.next() {
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            other => return Err(expected(other, ", expected: in, notin, =, ==, !=, gt, lt")),
        };
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.exact_value()?],
        };
        Ok((operator, values))
    }

    fn exact_value(&mut self) -> Result<String, SelectorError> {
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(value) => Ok(value.to_owned()),
            other => Err(expected(other, ", expected: identifier")),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, SelectorError> {
        match self.next() {
            Token::Open => {}
            other => return Err(expected(other, " expected: '('")),
        }
        let mut values = match self.peek() {
            Token::Word(_) | Token::Comma => self.value_list()?,
            Token::Close => vec![""],
            other => return Err(expected(other, ", expected: ',', ')' or identifier")),
        };
        self.next();
        values.sort_unstable();
        values.dedup();
        Ok(values.into_iter().map(str::to_owned).collect())
    }

    /// Reads values up to the closing parenthesis. Nothing between two commas is an empty value.
    fn value_list(&mut self) -> Result<Vec<&'a str>, SelectorError> {
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.push(value);
                    match self.peek() {
                        Token::Comma => {}
                        Token::Close => return Ok(values),
                        other => return Err(expected(other, ", expected: ',' or ')'")),
                    }
                }
                Token::Comma => {
                    if values.is_empty() {
                        values.push("");
                    }
                    match self.peek() {
                        Token::Close => {
                            values.push("");
                            return Ok(values);
                        }
                        Token::Comma => values.push(""),
                        _ => {}
                    }
                }
                other => return Err(expected(other, ", expected: ',', or identifier")),
            }
        }
    }

    /// The next token. A zero byte right behind a token is skipped; anywhere else it ends the text.
    fn lex(&mut self) -> Token<'a> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|&b| is_space(b)) {
            self.at += 1;
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut token = |len: usize, token| {
            let zero = rest.as_bytes().get(len) == Some(&0);
            self.at += len + usize::from(zero);
            token
        };
        match rest.as_bytes() {
            [] => Token::End,
            [0, ..] => {
                self.at = bytes.len();
                Token::End
            }
            [b'=', b'=', ..] => token(2, Token::DoubleEquals),
            [b'=', ..] => token(1, Token::Equals),
            [b'!', b'=', ..] => token(2, Token::NotEquals),
            [b'!', ..] => token(1, Token::Not),
            [b'(', ..] => token(1, Token::Open),
            [b')', ..] => token(1, Token::Close),
            [b',', ..] => token(1, Token::Comma),
            [b'>', ..] => token(1, Token::Greater),
            [b'<', ..] => token(1, Token::Less),
            word => {
                let ends = |b: &u8| is_space(*b) || b"=!(),><\0".contains(b);
                let len = word.iter().position(ends).unwrap_or(word.len());
                token(len, Token::Word(rest.get(..len).unwrap_or_default()))
            }
        }
    }
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

fn expected(found: Token<'_>, what: &str) -> SelectorError {
    SelectorError(format!("found '{}'{what}", found.text()))
}
