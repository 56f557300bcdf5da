//! The parser of scripts.

mod word;

use std::sync::Arc;

use super::syntax::{Body, Command, Item, Joint, Mode, Pipeline, Redirect, Script};

/// The maximum nesting depth.
const DEEPEST: usize = 50;

/// The longest script, in characters.
const LONGEST: usize = 1 << 20;

/// A script that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("syntax error: {0}")]
pub(super) struct SyntaxError(String);

type Parsed<T> = Result<T, SyntaxError>;

/// Parses a script.
pub(super) fn parse(text: &str) -> Parsed<Script> {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() > LONGEST {
        return Err(SyntaxError("the script is too long".to_owned()));
    }
    let mut parser = Parser {
        chars,
        at: 0,
        depth: 0,
    };
    let script = parser.script(&[])?;
    match parser.peek() {
        None => Ok(script),
        Some(_) => Err(parser.unexpected()),
    }
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

const KEYWORDS: [&str; 14] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "in", "case",
    "esac", "{",
];

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn looks_at(&self, text: &str) -> bool {
        let mut chars = text.chars().enumerate();
        chars.all(|(i, c)| self.chars.get(self.at + i) == Some(&c))
    }

    /// Consumes a text if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let found = self.looks_at(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    fn unexpected(&self) -> SyntaxError {
        let next: String = self.chars[self.at.min(self.chars.len())..]
            .iter()
            .take_while(|c| !c.is_whitespace())
            .take(20)
            .collect();
        SyntaxError(match next.is_empty() {
            true => "unexpected end of file".to_owned(),
            false => format!("unexpected \"{next}\""),
        })
    }

    fn expect(&mut self, keyword: &str) -> Parsed<()> {
        self.newlines();
        match self.keyword() == Some(keyword) {
            true => {
                self.at += keyword.len();
                Ok(())
            }
            false => Err(self.unexpected()),
        }
    }

    /// Skips whitespace, continued lines and comments.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.chars.get(self.at + 1) == Some(&'\n') => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn newlines(&mut self) {
        self.blanks();
        while self.take("\n") {
            self.blanks();
        }
    }

    /// Returns the next word if it is a keyword.
    fn keyword(&self) -> Option<&'static str> {
        let ends = |c: Option<&char>| {
            c.is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')'))
        };
        let known = KEYWORDS.iter().chain(&["}", "!"]).copied();
        known
            .into_iter()
            .find(|word| self.looks_at(word) && ends(self.chars.get(self.at + word.len())))
    }

    /// Parses commands up to a keyword, a parenthesis, or the end.
    fn script(&mut self, ends: &[&str]) -> Parsed<Script> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(SyntaxError("nested too deeply".to_owned()));
        }
        let mut items = Script::new();
        loop {
            self.newlines();
            let stops = self.keyword().is_some_and(|word| ends.contains(&word));
            if stops || self.peek().is_none() || self.looks_at(")") || self.looks_at(";;") {
                break;
            }
            let mut item = self.item()?;
            self.blanks();
            if !self.looks_at(";;") && !self.take(";") && self.take("&") {
                item.is_background = true;
            }
            items.push(Arc::new(item));
        }
        self.depth -= 1;
        Ok(items)
    }

    /// Parses one or more commands.
    fn commands(&mut self, ends: &[&str]) -> Parsed<Script> {
        let script = self.script(ends)?;
        match script.is_empty() {
            true => Err(self.unexpected()),
            false => Ok(script),
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let joint = match (self.take("&&"), self.looks_at("||")) {
                (true, _) => Joint::And,
                (false, true) => {
                    self.at += 2;
                    Joint::Or
                }
                (false, false) => break,
            };
            self.newlines();
            rest.push((joint, self.pipeline()?));
        }
        Ok(Item {
            first,
            rest,
            is_background: false,
        })
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let mut is_negated = false;
        while self.keyword() == Some("!") {
            self.at += 1;
            is_negated = !is_negated;
            self.blanks();
        }
        let mut commands = vec![self.command()?];
        loop {
            self.blanks();
            if self.looks_at("||") || !self.take("|") {
                break;
            }
            self.newlines();
            commands.push(self.command()?);
        }
        Ok(Pipeline {
            is_negated,
            commands,
        })
    }

    fn command(&mut self) -> Parsed<Command> {
        let body = match self.keyword() {
            Some(word @ ("if" | "while" | "until" | "for" | "case" | "{")) => {
                self.at += word.len();
                match word {
                    "if" => self.conditional()?,
                    "for" => self.iteration()?,
                    "case" => self.case()?,
                    "{" => {
                        let body = self.commands(&["}"])?;
                        self.expect("}")?;
                        Body::Group(body)
                    }
                    _ => {
                        let condition = self.commands(&["do"])?;
                        let body = self.body()?;
                        Body::Loop {
                            until: word == "until",
                            condition,
                            body,
                        }
                    }
                }
            }
            Some(_) => return Err(self.unexpected()),
            None if self.take("(") => {
                let body = self.commands(&[])?;
                if !self.take(")") {
                    return Err(self.unexpected());
                }
                Body::Subshell(body)
            }
            None => return self.simple(),
        };
        let mut redirects = Vec::new();
        while let Some(redirect) = self.redirect()? {
            redirects.push(redirect);
        }
        Ok(Command { body, redirects })
    }

    fn body(&mut self) -> Parsed<Script> {
        self.expect("do")?;
        let body = self.commands(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    fn conditional(&mut self) -> Parsed<Body> {
        let mut branches = Vec::new();
        loop {
            let condition = self.commands(&["then"])?;
            self.expect("then")?;
            branches.push((condition, self.commands(&["elif", "else", "fi"])?));
            match self.keyword() {
                Some("elif") => self.at += 4,
                Some("else") => {
                    self.at += 4;
                    let otherwise = self.commands(&["fi"])?;
                    self.expect("fi")?;
                    return Ok(Body::If {
                        branches,
                        otherwise,
                    });
                }
                _ => {
                    self.expect("fi")?;
                    let otherwise = Script::new();
                    return Ok(Body::If {
                        branches,
                        otherwise,
                    });
                }
            }
        }
    }

    fn iteration(&mut self) -> Parsed<Body> {
        self.blanks();
        let name = self.name();
        if name.is_empty() {
            return Err(self.unexpected());
        }
        self.newlines();
        let mut words = None;
        if self.keyword() == Some("in") {
            self.at += 2;
            let mut listed = Vec::new();
            loop {
                self.blanks();
                match self.word()? {
                    Some(word) => listed.push(word),
                    None => break,
                }
            }
            words = Some(listed);
        }
        self.blanks();
        self.take(";");
        let body = self.body()?;
        Ok(Body::For { name, words, body })
    }

    fn case(&mut self) -> Parsed<Body> {
        self.blanks();
        let word = self.word()?.ok_or_else(|| self.unexpected())?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.newlines();
            if self.keyword() == Some("esac") {
                self.at += 4;
                return Ok(Body::Case { word, arms });
            }
            self.take("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                patterns.push(self.word()?.ok_or_else(|| self.unexpected())?);
                self.blanks();
                if !self.take("|") {
                    break;
                }
            }
            if !self.take(")") {
                return Err(self.unexpected());
            }
            arms.push((patterns, self.script(&["esac"])?));
            self.newlines();
            if !self.take(";;") && self.keyword() != Some("esac") {
                return Err(self.unexpected());
            }
        }
    }

    fn simple(&mut self) -> Parsed<Command> {
        let (mut assignments, mut words) = (Vec::new(), Vec::new());
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            let start = self.at;
            if words.is_empty() {
                let name = self.name();
                if !name.is_empty() && self.take("=") {
                    let value = self.word()?.unwrap_or_default();
                    assignments.push((name, value));
                    continue;
                }
                if !name.is_empty() && self.take("()") {
                    self.newlines();
                    let body = Arc::new(self.command()?);
                    let body = Body::Function { name, body };
                    return Ok(Command { body, redirects });
                }
                self.at = start;
            }
            match self.word()? {
                Some(word) => words.push(word),
                None => break,
            }
        }
        if assignments.is_empty() && words.is_empty() && redirects.is_empty() {
            return Err(self.unexpected());
        }
        let body = Body::Simple { assignments, words };
        Ok(Command { body, redirects })
    }

    /// Parses a name, which may be empty.
    fn name(&mut self) -> String {
        let start = self.at;
        let is_part = |c: char, first: bool| {
            c == '_' || c.is_ascii_alphabetic() || !first && c.is_ascii_digit()
        };
        while self.peek().is_some_and(|c| is_part(c, self.at == start)) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        self.blanks();
        let start = self.at;
        let digit = self.peek().and_then(|c| c.to_digit(10));
        if digit.is_some() {
            self.at += 1;
        }
        let both = digit.is_none() && self.take("&>");
        let (mode, default) = match () {
            () if both => (Mode::Write, 1),
            () if self.looks_at("<<") => {
                return Err(SyntaxError("here-documents are not supported".to_owned()));
            }
            () if self.take(">>") => (Mode::Append, 1),
            () if self.take(">&") => (Mode::Same, 1),
            () if self.take("<&") => (Mode::Same, 0),
            () if self.take(">") => (Mode::Write, 1),
            () if self.take("<") => (Mode::Read, 0),
            () => {
                self.at = start;
                return Ok(None);
            }
        };
        self.blanks();
        let target = self.word()?.ok_or_else(|| self.unexpected())?;
        let descriptor = match both {
            // Redirects both standard output and standard error.
            true => u8::MAX,
            false => digit.map_or(default, |digit| digit as u8),
        };
        Ok(Some(Redirect {
            descriptor,
            mode,
            target,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_jobs_are_parsed() {
        for script in [
            "echo a; sleep 1 && exit 7",
            "if [[ -r /data/foo ]] ; then exit 0 ; else touch /data/foo ; exit 1 ; fi",
            "exit $(( $RANDOM / 16384 ))",
            "exit $(expr ${JOB_COMPLETION_INDEX} % 2)",
            "while true; do echo \"$(date) hi\" >> /var/log/x 2>&1; sleep 5; done",
            "for i in 1 2 3; do\n  echo $i | grep 2 || true\ndone &\nwait # done",
            "case \"$1\" in a|b) echo x;; *) echo y; esac",
            "f() { echo ${1:-none}; }; f \"a b\" > /dev/null",
            "(cd /tmp && ls) ; { echo a; echo b; }",
            "mv -v /usr/local/apache2/htdocs/index.html /tmp/ || true",
        ] {
            parse(script).unwrap_or_else(|error| panic!("{script}: {error}"));
        }
    }

    #[test]
    fn malformed_scripts_are_rejected() {
        for script in [
            "echo 'a",
            "if true; then",
            "for; do x; done",
            "a | ",
            "(",
            "echo ${",
            "fi",
            "a && ",
            "cat <<EOF\nEOF",
            "$((1",
            "while do done",
        ] {
            assert!(parse(script).is_err(), "{script}");
        }
        assert!(parse(&"(".repeat(1000)).is_err());
        assert!(parse(&"$(".repeat(1000)).is_err());
        assert!(parse(&"${a:-".repeat(1000)).is_err());
    }
}
