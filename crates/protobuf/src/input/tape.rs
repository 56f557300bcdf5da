//! JSON text as nodes, without a tree of values.
//!
//! A text is scanned by its type: the fields of an object are found by name while it is scanned, and a [`Tape`] has one
//! node for each field that the type carries. Fields that are not on the wire and JSON within an object are skipped, and
//! strings and numbers are read when they are needed.
//!
//! Invariants: a node refers to slots and links that are on the tape, and to a range within the text. The structure of the
//! text is checked, except in skipped values; scalars are checked when they are read.

use std::borrow::Cow;

use kubewright_machinery::scan::string_end;
use serde_json::Value;

use super::{
    Form, Json, Source,
    scanner::{Fault, Scanner},
    tree::json_text,
    unescape::unescape,
};
use crate::{EncodeError, layout::Message};

/// The nodes of one document. Reused for the next one.
#[derive(Default)]
pub(crate) struct Tape {
    /// The fields of objects, the items of lists and the entries of maps.
    pub(super) links: Vec<Link>,
    /// The fields of the open objects by slot, innermost last.
    slots: Vec<Node>,
    /// Whether there is white space between tokens.
    pub(super) spaced: bool,
}

/// A value: its type and two numbers in one word, so that it is returned in a register.
///
/// The numbers are the range of its text, of a string without its quotes; or the last link of a container.
#[derive(Clone, Copy)]
pub(super) struct Node(u64);

/// The bits of each number. Texts are shorter.
const BITS: u32 = 28;

/// No link, and the highest number.
pub(super) const NONE: u32 = (1 << BITS) - 1;

/// A field of an object, an item of a list, or an entry of a map.
#[derive(Clone, Copy)]
pub(super) struct Link {
    /// The key of an entry, or the slot of a field.
    pub(super) key: Node,
    pub(super) value: Node,
    /// The link before this one in the same container, or [`NONE`].
    pub(super) previous: u32,
}

/// The type of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A field that is not there.
    Absent,
    Null,
    False,
    True,
    Number,
    String,
    /// A string with escapes in it.
    Escaped,
    /// An object whose fields are known.
    Message,
    List,
    /// A map whose keys ascend.
    Map,
    /// A map whose keys do not, or have escapes in them.
    Unsorted,
    /// An object or a list that was skipped.
    Skipped,
}

impl Node {
    /// A value that is not there.
    pub(super) const ABSENT: Self = Node(0);

    #[inline]
    pub(super) fn new(kind: Kind, at: usize, end: usize) -> Self {
        Node((kind as u64) << (2 * BITS) | (end as u64) << BITS | at as u64)
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        const KINDS: [Kind; 12] = [
            Kind::Absent,
            Kind::Null,
            Kind::False,
            Kind::True,
            Kind::Number,
            Kind::String,
            Kind::Escaped,
            Kind::Message,
            Kind::List,
            Kind::Map,
            Kind::Unsorted,
            Kind::Skipped,
        ];
        let kind = (self.0 >> (2 * BITS)) as usize;
        KINDS.get(kind).copied().unwrap_or(Kind::Absent)
    }

    #[inline]
    pub(super) fn at(self) -> usize {
        self.0 as usize & NONE as usize
    }

    #[inline]
    pub(super) fn end(self) -> usize {
        (self.0 >> BITS) as usize & NONE as usize
    }
}

/// A scanned text, read by the fields of its type.
pub(crate) struct Text<'a> {
    from: From<'a>,
    slots: &'a mut Vec<Node>,
}

/// The text and the nodes of values.
#[derive(Clone, Copy)]
struct From<'a> {
    text: &'a [u8],
    links: &'a [Link],
    spaced: bool,
}

/// A value of a scanned text.
#[derive(Clone, Copy)]
pub(crate) struct Scanned<'a> {
    from: From<'a>,
    node: Node,
}

impl Tape {
    /// Scans the text of an object of a type. Stops behind the last field that the type carries.
    pub(crate) fn scan<'a>(
        &'a mut self,
        text: &'a [u8],
        layout: &'static Message,
    ) -> Result<(Text<'a>, Scanned<'a>), EncodeError> {
        self.slots.clear();
        self.links.clear();
        self.spaced = false;
        if text.len() >= NONE as usize {
            return Err(EncodeError::Syntax);
        }
        let mut scanner = Scanner {
            text,
            at: 0,
            tape: self,
        };
        let node = scanner.root(layout).map_err(|fault| match fault {
            Fault::Syntax => EncodeError::Syntax,
            Fault::TooDeep => EncodeError::TooDeep,
        })?;
        let from = From {
            text,
            links: &self.links,
            spaced: self.spaced,
        };
        let slots = &mut self.slots;
        Ok((Text { from, slots }, Scanned { from, node }))
    }
}

