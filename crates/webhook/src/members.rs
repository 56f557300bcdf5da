//! [`Members`]: the members of a JSON object as text, found without decoding or checking them.
//!
//! Large objects inside a document are skipped here several times as fast as by a parser. Whoever uses a value must parse it,
//! which finds everything that is wrong with it.

use std::ops::Range;

/// The members of an object inside a text.
pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
}

/// The places of a key, with its quotes, and of its value.
pub(crate) type Member = (Range<usize>, Range<usize>);

/// A text that is not an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl<'a> Members<'a> {
    /// Begins with the object at an index, before which there may be spaces.
    pub(crate) fn new(text: &'a str, start: usize) -> Result<Self, Malformed> {
        let at = space_end(text.as_bytes(), start);
        match text.as_bytes().get(at) {
            Some(b'{') => Ok(Self { text, at: at + 1 }),
            _ => Err(Malformed),
        }
    }

    /// Returns the next member, or `None` at the end of the object.
    pub(crate) fn next(&mut self) -> Result<Option<Member>, Malformed> {
        let bytes = self.text.as_bytes();
        let mut at = space_end(bytes, self.at);
        match bytes.get(at) {
            Some(b',') => at = space_end(bytes, at + 1),
            Some(b'}') => return Ok(None),
            _ => {}
        }
        if bytes.get(at) != Some(&b'"') {
            return Err(Malformed);
        }
        let key = at..string_end(bytes, at).ok_or(Malformed)?;
        let colon = space_end(bytes, key.end);
        if bytes.get(colon) != Some(&b':') {
            return Err(Malformed);
        }
        let start = space_end(bytes, colon + 1);
        let value = start..value_end(bytes, start).ok_or(Malformed)?;
        self.at = value.end;
        Ok(Some((key, value)))
    }
}

/// Returns the index after the value that begins at `start`.
pub(crate) fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    match bytes.get(start)? {
        b'"' => string_end(bytes, start),
        b'{' | b'[' => container_end(bytes, start),
        _ => {
            let ends =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
            let length = bytes[start..].iter().position(ends)?;
            (length > 0).then_some(start + length)
        }
    }
}

/// Returns the index after the string that begins at `start`.
pub(crate) fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn container_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

fn space_end(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Result<Vec<(&str, &str)>, Malformed> {
        let mut members = Members::new(text, 0)?;
        let mut found = Vec::new();
        while let Some((key, value)) = members.next()? {
            found.push((&text[key], &text[value]));
        }
        Ok(found)
    }

    #[test]
    fn members_are_found_with_and_without_spaces() {
        let text = " { \"a\" : -1.5e3 ,\n\"b\\\"}\":[{\"x\":\"]\\\\\"},[ ]] , \"c\":{\"é\":null},\"d\":\"\" }\n";
        let expected = [
            ("\"a\"", "-1.5e3"),
            ("\"b\\\"}\"", "[{\"x\":\"]\\\\\"},[ ]]"),
            ("\"c\"", "{\"é\":null}"),
            ("\"d\"", "\"\""),
        ];
        assert_eq!(members(text).unwrap(), expected);
        assert_eq!(members("{}").unwrap(), []);
    }

    #[test]
    fn texts_that_are_cut_off_or_no_objects_are_malformed() {
        let whole = r#"{"a":[1,{"b":"c\""}],"d":true}"#;
        for end in 0..whole.len() {
            assert_eq!(members(&whole[..end]), Err(Malformed), "{end}");
        }
        for text in ["[]", "1", "{1:2}", r#"{"a" 1}"#, r#"{"a":}"#] {
            assert_eq!(members(text), Err(Malformed), "{text}");
        }
    }
}
