//! Redirects of a webhook.

use http::{HeaderMap, StatusCode, Uri, header};

/// The target of a redirect.
pub(super) struct Location {
    /// The location as it was given.
    pub(super) text: String,
    /// Whether the document is sent to it.
    pub(super) keeps_method: bool,
}

/// Returns the target of a redirect. A response without a location is not a redirect.
pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> Option<Location> {
    let keeps_method = match status.as_u16() {
        301..=303 => false,
        307 | 308 => true,
        _ => return None,
    };
    let text = headers.get(header::LOCATION)?.as_bytes();
    let text = String::from_utf8_lossy(text).into_owned();
    (!text.is_empty()).then_some(Location { text, keeps_method })
}

/// Resolves a reference against the URL of the request.
pub(super) fn resolve(base: &str, reference: &str) -> Option<String> {
    let base: Uri = base.parse().ok()?;
    let scheme = base.scheme_str()?;
    let authority = base.authority()?.as_str();
    let reference = reference.split('#').next()?;
    let resolved = if has_scheme(reference) {
        reference.to_owned()
    } else if reference.starts_with("//") {
        format!("{scheme}:{reference}")
    } else if reference.starts_with('?') {
        format!("{scheme}://{authority}{}{reference}", base.path())
    } else {
        let (path, query) = match reference.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (reference, String::new()),
        };
        let path = match path.starts_with('/') {
            true => path.to_owned(),
            // Relative to the last segment of the path.
            false => match base.path().rsplit_once('/') {
                Some((folder, _)) => format!("{folder}/{path}"),
                None => format!("/{path}"),
            },
        };
        format!("{scheme}://{authority}{}{query}", without_dots(&path))
    };
    let uri: Uri = resolved.parse().ok()?;
    uri.host()?;
    Some(resolved)
}

fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else {
        return false;
    };
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    // A colon without a scheme before it is invalid.
    scheme.chars().all(letter)
}

/// Removes `.` and `..` from a path.
fn without_dots(path: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." {
                    out.pop();
                }
                if last {
                    out.push("");
                }
            }
            part => out.push(part),
        }
    }
    format!("/{}", out.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_seen_from_where_they_were_given() {
        let base = "https://a.example:1/x/y?timeout=30s";
        for (reference, expected) in [
            ("/z", "https://a.example:1/z"),
            ("z", "https://a.example:1/x/z"),
            ("../z?q=1", "https://a.example:1/z?q=1"),
            ("./", "https://a.example:1/x/"),
            ("?q=1", "https://a.example:1/x/y?q=1"),
            ("//b.example/z", "https://b.example/z"),
            ("http://b.example:2/z#f", "http://b.example:2/z"),
            ("/z:1", "https://a.example:1/z:1"),
        ] {
            assert_eq!(resolve(base, reference).as_deref(), Some(expected));
        }
        assert_eq!(resolve(base, "://x y"), None);
    }

    #[test]
    fn an_answer_that_names_no_place_is_an_answer() {
        let headers = HeaderMap::new();
        assert!(of(StatusCode::TEMPORARY_REDIRECT, &headers).is_none());
    }
}