impl<'a> Source<'a> for Text<'a> {
    type Value = Scanned<'a>;
    /// The index of the first slot.
    type Fields = usize;

    #[inline]
    fn open(&mut self, layout: &'static Message, object: Option<Scanned<'a>>) -> usize {
        let base = self.slots.len();
        self.slots.resize(base + layout.slots(), Node::ABSENT);
        let fields = object.into_iter().flat_map(|object| {
            // The last one of equal keys counts.
            object.links_reversed(object.node.kind() == Kind::Message)
        });
        for field in fields {
            let slot = self.slots.get_mut(base + field.key.at());
            if let Some(slot) = slot.filter(|slot| slot.kind() == Kind::Absent) {
                *slot = field.value;
            }
        }
        base
    }

    #[inline]
    fn get(&self, base: usize, slot: u16) -> Option<Scanned<'a>> {
        let node = *self.slots.get(base + usize::from(slot))?;
        let from = self.from;
        (!matches!(node.kind(), Kind::Absent | Kind::Null)).then_some(Scanned { from, node })
    }

    #[inline]
    fn close(&mut self, base: usize) {
        self.slots.truncate(base);
    }
}

impl<'a> Scanned<'a> {
    #[inline]
    fn at(self, node: Node) -> Self {
        Scanned { node, ..self }
    }

    #[inline]
    fn source(self) -> &'a [u8] {
        let range = self.node.at()..self.node.end();
        self.from.text.get(range).unwrap_or_default()
    }

    fn number(self) -> Option<&'a str> {
        match self.node.kind() {
            Kind::Number => std::str::from_utf8(self.source()).ok(),
            _ => None,
        }
    }

    /// The links of a container, the last one first.
    #[inline]
    fn links_reversed(self, is_container: bool) -> impl Iterator<Item = Link> + use<'a> {
        let links = self.from.links;
        let mut next = if is_container {
            self.node.at()
        } else {
            NONE as usize
        };
        std::iter::from_fn(move || {
            let link = *links.get(next)?;
            next = link.previous as usize;
            Some(link)
        })
    }
}

impl<'a> Json<'a> for Scanned<'a> {
    #[inline]
    fn form(self) -> Form {
        match self.node.kind() {
            Kind::Absent | Kind::Null => Form::Null,
            Kind::False => Form::Bool(false),
            Kind::True => Form::Bool(true),
            Kind::Number => Form::Number,
            Kind::String | Kind::Escaped => Form::String,
            Kind::List => Form::Array,
            Kind::Message | Kind::Map | Kind::Unsorted => Form::Object,
            Kind::Skipped => match self.source().first() {
                Some(b'[') => Form::Array,
                _ => Form::Object,
            },
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
    fn plain(self) -> Option<&'a [u8]> {
        (self.node.kind() == Kind::String).then(|| self.source())
    }

    #[inline]
    fn text(self) -> Option<Cow<'a, [u8]>> {
        match self.node.kind() {
            Kind::String => Some(Cow::Borrowed(self.source())),
            Kind::Escaped => unescape(self.source()).map(Cow::Owned),
            _ => None,
        }
    }

    #[inline]
    fn items_reversed(self) -> impl Iterator<Item = Self> {
        let links = self.links_reversed(self.node.kind() == Kind::List);
        links.map(move |link| self.at(link.value))
    }

    #[inline]
    fn entries_reversed(self) -> impl Iterator<Item = (Cow<'a, [u8]>, Self)> {
        let is_map = matches!(self.node.kind(), Kind::Map | Kind::Unsorted);
        self.links_reversed(is_map).map(move |link| {
            let key = self.at(link.key).text().unwrap_or_default();
            (key, self.at(link.value))
        })
    }

    fn ascends(self) -> bool {
        self.node.kind() == Kind::Map
    }

    fn json(self) -> Result<Cow<'a, [u8]>, EncodeError> {
        let source = match self.node.kind() {
            Kind::String | Kind::Escaped => {
                // With its quotes.
                let range = self.node.at() - 1..self.node.end() + 1;
                self.from.text.get(range).unwrap_or_default()
            }
            _ => self.source(),
        };
        if !self.from.spaced && !is_spaced(source) {
            return Ok(Cow::Borrowed(source));
        }
        let value: Value = serde_json::from_slice(source).map_err(|_| EncodeError::Syntax)?;
        Ok(Cow::Owned(json_text(&value).into_bytes()))
    }
}

/// Returns whether there is white space between the tokens of a value.
fn is_spaced(json: &[u8]) -> bool {
    let is_space = |byte: &u8| *byte <= b' ';
    // Without an early exit, many bytes are compared at once.
    if !json.iter().fold(false, |any, byte| any | is_space(byte)) {
        return false;
    }
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => at = string_end(json, at).unwrap_or(json.len()),
            byte if is_space(byte) => return true,
            _ => at += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests;
