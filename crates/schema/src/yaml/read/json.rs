//! Recognises JSON that YAML reads the same way.
//!
//! kubectl and client-go send JSON where the media type says YAML, and reading it as JSON is many times faster. This is
//! not a second reader of YAML: it says yes only where both readings surely agree (printable ASCII without escapes,
//! integers, distinct keys), and leaves everything else to the reader of YAML.

use crate::{document::Node, json::parse_json};

/// The longest key, in bytes. YAML looks no further than 1024 characters for the colon behind a key.
const MAX_KEY_BYTES: usize = 1000;

/// The most digits of an integer, which surely fit into 64 bits.
const MAX_DIGITS: usize = 18;

/// Reads an object, with the keys of all objects sorted. Returns nothing if YAML might read another value, or none.
pub(super) fn parse(bytes: &[u8]) -> Option<Node<'_>> {
    if bytes.first() != Some(&b'{') || !is_common(bytes) {
        return None;
    }
    let mut node = parse_json(bytes).ok()?;
    settle(&mut node).then_some(node)
}

/// Reports whether a text has only characters that mean the same in YAML, and each colon follows a quoted key.
fn is_common(bytes: &[u8]) -> bool {
    let (mut quoted, mut previous) = (false, b' ');
    for &byte in bytes {
        match byte {
            b'"' => quoted = !quoted,
            b':' if !quoted && previous != b'"' => return false,
            b'\\' => return false,
            b'\n' | b' '..=b'~' => {}
            _ => return false,
        }
        previous = byte;
    }
    true
}

/// Sorts the keys of all objects. Reports whether all keys and numbers are as in YAML.
fn settle(node: &mut Node<'_>) -> bool {
    match node {
        Node::Null | Node::Bool(_) | Node::String(_) => true,
        Node::Number(text) => is_integer(text),
        Node::Array(items) => items.iter_mut().all(settle),
        Node::Object(entries) => {
            entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            let distinct = entries.windows(2).all(|pair| match pair {
                [(a, _), (b, _)] => a != b,
                _ => true,
            });
            let mut each = entries.iter_mut();
            distinct && each.all(|(key, value)| key.len() <= MAX_KEY_BYTES && settle(value))
        }
    }
}

/// Reports whether a number is an integer that YAML prints as it is written.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.len() <= MAX_DIGITS && digits.bytes().all(|b| b.is_ascii_digit()) && text != "-0"
}
