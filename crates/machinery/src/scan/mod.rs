//! The ends of strings, objects and arrays in encoded JSON, at memory speed.
//!
//! Only quotes, backslashes and brackets are examined; errors inside a value are found when it is decoded. Nothing
//! recurses, and nothing reads past the end.
//!
//! ```
//! use kubewright_machinery::scan::value_end;
//!
//! let json = br#"{"name":"a}\"","items":[1,{"b":[]}]}, 7"#;
//! assert_eq!(value_end(json, 0), Some(json.len() - 3));
//! assert_eq!(value_end(json, 8), Some(14));
//! assert_eq!(value_end(b"{\"name\":", 0), None);
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `blocks` | strings and brackets of 64 bytes as bit masks |
//! | `lanes` | sixteen bytes that are compared at once |

mod blocks;
mod lanes;

use lanes::Lanes;

pub use blocks::{BLOCK, Brackets, Carry, brackets};

/// The length up to which a string is searched in place. Most strings are shorter, and a call is not worth it for them.
const SHORT: usize = 64;

/// Returns the position of the first `"` or `\` at or after `at`, or the length of the text.
#[inline]
pub fn quote_or_backslash(json: &[u8], at: usize) -> usize {
    let mut rest = json.get(at..).unwrap_or_default();
    for _ in 0..SHORT / 16 {
        let Some((chunk, behind)) = rest.split_first_chunk::<16>() else {
            let ends = |byte: &u8| matches!(byte, b'"' | b'\\');
            let found = rest.iter().position(ends).unwrap_or(rest.len());
            return json.len() - rest.len() + found;
        };
        let ends = Lanes::new(*chunk).equal_either(b'"', b'\\');
        if ends != 0 {
            return json.len() - rest.len() + ends.trailing_zeros() as usize;
        }
        rest = behind;
    }
    let found = memchr::memchr2(b'"', b'\\', rest);
    json.len() - rest.len() + found.unwrap_or(rest.len())
}

/// Returns the end of the string whose opening quote is at `at`.
#[inline]
pub fn string_end(json: &[u8], at: usize) -> Option<usize> {
    let end = quote_or_backslash(json, at + 1);
    match json.get(end)? {
        b'"' => Some(end + 1),
        _ => escaped_string_end(json, end),
    }
}

/// Returns the end of a string from its first backslash on.
fn escaped_string_end(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match json.get(at)? {
            b'"' => return Some(at + 1),
            _ => at = quote_or_backslash(json, at + 2),
        }
    }
}

/// Returns the end of the object or array whose opening bracket is at `at`.
pub fn container_end(json: &[u8], at: usize) -> Option<usize> {
    if !matches!(json.get(at)?, b'{' | b'[') {
        return None;
    }
    let mut at = at;
    let mut depth = 0u32;
    loop {
        let rest = json.get(at..)?;
        let (brackets, carry) = match rest.first_chunk::<BLOCK>() {
            Some(block) => brackets(block, Carry::default()),
            None if rest.is_empty() => return None,
            None => {
                let mut block = [b' '; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                brackets(&block, Carry::default())
            }
        };
        let closing = brackets.closing.count_ones();
        if depth <= closing
            && let Some(end) = brackets.end(depth)
        {
            return Some(at + end);
        }
        // Every closing bracket has an opening one: otherwise the value would have ended.
        depth = depth.saturating_add(brackets.opening.count_ones()) - closing;
        at += BLOCK;
        if carry.in_string {
            // The quotes of the next block are found sooner from the end of the string on.
            at = match carry.escaped {
                true => escaped_string_end(json, at - 1)?,
                false => string_end(json, at - 1)?,
            };
        }
    }
}

/// Returns the end of the value that starts at `at`, or `None` if there is no whole value. A number or a literal ends
/// before the next comma, bracket or white space.
#[inline]
pub fn value_end(json: &[u8], at: usize) -> Option<usize> {
    match json.get(at)? {
        b'"' => string_end(json, at),
        b'{' | b'[' => container_end(json, at),
        b'}' | b']' | b',' | b':' => None,
        _ => {
            let rest = &json[at..];
            let ends = |b: &u8| matches!(b, b',' | b'}' | b']') || b.is_ascii_whitespace();
            Some(at + rest.iter().position(ends).unwrap_or(rest.len()))
        }
    }
}

#[cfg(test)]
mod tests;
