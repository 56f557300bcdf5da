//! Escapes in JSON strings.

/// Replaces escapes by their characters; `None` if one is invalid.
pub(super) fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        let plain = memchr::memchr(b'\\', rest);
        let (before, after) = rest.split_at_checked(plain.unwrap_or(rest.len()))?;
        out.extend_from_slice(before);
        let Some((_, escape)) = after.split_first() else {
            return Some(out);
        };
        let (&letter, behind) = escape.split_first()?;
        rest = behind;
        out.push(match letter {
            b'"' | b'\\' | b'/' => letter,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let c;
                (c, rest) = unicode(rest)?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return None,
        });
    }
}

/// The character of the digits behind `\u`, of which there are two groups for a surrogate pair.
fn unicode(text: &[u8]) -> Option<(char, &[u8])> {
    let (high, rest) = hex(text)?;
    if !(0xd800..0xe000).contains(&high) {
        return Some((char::from_u32(high)?, rest));
    }
    let (low, rest) = hex(rest.strip_prefix(b"\\u")?)?;
    if high >= 0xdc00 || !(0xdc00..0xe000).contains(&low) {
        return None;
    }
    let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    Some((char::from_u32(code)?, rest))
}

fn hex(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_first_chunk::<4>()?;
    let code = digits.iter().try_fold(0, |code, digit| {
        Some(code << 4 | char::from(*digit).to_digit(16)?)
    })?;
    Some((code, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_escapes_are_noticed() {
        for text in [
            "\\x",
            "\\u12",
            "\\ud800",
            "\\ud800\\u0041",
            "\\udc00\\udc00",
        ] {
            assert_eq!(unescape(text.as_bytes()), None, "{text}");
        }
    }
}
