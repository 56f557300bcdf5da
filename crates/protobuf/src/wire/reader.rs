//! A cursor over bytes.

use super::{END_GROUP, FIXED32, FIXED64, GROUP, LENGTH, VARINT};

const UNEXPECTED_END: &str = "unexpected EOF";
const OVERFLOW: &str = "proto: integer overflow";
const NEGATIVE_LENGTH: &str = "proto: negative length found during unmarshaling";

/// The unread rest of a message.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
}

/// The number and wire type before a value.
#[derive(Clone, Copy)]
pub(crate) struct Tag {
    /// The field's number, above 0.
    pub(crate) number: u32,
    /// The wire type, of which 6 and 7 mean nothing.
    pub(crate) wire: u8,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Reader { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, String> {
        match self.bytes.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.bytes = rest;
                Ok(byte.into())
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first().ok_or(UNEXPECTED_END)?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(OVERFLOW.into())
    }

    /// The next tag of a message of that name.
    pub(crate) fn tag(&mut self, message: &str) -> Result<Tag, String> {
        let text = self.varint()?;
        let wire = (text & 7) as u8;
        if wire == END_GROUP {
            return Err(format!(
                "proto: {message}: wiretype end group for non-group"
            ));
        }
        // Field numbers wrap at 32 bits.
        let number = (text >> 3) as i32;
        match u32::try_from(number) {
            Ok(number @ 1..) => Ok(Tag { number, wire }),
            _ => Err(format!(
                "proto: {message}: illegal tag {number} (wire type {text})"
            )),
        }
    }

    pub(crate) fn fixed64(&mut self) -> Result<u64, String> {
        let (bytes, rest) = self.bytes.split_first_chunk().ok_or(UNEXPECTED_END)?;
        self.bytes = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// A length and the bytes of that length.
    pub(crate) fn block(&mut self) -> Result<&'b [u8], String> {
        let length = self.varint()? as i64;
        let length = usize::try_from(length).map_err(|_| NEGATIVE_LENGTH)?;
        self.take(length)
    }

    /// Skips the value behind a tag. Groups nest without recursion.
    pub(crate) fn skip(&mut self, wire: u8) -> Result<(), String> {
        let mut depth = 0u64;
        let mut wire = wire;
        loop {
            match wire {
                VARINT => {
                    self.varint()?;
                }
                FIXED64 => {
                    self.take(8)?;
                }
                LENGTH => {
                    self.block()?;
                }
                GROUP => depth += 1,
                END_GROUP if depth == 0 => return Err("proto: unexpected end of group".into()),
                END_GROUP => depth -= 1,
                FIXED32 => {
                    self.take(4)?;
                }
                illegal => return Err(format!("proto: illegal wireType {illegal}")),
            }
            if depth == 0 {
                return Ok(());
            }
            wire = (self.varint()? & 7) as u8;
        }
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], String> {
        let (bytes, rest) = self.bytes.split_at_checked(length).ok_or(UNEXPECTED_END)?;
        self.bytes = rest;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_ten_bytes_overflow() {
        assert_eq!(Reader::new(&[0xff; 11]).varint(), Err(OVERFLOW.into()));
        assert_eq!(Reader::new(&[0xff; 9]).varint(), Err(UNEXPECTED_END.into()));
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(Reader::new(&most).varint(), Ok(u64::MAX));
    }

    #[test]
    fn lengths_that_lie_are_noticed() {
        assert_eq!(Reader::new(&[2, 0]).block(), Err(UNEXPECTED_END.into()));
        let negative = [255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert_eq!(Reader::new(&negative).block(), Err(NEGATIVE_LENGTH.into()));
        let huge = [255, 255, 255, 255, 255, 255, 255, 255, 127];
        assert_eq!(Reader::new(&huge).block(), Err(UNEXPECTED_END.into()));
    }

    #[test]
    fn groups_nest_as_deep_as_they_like() {
        let mut bytes = vec![0x0b; 100_000];
        bytes.extend([0x0c; 100_000]);
        bytes.push(42);
        let mut reader = Reader::new(&bytes[1..]);
        reader.skip(GROUP).unwrap();
        assert_eq!(reader.varint(), Ok(42));
        assert_eq!(
            Reader::new(&bytes[..9]).skip(GROUP),
            Err(UNEXPECTED_END.into())
        );
        assert!(Reader::new(&[]).skip(END_GROUP).is_err());
        assert!(Reader::new(&[0x0e]).skip(GROUP).is_err());
    }

    #[test]
    fn tags_name_a_field() {
        let error = |bytes: &[u8]| Reader::new(bytes).tag("Pod").err().unwrap();
        assert_eq!(error(&[0]), "proto: Pod: illegal tag 0 (wire type 0)");
        assert_eq!(
            error(&[0x0c]),
            "proto: Pod: wiretype end group for non-group"
        );
        assert_eq!(
            error(&[0xf8, 255, 255, 255, 127]),
            "proto: Pod: illegal tag -1 (wire type 34359738360)"
        );
        let tag = Reader::new(&[0x9a, 2]).tag("Pod").unwrap();
        assert_eq!((tag.number, tag.wire), (35, 2));
    }
}
