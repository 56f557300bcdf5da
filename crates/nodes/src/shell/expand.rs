//! Expansion of words into arguments: variables, commands, arithmetic, splitting and patterns.

use futures_util::{FutureExt, future::BoxFuture};

use super::{
    Shell, arithmetic, pattern,
    run::Flow,
    stdio::{Reader, Stdio, Writer},
    syntax::{Change, Piece, Word},
};
use crate::files::absolute;

/// The size limit of the output of a command substitution, in bytes.
const MOST_OUTPUT: usize = 1 << 20;

/// The largest number of arguments that a pattern expands to.
const MOST_MATCHES: usize = 4096;

/// Arguments under construction.
#[derive(Default)]
struct Fields {
    done: Vec<Field>,
    current: Option<Field>,
}

/// An argument, and the pattern for it.
#[derive(Default)]
struct Field {
    text: String,
    pattern: String,
}

impl Fields {
    fn quoted(&mut self, text: &str) {
        let field = self.current.get_or_insert_default();
        field.text.push_str(text);
        field.pattern.push_str(&pattern::escaped(text));
    }

    fn plain(&mut self, text: &str) {
        let field = self.current.get_or_insert_default();
        field.text.push_str(text);
        field.pattern.push_str(text);
    }

    /// Adds the value of a variable or command, split at whitespace.
    fn split(&mut self, text: &str) {
        for (i, part) in text.split([' ', '\t', '\n']).enumerate() {
            if i > 0 {
                self.end();
            }
            if !part.is_empty() {
                self.plain(part);
            }
        }
    }

    fn end(&mut self) {
        self.done.extend(self.current.take());
    }
}

impl Shell {
    /// Expands words into arguments.
    pub(super) async fn arguments(
        &mut self,
        words: &[Word],
        io: &Stdio,
    ) -> Result<Vec<String>, String> {
        let mut arguments = Vec::new();
        for word in words {
            let mut fields = Fields::default();
            self.expand(word, io, &mut fields, true).await?;
            fields.end();
            for field in fields.done {
                self.paths(field, &mut arguments);
            }
        }
        Ok(arguments)
    }

    /// Expands a word into text, without splitting.
    pub(super) async fn text(&mut self, word: &Word, io: &Stdio) -> Result<String, String> {
        let mut fields = Fields::default();
        self.expand(word, io, &mut fields, false).await?;
        Ok(fields.current.unwrap_or_default().text)
    }

    /// Expands a word into a pattern.
    pub(super) async fn pattern(&mut self, word: &Word, io: &Stdio) -> Result<String, String> {
        let mut fields = Fields::default();
        self.expand(word, io, &mut fields, false).await?;
        Ok(fields.current.unwrap_or_default().pattern)
    }

