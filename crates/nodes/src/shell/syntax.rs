//! The syntax tree of a script.

use std::sync::Arc;

/// Commands that run one after another.
pub(super) type Script = Vec<Arc<Item>>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Joint, Pipeline)>,
    /// Whether the item runs in the background.
    pub(super) is_background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    And,
    Or,
}

#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) is_negated: bool,
    pub(super) commands: Vec<Command>,
}

#[derive(Debug)]
pub(super) struct Command {
    pub(super) body: Body,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(super) enum Body {
    Simple {
        assignments: Vec<(String, Word)>,
        words: Vec<Word>,
    },
    If {
        branches: Vec<(Script, Script)>,
        otherwise: Script,
    },
    Loop {
        /// Whether this is an `until` loop.
        until: bool,
        condition: Script,
        body: Script,
    },
    For {
        name: String,
        /// The words to iterate over; `None` means the parameters of the script.
        words: Option<Vec<Word>>,
        body: Script,
    },
    Case {
        word: Word,
        arms: Vec<(Vec<Word>, Script)>,
    },
    Group(Script),
    Subshell(Script),
    Function {
        name: String,
        body: Arc<Command>,
    },
}

#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) descriptor: u8,
    pub(super) mode: Mode,
    pub(super) target: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
    Append,
    /// A duplicate of another descriptor.
    Same,
}

/// Adjacent parts, which form one word.
pub(super) type Word = Vec<Piece>;

#[derive(Debug)]
pub(super) enum Piece {
    /// Text. Quoted text is not a pattern.
    Text {
        text: String,
        is_quoted: bool,
    },
    Variable {
        name: String,
        change: Option<Change>,
        is_quoted: bool,
    },
    Command {
        script: Script,
        is_quoted: bool,
    },
    Arithmetic {
        text: Word,
    },
}

/// The modification in an expansion, as in `${name:-word}`.
#[derive(Debug)]
pub(super) enum Change {
    Default { word: Word, also_empty: bool },
    Assign { word: Word, also_empty: bool },
    Alternative { word: Word, also_empty: bool },
    Required { word: Word, also_empty: bool },
    RemovePrefix { word: Word, longest: bool },
    RemoveSuffix { word: Word, longest: bool },
    Length,
}
