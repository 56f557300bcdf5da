//! Words: quotes, and expansions that begin with a dollar sign or a backquote.

use super::{
    super::syntax::{Change, Piece, Script, Word},
    DEEPEST, Parsed, Parser, SyntaxError,
};

impl Parser {
    /// Parses a word, if there is one.
    pub(super) fn word(&mut self) -> Parsed<Option<Word>> {
        let mut word = Word::new();
        let start = self.at;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    self.at += 1;
                    let text = self.until('\'')?;
                    word.push(Piece::Text {
                        text,
                        is_quoted: true,
                    });
                }
                '"' => {
                    self.at += 1;
                    // An empty string is a word too.
                    word.push(Piece::Text {
                        text: String::new(),
                        is_quoted: true,
                    });
                    self.quoted(&mut word)?;
                }
                '$' | '`' => {
                    let piece = self.expansion(false)?;
                    word.push(piece);
                }
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some('\n') => {}
                        Some(c) => push(&mut word, c, true),
                        None => push(&mut word, '\\', true),
                    }
                    self.at += 1;
                }
                c => {
                    self.at += 1;
                    push(&mut word, c, false);
                }
            }
        }
        Ok((self.at > start).then_some(word))
    }

    /// Reads up to a character, which is consumed.
    fn until(&mut self, end: char) -> Parsed<String> {
        let start = self.at;
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == end {
                return Ok(self.chars[start..self.at - 1].iter().collect());
            }
        }
        Err(SyntaxError("unterminated quoted string".to_owned()))
    }

    /// Parses the rest of a string in double quotes.
    fn quoted(&mut self, word: &mut Word) -> Parsed<()> {
        loop {
            match self.peek() {
                None => return Err(SyntaxError("unterminated quoted string".to_owned())),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('$' | '`') => {
                    let piece = self.expansion(true)?;
                    word.push(piece);
                }
                Some('\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => push(word, c, true),
                        Some(c) => {
                            push(word, '\\', true);
                            push(word, c, true);
                        }
                        None => continue,
                    }
                    self.at += 1;
                }
                Some(c) => {
                    self.at += 1;
                    push(word, c, true);
                }
            }
        }
    }

    /// Parses `$name`, `${…}`, `$(…)`, `$((…))` or a command in backquotes.
    fn expansion(&mut self, is_quoted: bool) -> Parsed<Piece> {
        if self.take("`") {
            let text = self.until('`')?.replace("\\`", "`");
            let script = self.inner(&text)?;
            return Ok(Piece::Command { script, is_quoted });
        }
        self.at += 1;
        if self.take("((") {
            let text = self.arithmetic()?;
            return Ok(Piece::Arithmetic { text });
        }
        if self.take("(") {
            let script = self.script(&[])?;
            return match self.take(")") {
                true => Ok(Piece::Command { script, is_quoted }),
                false => Err(self.unexpected()),
            };
        }
        if self.take("{") {
            return self.parameter(is_quoted);
        }
        let mut name = self.name();
        if name.is_empty()
            && let Some(c) = self.peek()
            && (c.is_ascii_digit() || matches!(c, '?' | '#' | '@' | '*' | '$' | '!' | '-'))
        {
            self.at += 1;
            name.push(c);
        }
        if name.is_empty() {
            let text = "$".to_owned();
            return Ok(Piece::Text { text, is_quoted });
        }
        Ok(Piece::Variable {
            name,
            change: None,
            is_quoted,
        })
    }

    /// Parses a nested script.
    fn inner(&mut self, text: &str) -> Parsed<Script> {
        let mut inner = Self {
            chars: text.chars().collect(),
            at: 0,
            depth: self.depth,
        };
        let script = inner.script(&[])?;
        match inner.peek() {
            None => Ok(script),
            Some(_) => Err(inner.unexpected()),
        }
    }

    /// Parses an expression up to `))`.
    fn arithmetic(&mut self) -> Parsed<Word> {
        let mut word = Word::new();
        let mut open = 0;
        loop {
            match self.peek() {
                None => return Err(self.unexpected()),
                Some(')') if open == 0 => {
                    return match self.take("))") {
                        true => Ok(word),
                        false => Err(self.unexpected()),
                    };
                }
                Some('$' | '`') => {
                    let piece = self.expansion(true)?;
                    word.push(piece);
                    continue;
                }
                Some('(') => open += 1,
                Some(')') => open -= 1,
                Some(_) => {}
            }
            push(&mut word, self.chars[self.at], true);
            self.at += 1;
        }
    }

    /// Parses the rest of `${…}`.
    fn parameter(&mut self, is_quoted: bool) -> Parsed<Piece> {
        let is_length = self.looks_at("#") && !self.looks_at("#}") && self.take("#");
        let mut name = self.name();
        if name.is_empty() {
            let start = self.at;
            while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                self.at += 1;
            }
            if self.at == start && self.peek().is_some_and(|c| "?#@*$!-".contains(c)) {
                self.at += 1;
            }
            name = self.chars[start..self.at].iter().collect();
        }
        if name.is_empty() {
            return Err(SyntaxError("bad substitution".to_owned()));
        }
        let mut change = is_length.then_some(Change::Length);
        if !self.looks_at("}") {
            let also_empty = self.take(":");
            let operator = self.peek().ok_or_else(|| self.unexpected())?;
            self.at += 1;
            let longest = matches!(operator, '#' | '%') && self.peek() == Some(operator);
            if longest {
                self.at += 1;
            }
            let word = self.operand(is_quoted)?;
            change = Some(match operator {
                '-' => Change::Default { word, also_empty },
                '=' => Change::Assign { word, also_empty },
                '+' => Change::Alternative { word, also_empty },
                '?' => Change::Required { word, also_empty },
                '#' => Change::RemovePrefix { word, longest },
                '%' => Change::RemoveSuffix { word, longest },
                _ => return Err(SyntaxError("bad substitution".to_owned())),
            });
        }
        if !self.take("}") {
            return Err(SyntaxError("bad substitution".to_owned()));
        }
        Ok(Piece::Variable {
            name,
            change,
            is_quoted,
        })
    }

    /// Parses the word of `${name:-word}`.
    fn operand(&mut self, is_quoted: bool) -> Parsed<Word> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(SyntaxError("nested too deeply".to_owned()));
        }
        let mut word = Word::new();
        loop {
            match self.peek() {
                None => return Err(self.unexpected()),
                Some('}') => break,
                Some('$' | '`') => {
                    let piece = self.expansion(is_quoted)?;
                    word.push(piece);
                }
                Some('"') => {
                    self.at += 1;
                    self.quoted(&mut word)?;
                }
                Some('\'') if !is_quoted => {
                    self.at += 1;
                    let text = self.until('\'')?;
                    word.push(Piece::Text {
                        text,
                        is_quoted: true,
                    });
                }
                Some(c) => {
                    self.at += 1;
                    push(&mut word, c, is_quoted);
                }
            }
        }
        self.depth -= 1;
        Ok(word)
    }
}

/// Appends a character to a word.
fn push(word: &mut Word, c: char, quoted: bool) {
    match word.last_mut() {
        Some(Piece::Text { text, is_quoted }) if *is_quoted == quoted => text.push(c),
        _ => word.push(Piece::Text {
            text: c.to_string(),
            is_quoted: quoted,
        }),
    }
}
