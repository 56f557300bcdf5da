//! A reader of DER that checks as Go's `encoding/asn1` does.
//!
//! It reads one level at a time and returns slices of the input: nothing recurses and nothing is copied.

use crate::{Error, oid};

pub(crate) const BOOLEAN: u32 = 1;
pub(crate) const INTEGER: u32 = 2;
pub(crate) const BIT_STRING: u32 = 3;
pub(crate) const OCTET_STRING: u32 = 4;
pub(crate) const OBJECT_IDENTIFIER: u32 = 6;
pub(crate) const SEQUENCE: u32 = 16;
pub(crate) const SET: u32 = 17;

/// The class of tags that a standard defines for all.
pub(crate) const UNIVERSAL: u8 = 0;
/// The class of tags that their context defines.
pub(crate) const CONTEXT: u8 = 2;

/// The options of a field as Go prints them in a message; the fields here have none.
const NO_OPTIONS: &str = "{optional:false explicit:false application:false private:false defaultValue:<nil> \
     tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}";

/// A value: its tag and its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) class: u8,
    pub(crate) tag: u32,
    pub(crate) constructed: bool,
    /// The bytes after tag and length.
    pub(crate) content: &'a [u8],
    /// All bytes.
    pub(crate) whole: &'a [u8],
}

/// A sequence of values that is being read.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

struct Header {
    class: u8,
    tag: u32,
    constructed: bool,
    length: usize,
    /// The offset of the content.
    start: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns the next value of any type.
    pub(crate) fn any(&mut self) -> Result<Element<'a>, Error> {
        let header = self.header()?;
        self.take(header)
    }

    /// Returns the next value of a universal type. `name` is the name of the type in messages.
    pub(crate) fn expect(&mut self, tag: u32, name: &str) -> Result<Element<'a>, Error> {
        let header = self.header()?;
        let constructed = matches!(tag, SEQUENCE | SET);
        if header.class != UNIVERSAL || header.tag != tag || header.constructed != constructed {
            return Err(mismatch(tag, &header, name));
        }
        self.take(header)
    }

    /// Returns a reader of the next value, which is a sequence.
    pub(crate) fn sequence(&mut self, name: &str) -> Result<Reader<'a>, Error> {
        Ok(Self::new(self.expect(SEQUENCE, name)?.content))
    }

    /// Returns the next value of a list of sequences or sets.
    pub(crate) fn item(&mut self, tag: u32) -> Result<Reader<'a>, Error> {
        let header = self.header()?;
        if header.class != UNIVERSAL || header.tag != tag || !header.constructed {
            return Err(Error::structure("sequence tag mismatch"));
        }
        let item = self.take(header);
        let item = item.map_err(|_| Error::syntax("truncated sequence"))?;
        Ok(Self::new(item.content))
    }

    /// Returns the next value if it has this tag.
    pub(crate) fn optional(&mut self, class: u8, tag: u32) -> Result<Option<Element<'a>>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        let header = self.header()?;
        if header.class != class || header.tag != tag {
            return Ok(None);
        }
        self.take(header).map(Some)
    }

    /// Returns the contents of an object identifier.
    pub(crate) fn object_identifier(&mut self) -> Result<&'a [u8], Error> {
        let element = self.expect(OBJECT_IDENTIFIER, "ObjectIdentifier")?;
        oid::dotted(element.content)?;
        Ok(element.content)
    }

    /// Returns the bytes of a bit string that holds whole bytes.
    pub(crate) fn bytes_of_bits(&mut self) -> Result<&'a [u8], Error> {
        let element = self.expect(BIT_STRING, "BitString")?;
        match element.content.split_first() {
            None => Err(Error::syntax("zero length BIT STRING")),
            Some((0, bytes)) => Ok(bytes),
            Some(_) => Err(Error::syntax("invalid padding bits in BIT STRING")),
        }
    }

    /// Returns the contents of an integer.
    pub(crate) fn integer(&mut self) -> Result<&'a [u8], Error> {
        let content = self.expect(INTEGER, "int")?.content;
        match content {
            [] => Err(Error::structure("empty integer")),
            [0, next, ..] if next & 0x80 == 0 => Err(minimal()),
            [0xff, next, ..] if next & 0x80 != 0 => Err(minimal()),
            _ => Ok(content),
        }
    }

    /// Returns an integer that fits.
    pub(crate) fn small_integer(&mut self) -> Result<i64, Error> {
        let content = self.integer()?;
        if content.len() > 8 {
            return Err(Error::structure("integer too large"));
        }
        let negative = content.first().is_some_and(|byte| byte & 0x80 != 0);
        let start = if negative { -1 } else { 0 };
        let append = |value: i64, byte: &u8| value << 8 | i64::from(*byte);
        Ok(content.iter().fold(start, append))
    }

    /// Fails if there is more.
    pub(crate) fn end(&self) -> Result<(), Error> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(Error::syntax("trailing data")),
        }
    }

    fn header(&self) -> Result<Header, Error> {
        let truncated = || Error::syntax("truncated tag or length");
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((&first, mut rest)) = rest.split_first() else {
            return Err(Error::syntax("sequence truncated"));
        };
        let mut tag = u32::from(first & 0x1f);
        if tag == 0x1f {
            (tag, rest) = oid::base128(rest)?;
            if tag < 0x1f {
                return Err(Error::syntax("non-minimal tag"));
            }
        }
        let (&byte, mut rest) = rest.split_first().ok_or_else(truncated)?;
        let mut length = usize::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            let count = length;
            if count == 0 {
                return Err(Error::syntax("indefinite length found (not DER)"));
            }
            length = 0;
            for _ in 0..count {
                let (&byte, after) = rest.split_first().ok_or_else(truncated)?;
                rest = after;
                if length >= 1 << 23 {
                    return Err(Error::structure("length too large"));
                }
                length = length << 8 | usize::from(byte);
                if length == 0 {
                    return Err(Error::structure("superfluous leading zeros in length"));
                }
            }
            if length < 0x80 {
                return Err(Error::structure("non-minimal length"));
            }
        }
        Ok(Header {
            class: first >> 6,
            tag,
            constructed: first & 0x20 != 0,
            length,
            start: self.bytes.len() - rest.len(),
        })
    }

    fn take(&mut self, header: Header) -> Result<Element<'a>, Error> {
        let end = header.start.saturating_add(header.length);
        let parts = (
            self.bytes.get(header.start..end),
            self.bytes.get(self.at..end),
        );
        let (Some(content), Some(whole)) = parts else {
            return Err(Error::syntax("data truncated"));
        };
        self.at = end;
        Ok(Element {
            class: header.class,
            tag: header.tag,
            constructed: header.constructed,
            content,
            whole,
        })
    }
}

