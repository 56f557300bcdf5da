//! The query string, decoded, in order.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Decoded query parameters. A key may come more than once.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes a raw query string.
    pub fn parse(raw: Option<&str>) -> Self {
        let Some(raw) = raw else {
            return Self::default();
        };
        let pairs = raw.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        });
        Self(pairs.collect())
    }

    /// The first value of a key.
    pub fn first(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    /// Every value of a key.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    /// A boolean parameter, as the API server reads one: there, and neither `false` nor `0`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.first(key)
            .map(|v| !v.eq_ignore_ascii_case("false") && v != "0")
    }

    /// Whether there are no parameters at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn decode(text: &str) -> String {
    let text = if text.contains('+') {
        Cow::Owned(text.replace('+', " "))
    } else {
        Cow::Borrowed(text)
    };
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}
