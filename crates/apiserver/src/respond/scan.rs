//! Finds parts of encoded objects without decoding the rest.
//!
//! The bytes are JSON that this server has written or checked. Bytes that are not JSON make a scan end early; it never
//! fails and never reads past the end.

use kubewright_machinery::scan::{string_end, value_end};

/// Returns the encoded value of a member of an encoded object.
pub(crate) fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    members(object)
        .find(|(key, _)| *key == name.as_bytes())
        .map(|(_, value)| value)
}

/// Returns the members of an encoded object: the text of the key as it is written, and the encoded value.
pub(crate) fn members(object: &[u8]) -> Members<'_> {
    members_at(object, 0)
}

/// Returns the members of the object at a position.
#[inline]
pub(crate) fn members_at(object: &[u8], at: usize) -> Members<'_> {
    let at = skip_space(object, at);
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

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.next_key()?;
        Some((key, self.value()?))
    }
}

impl<'a> Members<'a> {
    /// Returns the key of the next member. Its value must be read with [`Members::value`] or [`Members::descend`].
    #[inline]
    pub(crate) fn next_key(&mut self) -> Option<&'a [u8]> {
        let Some((key, value)) = key_at(self.json, self.at) else {
            self.at = skip_space(self.json, self.at);
            if self.json.get(self.at) != Some(&b'}') {
                self.at = self.json.len();
            }
            return None;
        };
        self.at = value;
        Some(key)
    }

    /// Returns the value of the member.
    #[inline]
    pub(crate) fn value(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        let end = value_end(self.json, start);
        self.at = end.unwrap_or(self.json.len());
        self.json.get(start..end?)
    }

    /// Reads the value of the member, and returns it with the result of `read`. `read` gets the position of the value, and
    /// returns its end.
    pub(crate) fn descend<T>(
        &mut self,
        read: impl FnOnce(&'a [u8], usize) -> (T, usize),
    ) -> (T, &'a [u8]) {
        let start = self.at;
        let (read, end) = read(self.json, start);
        self.at = end;
        (read, self.json.get(start..end).unwrap_or_default())
    }

    /// Returns the position after the object, once all members have been read.
    pub(crate) fn end(&self) -> usize {
        match self.json.get(self.at) {
            Some(b'}') => self.at + 1,
            _ => self.json.len(),
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let start = behind_comma(self.json, self.at);
        let end = value_end(self.json, start);
        self.at = end.unwrap_or(self.json.len());
        self.json.get(start..end?)
    }
}

/// Returns the key of the member at a position, behind a comma if there is one, and the position of its value.
#[inline]
fn key_at(json: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let quote = behind_comma(json, at);
    if json.get(quote) != Some(&b'"') {
        return None;
    }
    let end = string_end(json, quote)?;
    let key = json.get(quote + 1..end - 1)?;
    let colon = skip_space(json, end);
    if json.get(colon) != Some(&b':') {
        return None;
    }
    Some((key, skip_space(json, colon + 1)))
}

#[inline]
fn behind_comma(json: &[u8], at: usize) -> usize {
    let at = skip_space(json, at);
    match json.get(at) {
        Some(b',') => skip_space(json, at + 1),
        _ => at,
    }
}

#[inline]
fn skip_space(json: &[u8], at: usize) -> usize {
    match json.get(at) {
        Some(byte) if byte.is_ascii_whitespace() => {
            let rest = json.get(at..).unwrap_or_default();
            at + rest.iter().take_while(|b| b.is_ascii_whitespace()).count()
        }
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_place() {
        let json = br#"{"a":{"b":1,"c":"}"} , "d":2 }x"#;
        let mut outer = members(json);
        assert_eq!(outer.next_key(), Some(&b"a"[..]));
        let (count, value) = outer.descend(|json, at| {
            let mut inner = members_at(json, at);
            (inner.by_ref().count(), inner.end())
        });
        assert_eq!((count, value), (2, &br#"{"b":1,"c":"}"}"#[..]));
        assert_eq!(outer.next(), Some((&b"d"[..], &b"2"[..])));
        assert_eq!(outer.next(), None);
        assert_eq!(outer.end(), json.len() - 1);
        let mut cut = members(&json[..12]);
        cut.next_key();
        assert_eq!((cut.next(), cut.end()), (None, 12));
    }

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
