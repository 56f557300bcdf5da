//! URIs, as Go's `url.ParseRequestURI` reads them.

/// An absolute URI or an absolute path.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else {
        return false;
    };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    let path = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        None => rest,
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            if !is_authority(&after[..end]) {
                return false;
            }
            &after[end..]
        }
    };
    escapes_are_sound(path)
}

/// The scheme (or nothing) and what follows; `None` where a colon has nothing before it.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return None,
            b':' => return Some((&text[..i], &text[i + 1..])),
            _ => return Some(("", text)),
        }
    }
    Some(("", text))
}

fn is_authority(text: &str) -> bool {
    let host = match text.rsplit_once('@') {
        None => text,
        Some((user, host)) => {
            let fine = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
            if !user.bytes().all(fine) || !escapes_are_sound(user) {
                return false;
            }
            host
        }
    };
    let port_is_fine = |port: &str| {
        port.is_empty()
            || port
                .strip_prefix(':')
                .is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()))
    };
    if let Some(inside) = host.strip_prefix('[') {
        return match inside.rfind(']') {
            None => false,
            Some(end) => port_is_fine(&inside[end + 1..]),
        };
    }
    if let Some(at) = host.rfind(':')
        && !port_is_fine(&host[at..])
    {
        return false;
    }
    let fine =
        |b: u8| b >= 0x80 || b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&b);
    host.bytes().all(fine) && host_escapes_are_sound(host)
}

/// Reports whether only bytes beyond ASCII are escaped, as in a host.
fn host_escapes_are_sound(host: &str) -> bool {
    escapes_are_sound(host)
        && host
            .split('%')
            .skip(1)
            .all(|after| after.as_bytes().first().is_some_and(|b| *b >= b'8'))
}

fn escapes_are_sound(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|after| after.len() >= 2 && after.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}
