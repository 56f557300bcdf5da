//! The decoded query string.

use std::{
    borrow::Cow,
    num::{IntErrorKind, ParseIntError},
};

use kubewright_machinery::{Status, go, status};
use percent_encoding::percent_decode_str;

/// The decoded query parameters, in order. A key may occur more than once.
///
/// ```
/// use kubewright_apiserver::request::Query;
///
/// let query = Query::parse(Some("limit=5&watch=true"));
/// assert_eq!(query.first("limit"), Some("5"));
/// assert_eq!(query.flag("watch"), Some(true));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes a raw query string.
    pub fn parse(raw: Option<&str>) -> Self {
        let Some(raw) = raw else {
            return Self::default();
        };
        let pairs = raw
            .split('&')
            .filter(|pair| is_well_formed(pair))
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode(key), decode(value))
            });
        Self(pairs.collect())
    }

    /// Returns the first value of a key.
    pub fn first(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    /// Returns every value of a key.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    /// Returns a boolean parameter as kube-apiserver reads it: true if it is present and neither `false` nor `0`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.first(key)
            .map(|v| !v.eq_ignore_ascii_case("false") && v != "0")
    }

    /// Returns an integer parameter.
    ///
    /// # Errors
    ///
    /// Fails with 400 if the value is empty or not a number.
    pub fn integer(&self, key: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.first(key) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|e: ParseIntError| {
            let why = match e.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            let text = go::quote(text);
            status::bad_request(format!("strconv.ParseInt: parsing {text}: {why}"))
        })
    }

    /// Returns whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reports whether a pair is valid. As in Go, pairs with a semicolon or an invalid escape are skipped.
fn is_well_formed(pair: &str) -> bool {
    let mut bytes = pair.bytes();
    while let Some(byte) = bytes.next() {
        let hex = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_hexdigit());
        if byte == b';' || (byte == b'%' && !(hex(bytes.next()) && hex(bytes.next()))) {
            return false;
        }
    }
    !pair.is_empty()
}

fn decode(text: &str) -> String {
    let text = if text.contains('+') {
        Cow::Owned(text.replace('+', " "))
    } else {
        Cow::Borrowed(text)
    };
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_are_not_well_formed_are_passed_over() {
        let query = Query::parse(Some("a=1&b=%zz&c=2;d=3&&e=%41&%4=x&f"));
        assert_eq!(query.first("a"), Some("1"));
        assert_eq!(query.first("b"), None);
        assert_eq!(query.first("c"), None);
        assert_eq!(query.first("e"), Some("A"));
        assert_eq!(query.first("f"), Some(""));
        assert_eq!(query.0.len(), 3);
    }

    #[test]
    fn numbers_are_read_as_in_go() {
        let query = Query::parse(Some("a=-5&b=&c=x&d=99999999999999999999"));
        assert_eq!(query.integer("a").unwrap(), Some(-5));
        assert_eq!(query.integer("none").unwrap(), None);
        let message = |key: &str| query.integer(key).unwrap_err().message;
        assert_eq!(
            message("b"),
            "strconv.ParseInt: parsing \"\": invalid syntax"
        );
        assert_eq!(
            message("c"),
            "strconv.ParseInt: parsing \"x\": invalid syntax"
        );
        assert_eq!(
            message("d"),
            "strconv.ParseInt: parsing \"99999999999999999999\": value out of range"
        );
    }
}
