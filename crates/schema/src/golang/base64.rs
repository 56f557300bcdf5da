//! Base64 as `encoding/base64` reads it: standard alphabet, padding required, line breaks skipped, stray trailing bits
//! tolerated; and the text of its error.

/// The text as Go would write the bytes it stands for. The error is Go's message.
pub(crate) fn recode(text: &str) -> Result<String, String> {
    if is_canonical(text.as_bytes()) {
        return Ok(text.to_owned());
    }
    decode(text.as_bytes())
        .map(|bytes| encode(&bytes))
        .map_err(|at| format!("illegal base64 data at input byte {at}"))
}

/// The bytes of a text; the error is the offset Go reports.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let mut at = 0;
    loop {
        let mut group = [0u8; 4];
        let mut have = 0;
        while have < 4 {
            let Some(&c) = text.get(at) else {
                if have == 0 {
                    return Ok(out);
                }
                return Err(at - have);
            };
            at += 1;
            if let Some(value) = value(c) {
                if let Some(slot) = group.get_mut(have) {
                    *slot = value;
                }
                have += 1;
                continue;
            }
            match c {
                b'\n' | b'\r' => {}
                b'=' => return padding(text, at, have, group, out),
                _ => return Err(at - 1),
            }
        }
        push_group(&mut out, group, 3);
    }
}

/// The standard encoding, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
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

/// The first `=` has been read, at `at - 1`, after `have` characters of its group.
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
            if value(*a).is_none_or(|v| v & 0x0f != 0) {
                return false;
            }
            head
        }
        [head @ .., a, b'='] => {
            if value(*a).is_none_or(|v| v & 0x03 != 0) {
                return false;
            }
            head
        }
        all => all,
    };
    digits.iter().all(|&c| value(c).is_some())
}

fn value(c: u8) -> Option<u8> {
    match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
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
            assert_eq!(
                recode(text),
                Err(format!("illegal base64 data at input byte {at}")),
                "{text:?}"
            );
        }
    }
}
