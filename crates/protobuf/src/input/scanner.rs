//! Scans JSON text by its type.

use kubewright_machinery::{
    limits::DOCUMENT_DEPTH,
    scan::{quote_or_backslash, value_end},
};

use super::{
    tape::{Kind, Link, NONE, Node, Tape},
    unescape::unescape,
};
use crate::layout::{Message, Shape, message};

/// An error of a text, small enough for a register.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    Syntax,
    TooDeep,
}

/// The rest of a text, and its nodes so far.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    pub(super) tape: &'a mut Tape,
}

impl Scanner<'_> {
    /// Scans the whole text, or up to the last field that the type carries.
    pub(super) fn root(&mut self, layout: &'static Message) -> Result<Node, Fault> {
        let node = match self.peek()? {
            b'{' => {
                let (node, complete) = self.message(layout, layout.carried(), 1)?;
                if complete {
                    return Ok(node);
                }
                node
            }
            _ => self.value(None, 0)?,
        };
        self.space();
        match self.at == self.text.len() {
            true => Ok(node),
            false => Err(Fault::Syntax),
        }
    }

    /// Skips white space and returns the byte behind it.
    #[inline(always)]
    fn peek(&mut self) -> Result<u8, Fault> {
        match self.text.get(self.at) {
            Some(&byte) if byte > b' ' => Ok(byte),
            _ => {
                self.space();
                self.text.get(self.at).copied().ok_or(Fault::Syntax)
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

    /// Reads a value of a type. A value that does not fit, or has no type, is read without its contents.
    fn value(&mut self, shape: Option<&'static Shape>, depth: usize) -> Result<Node, Fault> {
        if depth > DOCUMENT_DEPTH {
            return Err(Fault::TooDeep);
        }
        match (self.peek()?, shape) {
            (b'"', _) => self.string(),
            (b'{' | b'[', Some(Shape::Optional(inner))) => self.value(Some(&**inner), depth),
            (
                b'{',
                Some(
                    Shape::Message(id)
                    | Shape::SchemaOrBool(id)
                    | Shape::SchemaOrArray(id)
                    | Shape::SchemaOrStrings(id),
                ),
            ) => {
                let (node, _) = self.message(message(*id), usize::MAX, depth + 1)?;
                Ok(node)
            }
            (b'{', Some(Shape::Map(item))) => self.map(item, depth + 1),
            (b'[', Some(Shape::List(item))) => self.list(item, depth + 1),
            (
                b'[',
                Some(
                    shape @ (Shape::Strings | Shape::SchemaOrArray(_) | Shape::SchemaOrStrings(_)),
                ),
            ) => self.list(shape, depth + 1),
            (b'{' | b'[', _) => self.skip(),
            (b't', _) => self.literal(b"true", Kind::True),
            (b'f', _) => self.literal(b"false", Kind::False),
            (b'n', _) => self.literal(b"null", Kind::Null),
            (b'-' | b'0'..=b'9', _) => Ok(self.number()),
            _ => Err(Fault::Syntax),
        }
    }

    fn literal(&mut self, literal: &[u8], kind: Kind) -> Result<Node, Fault> {
        let start = self.at;
        let end = start + literal.len();
        if self.text.get(start..end) != Some(literal) {
            return Err(Fault::Syntax);
        }
        self.at = end;
        Ok(Node::new(kind, start, end))
    }

    fn number(&mut self) -> Node {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
        }
        Node::new(Kind::Number, start, self.at)
    }

    /// Reads a string at its first quote.
    #[inline(always)]
    fn string(&mut self) -> Result<Node, Fault> {
        let start = self.at + 1;
        let mut end = quote_or_backslash(self.text, start);
        let mut kind = Kind::String;
        loop {
            match self.text.get(end) {
                Some(b'"') => break,
                Some(_) => {
                    kind = Kind::Escaped;
                    end = quote_or_backslash(self.text, end + 2);
                }
                None => return Err(Fault::Syntax),
            }
        }
        self.at = end + 1;
        Ok(Node::new(kind, start, end))
    }

    /// Reads the key of a member and the colon behind it.
    #[inline(always)]
    fn key(&mut self) -> Result<Node, Fault> {
        if self.peek()? != b'"' {
            return Err(Fault::Syntax);
        }
        let key = self.string()?;
        if self.peek()? != b':' {
            return Err(Fault::Syntax);
        }
        self.at += 1;
        Ok(key)
    }

    /// Moves behind the bracket that opens a container. Returns whether there is anything in it.
    #[inline(always)]
    fn enter(&mut self, close: u8) -> Result<bool, Fault> {
        self.at += 1;
        let empty = self.peek()? == close;
        self.at += usize::from(empty);
        Ok(!empty)
    }

    /// Moves behind a comma, or behind the bracket that closes a container. Returns whether it was a comma.
    #[inline(always)]
    fn more(&mut self, close: u8) -> Result<bool, Fault> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Ok(true),
            byte if byte == close => Ok(false),
            _ => Err(Fault::Syntax),
        }
    }

    #[inline]
    fn slice(&self, node: Node) -> &[u8] {
        self.text.get(node.at()..node.end()).unwrap_or_default()
    }

    /// Reads the fields of an object. Stops early once it has read `enough` fields that are on the wire, and returns
    /// whether it did.
    fn message(
        &mut self,
        layout: &'static Message,
        enough: usize,
        depth: usize,
    ) -> Result<(Node, bool), Fault> {
        let mut last = NONE;
        let mut carried = 0;
        let mut more = self.enter(b'}')?;
        while more {
            let key = self.key()?;
            let name = match key.kind() {
                Kind::Escaped => unescape(self.slice(key)).and_then(|key| layout.name(&key)),
                _ => layout.name(self.slice(key)),
            };
            match name {
                Some(name) if let Some(shape) = &name.shape => {
                    let value = self.value(Some(shape), depth)?;
                    last = self.link(Node::new(Kind::Absent, name.slot.into(), 0), value, last);
                    carried += 1;
                    if carried == enough {
                        return Ok((self.container(Kind::Message, last), true));
                    }
                }
                _ => {
                    self.value(None, depth)?;
                }
            }
            more = self.more(b'}')?;
        }
        Ok((self.container(Kind::Message, last), false))
    }

    fn list(&mut self, item: &'static Shape, depth: usize) -> Result<Node, Fault> {
        let mut last = NONE;
        let mut more = self.enter(b']')?;
        while more {
            let value = self.value(Some(item), depth)?;
            last = self.link(Node::ABSENT, value, last);
            more = self.more(b']')?;
        }
        Ok(self.container(Kind::List, last))
    }

    fn map(&mut self, item: &'static Shape, depth: usize) -> Result<Node, Fault> {
        let mut last = NONE;
        let mut kind = Kind::Map;
        let mut before: Option<Node> = None;
        let mut more = self.enter(b'}')?;
        while more {
            let key = self.key()?;
            let ascends = before.is_none_or(|before| self.slice(before) < self.slice(key));
            if !ascends || key.kind() == Kind::Escaped {
                kind = Kind::Unsorted;
            }
            before = Some(key);
            let value = self.value(Some(item), depth)?;
            last = self.link(key, value, last);
            more = self.more(b'}')?;
        }
        Ok(self.container(kind, last))
    }

    #[inline]
    fn link(&mut self, key: Node, value: Node, previous: u32) -> u32 {
        // Each link takes at least one byte of the text, which is shorter than `NONE`.
        let index = self.tape.links.len() as u32;
        self.tape.links.push(Link {
            key,
            value,
            previous,
        });
        index
    }

    fn container(&self, kind: Kind, last: u32) -> Node {
        Node::new(kind, last as usize, 0)
    }

    /// Skips an object or a list. Only brackets and strings are examined.
    fn skip(&mut self) -> Result<Node, Fault> {
        let start = self.at;
        self.at = value_end(self.text, start).ok_or(Fault::Syntax)?;
        Ok(Node::new(Kind::Skipped, start, self.at))
    }
}
