//! The text of an expression and its issues.
//!
//! Positions are counted in characters. [`Issues`] prints like the reference implementation: one `ERROR:` line for each
//! issue, the line of source it concerns, and a caret under the place.

use std::fmt;

/// The text of an expression with the offsets of its lines.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    text: Box<str>,
    /// The offset, in characters, of the first character after each line.
    line_ends: Vec<u32>,
}

/// A place in a source: a line from 1 and a column from 0. Line -1 is nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line, from 1, or -1 for the expression as a whole.
    pub line: i32,
    /// The column in characters, from 0.
    pub column: i32,
}

/// One thing that is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The position.
    pub location: Location,
    /// The message.
    pub message: String,
}

/// The errors of an expression that does not compile. Never empty.
///
/// ```
/// use kubewright_cel::Env;
///
/// let issues = Env::new().compile("1 +").expect_err("an operand is missing");
/// assert!(issues.to_string().contains("Syntax error"));
/// ```
#[derive(Debug, Clone)]
pub struct Issues {
    source: Source,
    issues: Vec<Issue>,
    dropped: usize,
}

/// The number of issues that are kept; further ones are only counted.
const MAX_ISSUES: usize = 100;
/// A line longer than this is not shown.
const MAX_SNIPPET: usize = 16_384;

impl Location {
    /// No position.
    pub(crate) const NONE: Self = Self {
        line: -1,
        column: -1,
    };
}

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        let mut line_ends = Vec::new();
        let mut at = 0u32;
        for c in text.chars() {
            at += 1;
            if c == '\n' {
                line_ends.push(at);
            }
        }
        line_ends.push(at + 1);
        Self {
            text: text.into(),
            line_ends,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn location(&self, offset: u32) -> Location {
        let line = self.line_ends.partition_point(|end| *end <= offset);
        let start = match line {
            0 => 0,
            n => self.line_ends.get(n - 1).copied().unwrap_or(0),
        };
        Location {
            line: i32::try_from(line + 1).unwrap_or(i32::MAX),
            column: i32::try_from(offset - start).unwrap_or(i32::MAX),
        }
    }

    fn line(&self, line: i32) -> Option<&str> {
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        self.text.split('\n').nth(index)
    }
}

impl Issues {
    pub(crate) fn new(source: &Source) -> Self {
        Self {
            source: source.clone(),
            issues: Vec::new(),
            dropped: 0,
        }
    }

    pub(crate) fn report(&mut self, location: Location, message: impl Into<String>) {
        if self.issues.len() < MAX_ISSUES {
            self.issues.push(Issue {
                location,
                message: message.into(),
            });
        } else {
            self.dropped += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// The issues in the order they were found.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&Issue> = self.issues.iter().collect();
        sorted.sort_by_key(|issue| issue.location);
        for (i, issue) in sorted.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write_issue(f, issue, &self.source)?;
        }
        if self.dropped > 0 {
            write!(f, "\n{} more errors were truncated", self.dropped)?;
        }
        Ok(())
    }
}

impl std::error::Error for Issues {}

fn write_issue(f: &mut fmt::Formatter<'_>, issue: &Issue, source: &Source) -> fmt::Result {
    let Location { line, column } = issue.location;
    // The one place of an empty text is before its first column.
    let shown = if source.text.is_empty() {
        0
    } else {
        column + 1
    };
    write!(f, "ERROR: <input>:{line}:{shown}: {}", issue.message)?;
    let Some(snippet) = source.line(line) else {
        return Ok(());
    };
    if source.text.is_empty() || snippet.len() > MAX_SNIPPET {
        return Ok(());
    }
    write!(f, "\n | {}\n | ", snippet.replace('\t', " "))?;
    let mut chars = snippet.chars();
    for c in chars.by_ref().take(usize::try_from(column).unwrap_or(0)) {
        f.write_str(if c.len_utf8() > 1 { "\u{ff0e}" } else { "." })?;
    }
    let wide = chars.next().is_some_and(|c| c.len_utf8() > 1);
    f.write_str(if wide { "\u{ff3e}" } else { "^" })
}
