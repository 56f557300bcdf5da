//! [`Cutter`]: where the bytes of an answer end.

use bytes::Bytes;

/// A place in the bytes of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Behind so many bytes.
    Byte(usize),
    /// Within a UTF-8 sequence, after so many whole ones.
    Utf8(usize),
    /// Within a JSON token, a `"resourceVersion"`, after so many whole ones.
    Token(usize),
}

/// Lets bytes pass up to a place.
pub(crate) struct Cutter {
    place: Place,
    /// The number of bytes of the token that have been seen.
    matched: usize,
    over: bool,
}

const TOKEN: &[u8] = b"\"resou";

impl Cutter {
    pub(crate) fn at(place: Place) -> Self {
        Self {
            place,
            matched: 0,
            over: matches!(place, Place::Byte(0)),
        }
    }

    /// Nothing more passes.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Returns the part of a chunk that passes.
    pub(crate) fn pass(&mut self, chunk: &Bytes) -> Bytes {
        for (i, byte) in chunk.iter().enumerate() {
            if self.over {
                return chunk.slice(..i);
            }
            self.over = self.ends_behind(*byte);
        }
        chunk.clone()
    }

    fn ends_behind(&mut self, byte: u8) -> bool {
        let left = match &mut self.place {
            Place::Byte(left) => {
                *left -= 1;
                return *left == 0;
            }
            Place::Utf8(left) if byte >= 0xc2 => left,
            Place::Token(left) => {
                self.matched = match byte {
                    b'"' => 1,
                    byte if TOKEN.get(self.matched) == Some(&byte) => self.matched + 1,
                    _ => 0,
                };
                if self.matched < TOKEN.len() {
                    return false;
                }
                left
            }
            Place::Utf8(_) => return false,
        };
        if *left == 0 {
            return true;
        }
        *left -= 1;
        false
    }
}

#[test]
fn a_cut_is_where_it_should_be() {
    let text = Bytes::from("{\"a\":\"é\",\"resourceVersion\":\"ü\",\"resourceVersion\"}");
    let cut = |place| {
        let mut cutter = Cutter::at(place);
        let mut passed = Vec::new();
        for chunk in text.chunks(3) {
            passed.extend_from_slice(&cutter.pass(&Bytes::copy_from_slice(chunk)));
        }
        (passed.len(), cutter.is_over())
    };
    assert_eq!(cut(Place::Byte(0)), (0, true));
    assert_eq!(cut(Place::Byte(5)), (5, true));
    assert_eq!(cut(Place::Utf8(0)), (7, true));
    assert_eq!(cut(Place::Utf8(1)), (30, true));
    assert_eq!(cut(Place::Token(0)), (16, true));
    assert_eq!(cut(Place::Token(2)), (text.len(), false));
}
