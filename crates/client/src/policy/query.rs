//! Reading and extending the query of a request.

use http::{Method, Request, Uri, uri::PathAndQuery};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters that need no escaping in a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Reports whether the request is a watch.
pub(super) fn is_watch<B>(request: &Request<B>) -> bool {
    request.method() == Method::GET && is_true(request.uri(), "watch")
}

/// Reports whether the response may never end: watches, followed logs, upgraded connections.
pub(super) fn is_endless<B>(request: &Request<B>) -> bool {
    is_watch(request)
        || is_true(request.uri(), "follow")
        || request.headers().contains_key(http::header::UPGRADE)
}

/// Reports whether a parameter is present, with any value.
pub(super) fn has(uri: &Uri, name: &str) -> bool {
    pairs(uri).any(|(key, _)| key == name)
}

/// Adds a parameter.
pub(super) fn add(uri: &mut Uri, name: &str, value: &str) {
    let value = utf8_percent_encode(value, QUERY);
    let path = uri.path();
    let longer = match uri.query() {
        None | Some("") => format!("{path}?{name}={value}"),
        Some(query) => format!("{path}?{query}&{name}={value}"),
    };
    let mut parts = uri.clone().into_parts();
    // The URI stays valid, because the addition is escaped.
    if let Ok(longer) = PathAndQuery::try_from(longer) {
        parts.path_and_query = Some(longer);
        if let Ok(changed) = Uri::from_parts(parts) {
            *uri = changed;
        }
    }
}

fn is_true(uri: &Uri, name: &str) -> bool {
    pairs(uri).any(|(key, value)| {
        let value = percent_decode_str(value).decode_utf8_lossy();
        key == name && matches!(&*value, "true" | "1" | "t" | "T" | "TRUE" | "True")
    })
}

fn pairs(uri: &Uri) -> impl Iterator<Item = (&str, &str)> {
    uri.query()
        .unwrap_or_default()
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}
