//! The layout of a document: one walk over the value, indents and indicators as they come.
//!
//! The walk keeps its own stack, so a value of any depth is safe to print. How a string looks is up to `scalar`.

use std::{borrow::Cow, iter::Enumerate, slice, vec};

use serde_json::{Map, Value};

use super::{YamlPart, YamlStep, YamlWriteError, number, reread, scalar, sort};

/// The number of columns per level.
const STEP: usize = 2;

/// The longest key in bytes that is written without a `?`.
const SIMPLE_KEY: usize = 128;

/// The text so far, and where the pen stands.
pub(super) struct Emitter {
    out: String,
    /// The number of characters since the last line break.
    column: usize,
    /// The column of the innermost collection; nothing outside the first.
    indent: Option<usize>,
    /// The last character separates already.
    whitespace: bool,
    /// The line contains only indentation and dashes.
    indention: bool,
}

/// A collection that is being printed.
struct Open<'a> {
    rest: Rest<'a>,
    outer: Option<usize>,
}

enum Rest<'a> {
    Entries(vec::IntoIter<(Cow<'a, str>, &'a Value)>),
    Items(Enumerate<slice::Iter<'a, Value>>),
}

/// One document. Calls a function when an entry or an item begins.
pub(super) fn document(
    value: &Value,
    mut begun: impl FnMut(YamlPart<'_>),
) -> Result<String, YamlWriteError> {
    let mut pen = Emitter {
        out: String::new(),
        column: 0,
        indent: None,
        whitespace: true,
        indention: true,
    };
    let mut open: Vec<Open<'_>> = Vec::new();
    open.extend(pen.node(value, false)?);
    while let Some(depth) = open.len().checked_sub(1) {
        let top = &mut open[depth];
        let child = match &mut top.rest {
            Rest::Entries(entries) => match entries.next() {
                Some((key, value)) => {
                    pen.start_line();
                    let (step, at) = (YamlStep::Key(&key), pen.out.len());
                    begun(YamlPart { depth, step, at });
                    pen.key(&key);
                    pen.node(value, true)?
                }
                None => {
                    pen.indent = top.outer;
                    open.pop();
                    None
                }
            },
            Rest::Items(items) => match items.next() {
                Some((index, item)) => {
                    pen.start_line();
                    let (step, at) = (YamlStep::Item(index), pen.out.len());
                    begun(YamlPart { depth, step, at });
                    pen.indicator("-", true, false, true);
                    pen.node(item, false)?
                }
                None => {
                    pen.indent = top.outer;
                    open.pop();
                    None
                }
            },
        };
        open.extend(child);
    }
    pen.start_line();
    Ok(pen.out)
}

impl Emitter {
    /// The column a scalar continues at when it takes more lines.
    fn scalar_indent(&self) -> usize {
        self.indent.map_or(STEP, |indent| indent + STEP)
    }

    /// Prints a scalar or an empty collection; opens any other.
    fn node<'a>(
        &mut self,
        value: &'a Value,
        in_mapping: bool,
    ) -> Result<Option<Open<'a>>, YamlWriteError> {
        let outer = self.indent;
        match value {
            Value::Null => self.word("null"),
            Value::Bool(true) => self.word("true"),
            Value::Bool(false) => self.word("false"),
            Value::Number(n) => self.word(&number::text(n)),
            Value::String(s) => self.string(&reread::value(s)?, false),
            Value::Array(items) if items.is_empty() => self.word("[]"),
            Value::Object(entries) if entries.is_empty() => self.word("{}"),
            Value::Array(items) => {
                let level = in_mapping && !self.indention;
                self.indent = Some(match outer {
                    None => 0,
                    Some(indent) if level => indent,
                    Some(indent) => indent + STEP,
                });
                return Ok(Some(Open {
                    rest: Rest::Items(items.iter().enumerate()),
                    outer,
                }));
            }
            Value::Object(map) => {
                self.indent = Some(outer.map_or(0, |indent| indent + STEP));
                return Ok(Some(Open {
                    rest: Rest::Entries(entries(map)?),
                    outer,
                }));
            }
        }
        Ok(None)
    }

    /// A key and its colon.
    fn key(&mut self, key: &str) {
        self.start_line();
        if key.len() <= SIMPLE_KEY && !scalar::has_breaks(key) {
            self.string(key, true);
            self.indicator(":", false, false, false);
        } else {
            self.indicator("?", true, false, true);
            self.string(key, false);
            self.start_line();
            self.indicator(":", true, false, true);
        }
    }

    fn string(&mut self, text: &str, simple_key: bool) {
        let outer = self.indent.replace(self.scalar_indent());
        scalar::write(self, text, simple_key);
        self.indent = outer;
    }

    /// Appends text that needs no escapes.
    fn word(&mut self, text: &str) {
        self.indicator(text, true, false, false);
    }
}

/// The pen itself, for `scalar`.
impl Emitter {
    pub(super) fn column(&self) -> usize {
        self.column
    }

    pub(super) fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    /// A line break of the text itself.
    pub(super) fn put_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
        self.indention = true;
    }

    /// Moves to the indent, on a new line unless this one is empty.
    pub(super) fn start_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        let taken = self.column > indent || self.column == indent && !self.whitespace;
        if !self.indention || taken {
            self.out.push('\n');
            self.column = 0;
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// A mark, behind a space if it needs one.
    pub(super) fn indicator(
        &mut self,
        mark: &str,
        need_space: bool,
        is_space: bool,
        is_indention: bool,
    ) {
        if need_space && !self.whitespace {
            self.put(' ');
        }
        self.out.push_str(mark);
        self.column += mark.chars().count();
        self.whitespace = is_space;
        self.indention = self.indention && is_indention;
    }

    /// Marks the line as not empty.
    pub(super) fn text_begun(&mut self) {
        self.indention = false;
    }

    /// Ends the line behind the header of a literal.
    pub(super) fn end_header(&mut self) {
        self.put_break('\n');
        self.whitespace = true;
    }
}

/// The entries of a map in the order they are printed.
fn entries(
    map: &Map<String, Value>,
) -> Result<vec::IntoIter<(Cow<'_, str>, &Value)>, YamlWriteError> {
    let mut entries = Vec::with_capacity(map.len());
    for (key, value) in map {
        entries.push((Cow::Borrowed(reread::key(key)?), value));
    }
    Ok(sort::natural(entries, |(key, _)| key).into_iter())
}
