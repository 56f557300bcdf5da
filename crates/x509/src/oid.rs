//! Object identifiers, as the contents of their DER encoding.

use crate::Error;

pub(crate) const COMMON_NAME: &[u8] = &[0x55, 4, 3];
pub(crate) const SERIAL_NUMBER: &[u8] = &[0x55, 4, 5];
pub(crate) const COUNTRY: &[u8] = &[0x55, 4, 6];
pub(crate) const LOCALITY: &[u8] = &[0x55, 4, 7];
pub(crate) const PROVINCE: &[u8] = &[0x55, 4, 8];
pub(crate) const STREET_ADDRESS: &[u8] = &[0x55, 4, 9];
pub(crate) const ORGANIZATION: &[u8] = &[0x55, 4, 10];
pub(crate) const ORGANIZATIONAL_UNIT: &[u8] = &[0x55, 4, 11];
pub(crate) const POSTAL_CODE: &[u8] = &[0x55, 4, 17];

pub(crate) const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1d, 14];
pub(crate) const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
pub(crate) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
pub(crate) const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
pub(crate) const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 35];
pub(crate) const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
/// The attribute of a request that lists the extensions it asks for.
pub(crate) const EXTENSION_REQUEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];

pub(crate) const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
pub(crate) const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
pub(crate) const X25519: &[u8] = &[0x2b, 0x65, 0x6e];
pub(crate) const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

pub(crate) const P224: &[u8] = &[0x2b, 0x81, 4, 0, 33];
pub(crate) const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
pub(crate) const P384: &[u8] = &[0x2b, 0x81, 4, 0, 34];
pub(crate) const P521: &[u8] = &[0x2b, 0x81, 4, 0, 35];

pub(crate) const RSA_MD5: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4];
pub(crate) const RSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5];
pub(crate) const RSA_SHA1_ISO: &[u8] = &[0x2b, 0x0e, 3, 2, 29];
pub(crate) const RSA_PSS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10];
pub(crate) const MGF1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 8];
pub(crate) const RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
pub(crate) const RSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12];
pub(crate) const RSA_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13];
pub(crate) const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1];
pub(crate) const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
pub(crate) const ECDSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
pub(crate) const ECDSA_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4];
pub(crate) const SHA256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
pub(crate) const SHA384: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2];
pub(crate) const SHA512: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3];

/// The most numbers of an identifier. Those in use have about ten.
const MAX_ARCS: usize = 64;

/// Checks an identifier, and returns it as text: `2.5.4.3`.
pub(crate) fn dotted(content: &[u8]) -> Result<String, Error> {
    if content.is_empty() {
        return Err(Error::syntax("zero length OBJECT IDENTIFIER"));
    }
    let mut text = String::new();
    let mut rest = content;
    for arc in 0.. {
        if rest.is_empty() {
            break;
        }
        if arc == MAX_ARCS {
            return Err(Error::structure("object identifier too long"));
        }
        let (value, after) = base128(rest)?;
        rest = after;
        match arc {
            // The first byte holds two numbers.
            0 if value < 80 => text.push_str(&format!("{}.{}", value / 40, value % 40)),
            0 => text.push_str(&format!("2.{}", value - 80)),
            _ => text.push_str(&format!(".{value}")),
        }
    }
    Ok(text)
}

/// Reads a number in base 128, and returns it with the bytes after it.
pub(crate) fn base128(bytes: &[u8]) -> Result<(u32, &[u8]), Error> {
    let too_large = || Error::structure("base 128 integer too large");
    let mut value = 0u64;
    for (i, byte) in bytes.iter().enumerate() {
        if i == 5 {
            return Err(too_large());
        }
        if i == 0 && *byte == 0x80 {
            return Err(Error::syntax("integer is not minimally encoded"));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            let value = i32::try_from(value).map_err(|_| too_large())?;
            let rest = bytes.get(i + 1..).unwrap_or_default();
            return Ok((value.unsigned_abs(), rest));
        }
    }
    Err(Error::syntax("truncated base 128 integer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_printed_with_dots() {
        for (content, text) in [
            (COMMON_NAME, "2.5.4.3"),
            (RSA, "1.2.840.113549.1.1.1"),
            (
                &[0x2b, 6, 1, 4, 1, 0x83, 0xc2, 0x53, 2],
                "1.3.6.1.4.1.57683.2",
            ),
            (&[0x88, 0x37], "2.999"),
        ] {
            assert_eq!(dotted(content).unwrap(), text);
        }
    }

    #[test]
    fn malformed_identifiers_are_errors() {
        for (content, text) in [
            (&[][..], "asn1: syntax error: zero length OBJECT IDENTIFIER"),
            (
                &[0x2a, 0x86],
                "asn1: syntax error: truncated base 128 integer",
            ),
            (
                &[0x2a, 0x80, 1],
                "asn1: syntax error: integer is not minimally encoded",
            ),
            (
                &[0x2a, 0xff, 0xff, 0xff, 0xff, 0x7f],
                "asn1: structure error: base 128 integer too large",
            ),
        ] {
            assert_eq!(dotted(content).unwrap_err().to_string(), text);
        }
        assert!(dotted(&[1; 65]).is_err());
    }
}
