//! Narrows the comparison of two documents to the innermost object that contains all differences.
//!
//! A defaulter changes a few fields of a large object. Most of the two encodings is equal byte for byte, and is skipped without
//! being parsed.

use crate::members::{string_end, value_end};

/// Two objects at the same path of two documents that are otherwise equal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Narrowed<'a> {
    /// The keys of the path to the objects, as JSON strings.
    pub(super) keys: Vec<&'a str>,
    pub(super) before: &'a str,
    pub(super) after: &'a str,
}

/// Returns the innermost objects that differ, or the documents themselves.
///
/// Both must be documents that `serde_json` wrote without spaces.
pub(super) fn narrow<'a>(before: &'a str, after: &'a str) -> Narrowed<'a> {
    let mut open = open_objects(before, common_prefix(before.as_bytes(), after.as_bytes()));
    while let Some(innermost) = open.last() {
        let start = innermost.start;
        let end = |text: &str| value_end(text.as_bytes(), start);
        let ends = (end(before), end(after));
        if let (Some(old), Some(new)) = ends
            && before.get(old..) == after.get(new..)
            && let (Some(before), Some(after)) = (before.get(start..old), after.get(start..new))
        {
            return Narrowed {
                keys: open.iter().filter_map(|object| object.key).collect(),
                before,
                after,
            };
        }
        open.pop();
    }
    Narrowed {
        keys: Vec::new(),
        before,
        after,
    }
}

/// An object that is open at some position of a document.
struct Open<'a> {
    /// The index of its brace.
    start: usize,
    /// Its key in the enclosing object.
    key: Option<&'a str>,
}

/// Returns the objects that are open at an index, from the outermost. Objects in lists are left out.
fn open_objects(text: &str, until: usize) -> Vec<Open<'_>> {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    // The number of open containers, and how many of them, from the outermost, are objects.
    let (mut depth, mut objects) = (0_usize, 0_usize);
    let mut key = None;
    let mut at = 0;
    while at < until {
        match bytes[at] {
            b'"' => {
                let end = match string_end(bytes, at) {
                    Some(end) if end < until => end,
                    _ => break,
                };
                if bytes[end] == b':' {
                    key = text.get(at..end);
                }
                at = end;
                continue;
            }
            b'{' => {
                if depth == objects {
                    let key = key.filter(|_| depth > 0);
                    open.push(Open { start: at, key });
                    objects += 1;
                }
                depth += 1;
            }
            b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth < objects {
                    objects = depth;
                    open.truncate(objects);
                }
            }
            _ => {}
        }
        at += 1;
    }
    open
}

/// Returns the length of the common prefix.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    const CHUNK: usize = 64;
    let chunks = one.chunks_exact(CHUNK).zip(other.chunks_exact(CHUNK));
    let equal = CHUNK * chunks.take_while(|(one, other)| one == other).count();
    let rest = one[equal..].iter().zip(&other[equal..]);
    equal + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowed(before: &'static str, after: &'static str) -> (String, &'static str, &'static str) {
        let Narrowed {
            keys,
            before,
            after,
        } = narrow(before, after);
        (keys.concat(), before, after)
    }

    #[test]
    fn finds_the_innermost_object_with_all_differences() {
        let before = r#"{"a":{"x":1,"y\"{":{"p":"}","q":2}},"b":[{"c":1}],"d":{}}"#;
        for (after, keys, part) in [
            (
                r#"{"a":{"x":1,"y\"{":{"p":"}","q":3}},"b":[{"c":1}],"d":{}}"#,
                r#""a""y\"{""#,
                r#"{"p":"}","q":3}"#,
            ),
            (
                r#"{"a":{"x":1,"y\"{":{"p":"]","q":2,"r":0}},"b":[{"c":1}],"d":{}}"#,
                r#""a""y\"{""#,
                r#"{"p":"]","q":2,"r":0}"#,
            ),
            (
                r#"{"a":{"x":4,"y\"{":{"p":"}","q":3}},"b":[{"c":1}],"d":{}}"#,
                r#""a""#,
                r#"{"x":4,"y\"{":{"p":"}","q":3}}"#,
            ),
            (
                r#"{"a":{"x":1,"y\"{":{"p":"}","q":2}},"b":[{"c":1}],"d":{"e":1}}"#,
                r#""d""#,
                r#"{"e":1}"#,
            ),
        ] {
            let (found, _, after) = narrowed(before, after);
            assert_eq!((found.as_str(), after), (keys, part));
        }
    }

    #[test]
    fn differences_in_lists_and_at_the_top_are_not_narrowed() {
        let before = r#"{"a":{"x":1},"b":[{"c":1}]}"#;
        for after in [
            r#"{"a":{"x":1},"b":[{"c":2}]}"#,
            r#"{"a":{"x":2},"b":[{"c":2}]}"#,
            r#"{"a":{"x":1}}"#,
            r#"[]"#,
            "",
        ] {
            let whole = (String::new(), before, after);
            assert_eq!(narrowed(before, after), whole);
        }
    }
}
