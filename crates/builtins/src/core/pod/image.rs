//! Parses image references, as far as defaulting needs it.

/// Reports whether the image names the tag `latest`, or no tag and no digest, which means the same. A reference that
/// cannot be
/// read is not the latest.
pub(crate) fn is_latest(image: &str) -> bool {
    let (rest, digest) = match image.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (image, None),
    };
    let after_slash = rest.rfind('/').map_or(0, |i| i + 1);
    let (name, tag) = match rest[after_slash..].find(':') {
        Some(i) => (&rest[..after_slash + i], Some(&rest[after_slash + i + 1..])),
        None => (rest, None),
    };
    if !is_name(name) || digest.is_some_and(|d| !is_digest(d)) {
        return false;
    }
    match tag {
        Some(tag) => tag == "latest",
        None => digest.is_none(),
    }
}

fn is_name(name: &str) -> bool {
    if name.is_empty() || name.len() > 255 {
        return false;
    }
    if name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit()) {
        return false;
    }
    let path = match name.split_once('/') {
        Some((first, rest)) if is_domain_like(first) => {
            if !is_domain(first) {
                return false;
            }
            rest
        }
        _ => name,
    };
    path.split('/').all(is_path_component)
}

fn is_domain_like(first: &str) -> bool {
    first.contains(['.', ':'])
        || first == "localhost"
        || first.bytes().any(|b| b.is_ascii_uppercase())
}

fn is_domain(domain: &str) -> bool {
    let host = match domain.rsplit_once(':') {
        Some((host, port)) if !domain.ends_with(']') => {
            if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
                return false;
            }
            host
        }
        _ => domain,
    };
    if let Some(v6) = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        return !v6.is_empty() && v6.bytes().all(|b| b.is_ascii_hexdigit() || b == b':');
    }
    host.split('.').all(|label| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// Reports whether a text consists of lower case letters and digits, separated by `.`, `_`, `__` or any number of `-`.
fn is_path_component(part: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = part.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    if !word(*first) || !word(*last) {
        return false;
    }
    part.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        .filter(|separator| !separator.is_empty())
        .all(|s| s == "." || s == "_" || s == "__" || s.bytes().all(|b| b == b'-'))
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hex)| {
        !algorithm.is_empty() && hex.len() >= 32 && hex.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tag_means_the_latest() {
        for image in [
            "nginx",
            "nginx:latest",
            "reg.example.com:5000/x/nginx",
            "a/b",
        ] {
            assert!(is_latest(image), "{image}");
        }
    }

    #[test]
    fn another_tag_a_digest_or_nonsense_is_not_the_latest() {
        let digest = format!("nginx@sha256:{}", "0".repeat(64));
        for image in ["nginx:1.25", "", "Nginx", "a//b", "-a", digest.as_str()] {
            assert!(!is_latest(image), "{image}");
        }
    }
}
