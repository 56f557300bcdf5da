//! The `Host` header: HTTP/1.1 requires exactly one, because proxies and servers that pick different ones disagree about
//! the host of a request.

use http::{HeaderMap, Method, Request, Version, header};

/// Returns the reason to reject a request with 400, in the words of Go's server.
pub(crate) fn rejection<B>(request: &Request<B>) -> Option<&'static str> {
    let required = request.version() == Version::HTTP_11 && request.method() != Method::CONNECT;
    match (count(request.headers()), required) {
        (0, true) => Some("400 Bad Request: missing required Host header"),
        (0 | 1, _) => None,
        _ => Some("400 Bad Request: too many Host headers"),
    }
}

fn count(headers: &HeaderMap) -> usize {
    headers.get_all(header::HOST).iter().take(2).count()
}
