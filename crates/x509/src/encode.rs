//! A writer of DER.

use crate::der;

/// The bit of a tag that says that the content is made of values.
const CONSTRUCTED: u8 = 0x20;
/// The bits of a tag whose context defines it.
const CONTEXT: u8 = 0x80;

/// Returns a value with a tag byte.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 6);
    out.push(tag);
    let length = content.len();
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let significant = bytes.iter().skip_while(|byte| **byte == 0);
            // At most eight bytes.
            out.push(0x80 | significant.clone().count() as u8);
            out.extend(significant);
        }
    }
    out.extend_from_slice(content);
    out
}

/// Returns a sequence of encoded values.
pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(universal(der::SEQUENCE) | CONSTRUCTED, &parts.concat())
}

/// Returns a set of encoded values, in the order of DER.
pub(crate) fn set(mut parts: Vec<Vec<u8>>) -> Vec<u8> {
    parts.sort_unstable();
    element(universal(der::SET) | CONSTRUCTED, &parts.concat())
}

/// Returns a value of a type that its context defines, which holds bytes.
pub(crate) fn context(tag: u8, content: &[u8]) -> Vec<u8> {
    element(CONTEXT | tag, content)
}

/// Returns a value of a type that its context defines, which holds a value.
pub(crate) fn explicit(tag: u8, content: &[u8]) -> Vec<u8> {
    element(CONTEXT | CONSTRUCTED | tag, content)
}

pub(crate) fn object_identifier(content: &[u8]) -> Vec<u8> {
    element(universal(der::OBJECT_IDENTIFIER), content)
}

pub(crate) fn octet_string(content: &[u8]) -> Vec<u8> {
    element(universal(der::OCTET_STRING), content)
}

/// Returns a bit string of whole bytes.
pub(crate) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    bits(bytes, 0)
}

/// Returns a bit string of which the last bits are not used.
pub(crate) fn bits(bytes: &[u8], unused: u8) -> Vec<u8> {
    element(universal(der::BIT_STRING), &[&[unused], bytes].concat())
}

/// Returns a positive integer.
pub(crate) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let significant: Vec<u8> = bytes.iter().copied().skip_while(|b| *b == 0).collect();
    let padded = match significant.first() {
        Some(first) if first & 0x80 == 0 => significant,
        _ => [&[0], significant.as_slice()].concat(),
    };
    element(universal(der::INTEGER), &padded)
}

pub(crate) fn boolean(value: bool) -> Vec<u8> {
    element(universal(der::BOOLEAN), &[if value { 0xff } else { 0 }])
}

/// Returns `NULL`.
pub(crate) fn null() -> Vec<u8> {
    vec![5, 0]
}

/// Universal tags are below 31.
fn universal(tag: u32) -> u8 {
    (tag & 0x1f) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_as_short_as_possible() {
        assert_eq!(element(4, &[7; 3]), [4, 3, 7, 7, 7]);
        assert_eq!(element(4, &[0; 0x80])[..3], [4, 0x81, 0x80]);
        assert_eq!(element(4, &[0; 0x100])[..4], [4, 0x82, 1, 0]);
    }

    #[test]
    fn integers_are_positive_and_minimal() {
        assert_eq!(unsigned(&[0, 0, 5]), [2, 1, 5]);
        assert_eq!(unsigned(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(unsigned(&[]), [2, 1, 0]);
    }

    #[test]
    fn sets_are_sorted() {
        let set = set(vec![vec![4, 1, 9], vec![4, 1, 1]]);
        assert_eq!(set, [0x31, 6, 4, 1, 1, 4, 1, 9]);
    }
}
