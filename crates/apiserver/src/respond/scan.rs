//! Finds parts of encoded objects without decoding the rest.
//!
//! The bytes are JSON that this server has written or checked. Bytes that are not JSON make a scan end early; it never
//! fails and never reads past the end.

/// Returns the encoded value of a member of an encoded object.
pub(crate) fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    members(object)
        .find(|(key, _)| *key == name.as_bytes())
        .map(|(_, value)| value)
}

/// Returns the members of an encoded object: the text of the key as it is written, and the encoded value.
pub(crate) fn members(object: &[u8]) -> Members<'_> {
    let at = skip_space(object, 0);
    Members {
        json: object,
        at: match object.get(at) {
            Some(b'{') => at + 1,
            _ => object.len(),
        },
    }
}

/// Returns the encoded elements of an encoded array.
pub(crate) fn elements(array: &[u8]) -> Elements<'_> {
    let at = skip_space(array, 0);
    Elements {
        json: array,
        at: match array.get(at) {
            Some(b'[') => at + 1,
            _ => array.len(),
        },
    }
}

/// The members of an encoded object.
pub(crate) struct Members<'a> {
    json: &'a [u8],
    at: usize,
}

/// The elements of an encoded array.
pub(crate) struct Elements<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let json = self.json;
        let key = next_value(json, &mut self.at)?;
        let key = key.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let colon = skip_space(json, self.at);
        if json.get(colon) != Some(&b':') {
            self.at = json.len();
            return None;
        }
        self.at = colon + 1;
        Some((key, next_value(json, &mut self.at)?))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        next_value(self.json, &mut self.at)
    }
}

/// Returns the value at a position, behind a comma if there is one, and moves behind it.
fn next_value<'a>(json: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let mut start = skip_space(json, *at);
    if json.get(start) == Some(&b',') {
        start = skip_space(json, start + 1);
    }
    let end = value_end(json, start);
    *at = end.unwrap_or(json.len());
    json.get(start..end?)
}

fn skip_space(json: &[u8], at: usize) -> usize {
    let rest = json.get(at..).unwrap_or_default();
    let space = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
    at + space
}

/// Returns the end of the value that starts at `at`, or `None` if there is no whole value.
fn value_end(json: &[u8], at: usize) -> Option<usize> {
    match json.get(at)? {
        b'"' => string_end(json, at),
        b'{' | b'[' => container_end(json, at),
        b'}' | b']' | b',' | b':' => None,
        _ => {
            let rest = &json[at..];
            let ends = |b: &u8| matches!(b, b',' | b'}' | b']') || b.is_ascii_whitespace();
            Some(at + rest.iter().position(ends).unwrap_or(rest.len()))
        }
    }
}

fn container_end(json: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match json.get(at)? {
            b'"' => {
                at = string_end(json, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Returns the end of the string whose opening quote is at `at`.
pub(crate) fn string_end(json: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', json.get(at..)?)?;
        if json[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] =
        br#"{"kind":"K","n":-1.5e3,"t":true,"metadata":{"a":"}\"{","b":[1,{"c":[]}]},"l":[1, "x",{}]}"#;

    #[test]
    fn members_are_found_wherever_they_are() {
        let found = |name| member(OBJECT, name).map(|v| std::str::from_utf8(v).unwrap());
        assert_eq!(found("kind"), Some("\"K\""));
        assert_eq!(found("n"), Some("-1.5e3"));
        assert_eq!(found("t"), Some("true"));
        assert_eq!(found("metadata"), Some(r#"{"a":"}\"{","b":[1,{"c":[]}]}"#));
        assert_eq!(found("l"), Some(r#"[1, "x",{}]"#));
        assert_eq!(found("a"), None);
        let spaced = b" { \"a\" : 1 , \"b\" :\n[ ] } ";
        assert_eq!(member(spaced, "b"), Some(&b"[ ]"[..]));
        let list: Vec<_> = elements(member(OBJECT, "l").unwrap()).collect();
        assert_eq!(list, [&b"1"[..], b"\"x\"", b"{}"]);
    }

    #[test]
    fn bytes_that_are_not_json_end_the_scan() {
        for cut in 0..OBJECT.len() {
            members(&OBJECT[..cut]).count();
            members(&OBJECT[cut..]).count();
            elements(&OBJECT[cut..]).count();
        }
        assert_eq!(members(b"[1]").count(), 0);
        assert_eq!(members(b"{\"a\" 1}").count(), 0);
        assert_eq!(elements(b"[}").count(), 0);
    }
}
