//! The revision inside the bytes of an object: inserting, replacing and ignoring it.
//!
//! An object is encoded without its revision; `at` is the offset of the decimal digits. Stored bytes contain the digits of the
//! revision they were stored with, so offset and revision suffice to remove them. Nothing here decodes an object.
//!
//! ```
//! use bytes::Bytes;
//! use kubewright_store::{Revision, splice};
//!
//! let fresh = Bytes::from_static(br#"{"rv":""}"#);
//! let stored = splice::insert(&fresh, Some(7), Revision(9));
//! assert_eq!(stored, r#"{"rv":"9"}"#);
//! assert_eq!(splice::replace(&stored, Some(7), Revision(9), Revision(10)), r#"{"rv":"10"}"#);
//! assert!(splice::same(&stored, Some(7), Revision(9), &fresh, Some(7)));
//! ```

use bytes::Bytes;

use crate::Revision;

/// The decimal digits of a revision.
pub struct Digits {
    buffer: [u8; 20],
    start: usize,
}

/// Returns `bytes` with the digits of `revision` inserted at `at`. Without an offset the same bytes are shared.
pub fn insert(bytes: &Bytes, at: Option<u32>, revision: Revision) -> Bytes {
    let Some(at) = at else { return bytes.clone() };
    let (head, tail) = bytes.split_at(offset(at, bytes.len()));
    join(head, revision, tail)
}

/// Returns `stored` with the digits of `from` at `at` replaced by those of `to`.
pub fn replace(stored: &Bytes, at: Option<u32>, from: Revision, to: Revision) -> Bytes {
    let Some(at) = at else { return stored.clone() };
    let (head, tail) = around(stored, at, from);
    join(head, to, tail)
}

/// Returns whether `stored`, which has `revision` at `at`, equals `fresh` with a revision inserted at `fresh_at`.
pub fn same(
    stored: &[u8],
    at: Option<u32>,
    revision: Revision,
    fresh: &[u8],
    fresh_at: Option<u32>,
) -> bool {
    match (at, fresh_at) {
        (None, None) => stored == fresh,
        (Some(at), Some(fresh_at)) if at == fresh_at => {
            let (head, tail) = around(stored, at, revision);
            let (fresh_head, fresh_tail) = fresh.split_at(offset(fresh_at, fresh.len()));
            head == fresh_head && tail == fresh_tail
        }
        _ => false,
    }
}

impl Digits {
    /// Formats `revision`.
    pub fn of(revision: Revision) -> Self {
        let mut buffer = [0; 20];
        let mut start = buffer.len();
        let mut rest = revision.0;
        loop {
            start -= 1;
            buffer[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return Self { buffer, start };
            }
        }
    }

    /// Returns the digits as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

/// Returns the offset, limited to the length of the bytes.
fn offset(at: u32, len: usize) -> usize {
    (at as usize).min(len)
}

/// Returns the bytes before and after the digits of `revision` at `at`.
fn around(stored: &[u8], at: u32, revision: Revision) -> (&[u8], &[u8]) {
    let digits = Digits::of(revision).as_bytes().len();
    let at = offset(at, stored.len().saturating_sub(digits));
    let (head, rest) = stored.split_at(at);
    (head, rest.get(digits..).unwrap_or_default())
}

fn join(head: &[u8], revision: Revision, tail: &[u8]) -> Bytes {
    let digits = Digits::of(revision);
    let digits = digits.as_bytes();
    let mut out = Vec::with_capacity(head.len() + digits.len() + tail.len());
    out.extend_from_slice(head);
    out.extend_from_slice(digits);
    out.extend_from_slice(tail);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_decimal_number() {
        for n in [0, 7, 10, 99, 100, 1_234_567, u64::MAX] {
            assert_eq!(Digits::of(Revision(n)).as_bytes(), n.to_string().as_bytes());
        }
    }

    #[test]
    fn a_replaced_revision_equals_one_put_in_afresh() {
        let bare = Bytes::from_static(b"{\"rv\":\"\",\"x\":1}");
        for (from, to) in [(1, 9), (9, 10), (999, 1000), (1000, 5)] {
            let stored = insert(&bare, Some(7), Revision(from));
            assert_eq!(
                replace(&stored, Some(7), Revision(from), Revision(to)),
                insert(&bare, Some(7), Revision(to))
            );
        }
    }

    #[test]
    fn bytes_are_the_same_only_around_the_same_place() {
        let bare = Bytes::from_static(b"ab");
        let stored = insert(&bare, Some(1), Revision(12));
        assert_eq!(stored, "a12b");
        assert!(same(&stored, Some(1), Revision(12), b"ab", Some(1)));
        assert!(!same(&stored, Some(1), Revision(12), b"ac", Some(1)));
        assert!(!same(&stored, Some(1), Revision(12), b"abc", Some(1)));
        assert!(!same(&stored, Some(1), Revision(12), b"ab", Some(0)));
        assert!(!same(&stored, Some(1), Revision(12), b"a12b", None));
    }

    #[test]
    fn an_offset_past_the_end_means_the_end() {
        let bare = Bytes::from_static(b"ab");
        let stored = insert(&bare, Some(99), Revision(3));
        assert_eq!(stored, "ab3");
        assert_eq!(
            replace(&stored, Some(99), Revision(3), Revision(14)),
            "ab14"
        );
        assert!(same(&stored, Some(99), Revision(3), b"ab", Some(99)));
    }
}
