//! The string types of ASN.1.

use crate::{
    Error,
    der::{Element, UNIVERSAL},
    encode,
};

const UTF8: u32 = 12;
const NUMERIC: u32 = 18;
const PRINTABLE: u32 = 19;
const T61: u32 = 20;
const IA5: u32 = 22;
const BMP: u32 = 30;

/// Returns the text of a value, or `None` if it is not a string.
pub(crate) fn decode(element: &Element<'_>) -> Result<Option<String>, Error> {
    if element.class != UNIVERSAL || element.constructed {
        return Ok(None);
    }
    let bytes = element.content;
    let all = |allowed: fn(u8) -> bool, what: &str| match bytes.iter().all(|b| allowed(*b)) {
        true => Ok(Some(latin1(bytes))),
        false => Err(Error::syntax(&format!("{what} contains invalid character"))),
    };
    match element.tag {
        UTF8 => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(Error::new("asn1: invalid UTF-8 string")),
        },
        PRINTABLE => all(
            |byte| is_printable(byte) || matches!(byte, b'*' | b'&'),
            "PrintableString",
        ),
        NUMERIC => all(
            |byte| byte.is_ascii_digit() || byte == b' ',
            "NumericString",
        ),
        IA5 => all(|byte| byte.is_ascii(), "IA5String"),
        T61 => Ok(Some(latin1(bytes))),
        BMP => bmp(bytes).map(Some),
        _ => Ok(None),
    }
}

/// Encodes a text as Go does: as a PrintableString if it is one.
pub(crate) fn encode(text: &str) -> Vec<u8> {
    let printable = text.bytes().all(is_printable);
    let tag = if printable { PRINTABLE } else { UTF8 };
    encode::element((tag & 0x1f) as u8, text.as_bytes())
}

fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte)
}

/// Returns the characters with these numbers. ASCII is the same as in UTF-8.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

fn bmp(bytes: &[u8]) -> Result<String, Error> {
    let invalid = || Error::new("invalid BMPString");
    if !bytes.len().is_multiple_of(2) {
        return Err(invalid());
    }
    let bytes = bytes.strip_suffix(&[0, 0]).unwrap_or(bytes);
    let points = bytes
        .chunks(2)
        .map(|pair| pair.iter().fold(0u32, |v, b| v << 8 | u32::from(*b)));
    points
        .map(|point| match point {
            0xfffe | 0xffff | 0xfdd0..=0xfdef => Err(invalid()),
            // Surrogates are no characters.
            point => char::from_u32(point).ok_or_else(invalid),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::der::Reader;

    fn read(bytes: &[u8]) -> Result<Option<String>, Error> {
        decode(&Reader::new(bytes).any().unwrap())
    }

    #[test]
    fn every_string_type_is_read() {
        let text = |bytes| read(bytes).unwrap().unwrap();
        assert_eq!(text(&[12, 2, 0xc3, 0xa9]), "é");
        assert_eq!(text(&[19, 3, b'a', b':', b'*']), "a:*");
        assert_eq!(text(&[18, 3, b'1', b' ', b'2']), "1 2");
        assert_eq!(text(&[22, 1, b'@']), "@");
        assert_eq!(text(&[20, 1, 0xe9]), "é");
        assert_eq!(text(&[30, 4, 0, b'a', 0, 0]), "a");
        assert_eq!(read(&[4, 1, b'a']), Ok(None));
    }

    #[test]
    fn characters_outside_of_the_type_are_errors() {
        for (bytes, error) in [
            (&[12, 1, 0xff][..], "asn1: invalid UTF-8 string"),
            (
                &[19, 1, b'@'],
                "asn1: syntax error: PrintableString contains invalid character",
            ),
            (&[30, 2, 0xd8, 0], "invalid BMPString"),
            (&[30, 1, 0], "invalid BMPString"),
        ] {
            assert_eq!(read(bytes).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn texts_are_written_in_the_smallest_type() {
        assert_eq!(encode("system:nodes")[0], 19);
        assert_eq!(encode("a@b")[0], 12);
    }
}
