//! Base64, as `encoding/base64` reads and writes it: line breaks are skipped, stray trailing bits are tolerated, and
//! errors name the byte that Go names.

/// An alphabet and whether texts are padded with `=`; the names are those of Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `StdEncoding`: `+` and `/`, padded.
    Standard,
    /// `URLEncoding`: `-` and `_`, padded.
    Url,
    /// `RawURLEncoding`: `-` and `_`, without padding.
    RawUrl,
}

/// A text that is not base64. The message is Go's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub struct Base64Error(pub usize);

/// Returns a text as Go writes its decoded bytes, in the standard encoding.
///
/// # Errors
///
/// Returns an error if the text is not base64.
pub fn recode(text: &str) -> Result<String, Base64Error> {
    if is_canonical(text.as_bytes()) {
        return Ok(text.to_owned());
    }
    decode(text, Encoding::Standard).map(|bytes| encode(&bytes))
}

/// Decodes a text.
///
/// # Errors
///
/// Returns an error if the text is not base64 in that encoding.
///
/// ```
/// use kubewright_machinery::go::base64::{Encoding, decode};
///
/// assert_eq!(decode("_w==", Encoding::Url), Ok(vec![0xff]));
/// assert_eq!(
///     decode("_w==", Encoding::Standard).unwrap_err().to_string(),
///     "illegal base64 data at input byte 0"
/// );
/// ```
pub fn decode(text: &str, encoding: Encoding) -> Result<Vec<u8>, Base64Error> {
    read(text.as_bytes(), encoding).map_err(Base64Error)
}

/// Encodes bytes in the standard encoding.
pub fn encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            if i > chunk.len() {
                out.push('=');
            } else {
                let index = (bits >> (18 - 6 * i)) & 63;
                out.push(char::from(ALPHABET[index as usize]));
            }
        }
    }
    out
}

/// Decodes a text; the error is the offset that Go reports.
fn read(text: &[u8], encoding: Encoding) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let mut at = 0;
    loop {
        let mut group = [0u8; 4];
        let mut have = 0;
        while have < 4 {
            let Some(&c) = text.get(at) else {
                return match have {
                    0 => Ok(out),
                    2.. if encoding == Encoding::RawUrl => {
                        push_group(&mut out, group, have - 1);
                        Ok(out)
                    }
                    _ => Err(at - have),
                };
            };
            at += 1;
            if let Some(value) = digit(c, encoding) {
                if let Some(slot) = group.get_mut(have) {
                    *slot = value;
                }
                have += 1;
                continue;
            }
            match c {
                b'\n' | b'\r' => {}
                b'=' if encoding != Encoding::RawUrl => return padding(text, at, have, group, out),
                _ => return Err(at - 1),
            }
        }
        push_group(&mut out, group, 3);
    }
}

/// Ends a text whose first `=` has been read, at `at - 1`, after `have` characters of its group.
fn padding(
    text: &[u8],
    mut at: usize,
    have: usize,
    group: [u8; 4],
    mut out: Vec<u8>,
) -> Result<Vec<u8>, usize> {
    let skip_breaks = |mut at: usize| {
        while let Some(b'\n' | b'\r') = text.get(at) {
            at += 1;
        }
        at
    };
    match have {
        0 | 1 => return Err(at - 1),
        2 => {
            at = skip_breaks(at);
            match text.get(at) {
                None => return Err(text.len()),
                Some(b'=') => at += 1,
                Some(_) => return Err(at - 1),
            }
        }
        _ => {}
    }
    at = skip_breaks(at);
    push_group(&mut out, group, have - 1);
    if at < text.len() {
        return Err(at);
    }
    Ok(out)
}

fn push_group(out: &mut Vec<u8>, group: [u8; 4], bytes: usize) {
    let bits = group.iter().fold(0u32, |bits, &v| bits << 6 | u32::from(v));
    out.extend(bits.to_be_bytes().iter().skip(1).take(bytes));
}

fn is_canonical(text: &[u8]) -> bool {
    if !text.len().is_multiple_of(4) {
        return false;
    }
    let digits = match text {
        [head @ .., a, b'=', b'='] => {
            if digit(*a, Encoding::Standard).is_none_or(|v| v & 0x0f != 0) {
                return false;
            }
            head
        }
        [head @ .., a, b'='] => {
            if digit(*a, Encoding::Standard).is_none_or(|v| v & 0x03 != 0) {
                return false;
            }
            head
        }
        all => all,
    };
    digits
        .iter()
        .all(|&c| digit(c, Encoding::Standard).is_some())
}

fn digit(c: u8, encoding: Encoding) -> Option<u8> {
    match (c, encoding) {
        (b'A'..=b'Z', _) => Some(c - b'A'),
        (b'a'..=b'z', _) => Some(c - b'a' + 26),
        (b'0'..=b'9', _) => Some(c - b'0' + 52),
        (b'+', Encoding::Standard) | (b'-', Encoding::Url | Encoding::RawUrl) => Some(62),
        (b'/', Encoding::Standard) | (b'_', Encoding::Url | Encoding::RawUrl) => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_recoded_canonically() {
        for (text, canonical) in [
            ("", ""),
            ("QQ==", "QQ=="),
            ("QR==", "QQ=="),
            ("QU\nI=\n", "QUI="),
            ("QUJD", "QUJD"),
        ] {
            assert_eq!(recode(text).as_deref(), Ok(canonical), "{text:?}");
        }
    }

    #[test]
    fn errors_name_the_byte_that_go_names() {
        for (text, at) in [
            ("!!", 0),
            ("QQ", 0),
            ("QUJDQQ", 4),
            ("QQ=", 3),
            ("QQ=x", 2),
            ("Q===", 1),
            ("QQ==QQ==", 4),
            ("QU*D", 2),
        ] {
            assert_eq!(recode(text), Err(Base64Error(at)), "{text:?}");
        }
    }

    #[test]
    fn padding_is_part_of_the_encoding() {
        for (text, encoding, decoded) in [
            ("-_8=", Encoding::Url, Ok(vec![0xfb, 0xff])),
            ("-_8", Encoding::RawUrl, Ok(vec![0xfb, 0xff])),
            ("-_8", Encoding::Url, Err(Base64Error(0))),
            ("-_8=", Encoding::RawUrl, Err(Base64Error(3))),
            ("QUJDQ", Encoding::RawUrl, Err(Base64Error(4))),
        ] {
            assert_eq!(decode(text, encoding), decoded, "{text:?}");
        }
    }
}