fn minimal() -> Error {
    Error::structure("integer not minimally-encoded")
}

fn mismatch(expected: u32, found: &Header, name: &str) -> Error {
    let Header {
        class,
        tag,
        constructed,
        length,
        start,
    } = found;
    Error::structure(format_args!(
        "tags don't match ({expected} vs {{class:{class} tag:{tag} length:{length} isCompound:{constructed}}}) \
         {NO_OPTIONS} {name} @{start}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> String {
        let mut reader = Reader::new(bytes);
        let read = reader.sequence("certificateRequest");
        read.map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn lengths_and_tags_are_checked_as_go_checks_them() {
        for (bytes, text) in [
            (&[][..], "syntax error: sequence truncated"),
            (&[0x30], "syntax error: truncated tag or length"),
            (&[0x30, 0x82, 1], "syntax error: truncated tag or length"),
            (&[0x30, 5, 1], "syntax error: data truncated"),
            (
                &[0x30, 0x80],
                "syntax error: indefinite length found (not DER)",
            ),
            (&[0x30, 0x81, 5], "structure error: non-minimal length"),
            (
                &[0x30, 0x82, 0, 5],
                "structure error: superfluous leading zeros in length",
            ),
            (
                &[0x30, 0x85, 1, 0, 0, 0, 0],
                "structure error: length too large",
            ),
            (&[0x3f, 0x10, 0], "syntax error: non-minimal tag"),
        ] {
            assert_eq!(error(bytes), format!("asn1: {text}"), "{bytes:?}");
        }
    }

    #[test]
    fn another_type_is_described() {
        assert_eq!(
            error(b"not a request"),
            "asn1: structure error: tags don't match (16 vs {class:1 tag:14 length:111 isCompound:true}) \
             {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> \
             stringType:0 timeType:0 set:false omitEmpty:false} certificateRequest @2"
        );
    }

    #[test]
    fn integers_keep_their_sign() {
        let read = |bytes: &[u8]| Reader::new(bytes).small_integer();
        assert_eq!(read(&[2, 1, 0x7f]), Ok(127));
        assert_eq!(read(&[2, 2, 0, 0x80]), Ok(128));
        assert_eq!(read(&[2, 1, 0xff]), Ok(-1));
        assert!(read(&[2, 2, 0, 1]).is_err());
        assert!(read(&[2, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
    }
}