    fn expand<'a>(
        &'a mut self,
        word: &'a Word,
        io: &'a Stdio,
        fields: &'a mut Fields,
        splits: bool,
    ) -> BoxFuture<'a, Result<(), String>> {
        async move {
            for (i, piece) in word.iter().enumerate() {
                match piece {
                    Piece::Text { text, is_quoted } if i == 0 && !is_quoted => {
                        fields.plain(&self.home(text));
                    }
                    Piece::Text { text, is_quoted } => match is_quoted {
                        true => fields.quoted(text),
                        false => fields.plain(text),
                    },
                    Piece::Variable {
                        name,
                        change,
                        is_quoted,
                    } => {
                        if name == "@" && *is_quoted && change.is_none() && splits {
                            for (i, argument) in self.parameters.clone().iter().enumerate() {
                                if i > 0 {
                                    fields.end();
                                }
                                fields.quoted(argument);
                            }
                            continue;
                        }
                        let text = self.value(name, change.as_ref(), io).await?;
                        match (*is_quoted, splits) {
                            (true, _) => fields.quoted(&text),
                            (false, true) => fields.split(&text),
                            (false, false) => fields.plain(&text),
                        }
                    }
                    Piece::Command { script, is_quoted } => {
                        let text = self.output(script, io).await;
                        match (*is_quoted, splits) {
                            (true, _) => fields.quoted(&text),
                            (false, true) => fields.split(&text),
                            (false, false) => fields.plain(&text),
                        }
                    }
                    Piece::Arithmetic { text } => {
                        let text = self.text(text, io).await?;
                        let value = arithmetic::compute(&text, &|name| self.variable(name))?;
                        fields.quoted(&value.to_string());
                    }
                }
            }
            Ok(())
        }
        .boxed()
    }

    /// Expands a leading `~`.
    fn home(&self, text: &str) -> String {
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                format!("{}{rest}", self.variable("HOME"))
            }
            _ => text.to_owned(),
        }
    }

    /// Returns the value of a variable after the modification that the word requests.
    async fn value(
        &mut self,
        name: &str,
        change: Option<&Change>,
        io: &Stdio,
    ) -> Result<String, String> {
        let value = self.lookup(name);
        let text = value.clone().unwrap_or_default();
        let is_missing = |also_empty: bool| value.is_none() || also_empty && text.is_empty();
        Ok(match change {
            None if value.is_none() && self.options.nounset => {
                return Err(format!("{name}: parameter not set"));
            }
            None => text,
            Some(Change::Length) => text.chars().count().to_string(),
            Some(Change::Default { word, also_empty }) => match is_missing(*also_empty) {
                true => self.text(word, io).await?,
                false => text,
            },
            Some(Change::Assign { word, also_empty }) => match is_missing(*also_empty) {
                true => {
                    let text = self.text(word, io).await?;
                    self.set(name, text.clone());
                    text
                }
                false => text,
            },
            Some(Change::Alternative { word, also_empty }) => match is_missing(*also_empty) {
                true => String::new(),
                false => self.text(word, io).await?,
            },
            Some(Change::Required { word, also_empty }) => match is_missing(*also_empty) {
                true => {
                    let text = self.text(word, io).await?;
                    let text = if text.is_empty() {
                        "parameter not set"
                    } else {
                        &text
                    };
                    return Err(format!("{name}: {text}"));
                }
                false => text,
            },
            Some(Change::RemovePrefix { word, longest }) => {
                let pattern = self.pattern(word, io).await?;
                let mut ends: Vec<usize> = boundaries(&text).collect();
                if *longest {
                    ends.reverse();
                }
                let found = ends
                    .into_iter()
                    .find(|end| pattern::matches(&pattern, &text[..*end]));
                text[found.unwrap_or(0)..].to_owned()
            }
            Some(Change::RemoveSuffix { word, longest }) => {
                let pattern = self.pattern(word, io).await?;
                let mut starts: Vec<usize> = boundaries(&text).collect();
                if !*longest {
                    starts.reverse();
                }
                let found = starts
                    .into_iter()
                    .find(|start| pattern::matches(&pattern, &text[*start..]));
                text[..found.unwrap_or(text.len())].to_owned()
            }
        })
    }

    /// Runs a command substitution. Returns the output without trailing newlines.
    async fn output(&mut self, script: &super::syntax::Script, io: &Stdio) -> String {
        let (writer, reader) = tokio::io::duplex(1 << 16);
        let inner = Stdio {
            stdout: Writer::new(writer),
            ..io.clone()
        };
        let mut shell = self.subshell();
        let run = async move {
            let flow = shell.script(script, &inner).await;
            drop(inner);
            match flow {
                Flow::Exit(code) => code,
                _ => shell.status,
            }
        };
        let reader = Reader::new(tokio::io::AsyncReadExt::take(reader, MOST_OUTPUT as u64));
        let (code, printed) = tokio::join!(run, async move { reader.all().await });
        self.status = code;
        let mut text = String::from_utf8_lossy(&printed.unwrap_or_default()).into_owned();
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    /// Adds the paths that match a pattern, or the pattern itself if none does.
    fn paths(&self, field: Field, arguments: &mut Vec<String>) {
        if !pattern::is_pattern(&field.pattern) {
            return arguments.push(field.text);
        }
        let (mut found, rest) = match field.pattern.strip_prefix('/') {
            Some(rest) => (vec!["/".to_owned()], rest),
            None => (vec![String::new()], field.pattern.as_str()),
        };
        for part in rest.split('/').filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for base in &found {
                let directory = if base.is_empty() { "." } else { base };
                let names = self.world.files.list(&absolute(&self.directory, directory));
                for name in names.unwrap_or_default() {
                    let is_hidden = name.starts_with('.') && !part.starts_with('.');
                    if !is_hidden && pattern::matches(part, &name) && next.len() < MOST_MATCHES {
                        let slash = if base.is_empty() || base.ends_with('/') {
                            ""
                        } else {
                            "/"
                        };
                        next.push(format!("{base}{slash}{name}"));
                    }
                }
            }
            found = next;
        }
        match found.is_empty() {
            true => arguments.push(field.text),
            false => arguments.extend(found),
        }
    }
}

fn boundaries(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.char_indices().map(|(at, _)| at).chain([text.len()])
}
