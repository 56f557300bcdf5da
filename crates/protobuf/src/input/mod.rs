//! The JSON that is encoded: a tree of values, or a text.
//!
//! [`Source`] and [`Json`] are the view of both that the encoder needs, so there is one encoder, and both give the same
//! bytes.

mod scanner;
mod tape;
mod tree;
mod unescape;

use std::borrow::Cow;

use crate::{EncodeError, layout::Message};

pub(crate) use tape::Tape;
pub(crate) use tree::Tree;

/// JSON whose objects are read by the fields of their types.
pub(crate) trait Source<'a> {
    /// A value.
    type Value: Json<'a>;

    /// The fields of an object that is being read.
    type Fields: Copy;

    /// Begins to read an object; one without fields if there is none.
    fn open(&mut self, layout: &'static Message, object: Option<Self::Value>) -> Self::Fields;

    /// Returns the value of a field, unless it is absent or `null`.
    fn get(&self, fields: Self::Fields, slot: u16) -> Option<Self::Value>;

    /// Ends what [`Source::open`] began. Objects are closed in reverse order.
    fn close(&mut self, fields: Self::Fields);
}

/// A JSON value. Lists and maps are walked backwards, since bytes are written back to front.
pub(crate) trait Json<'a>: Copy {
    /// Returns the type of the value.
    fn form(self) -> Form;

    /// Returns an integer of 64 bits.
    fn integer(self) -> Option<i64>;

    /// Returns a number.
    fn float(self) -> Option<f64>;

    /// Returns a string that has no escapes.
    fn plain(self) -> Option<&'a [u8]>;

    /// Returns a string, unescaped.
    fn text(self) -> Option<Cow<'a, [u8]>>;

    /// Returns the items of a list, the last one first.
    fn items_reversed(self) -> impl Iterator<Item = Self>;

    /// Returns the entries of a map, the last one first.
    fn entries_reversed(self) -> impl Iterator<Item = (Cow<'a, [u8]>, Self)>;

    /// Returns whether each key of a map is greater than the one before.
    fn ascends(self) -> bool;

    /// Returns the value as compact JSON with HTML characters escaped, as Go prints it.
    fn json(self) -> Result<Cow<'a, [u8]>, EncodeError>;

    /// Returns the value, unless it is `null`.
    fn present(self) -> Option<Self> {
        (self.form() != Form::Null).then_some(self)
    }
}

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Null,
    Bool(bool),
    Number,
    String,
    Array,
    Object,
}
