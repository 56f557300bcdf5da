//! [`Bounds`]: a key of etcd, or a range of keys, as a prefix of paths in a collection.

use crate::call::CallError;

/// The keys of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    One(String),
    /// The keys from `start` to before `end`, all of which have the prefix. No end: all keys after the start.
    Range {
        prefix: String,
        start: String,
        end: Option<String>,
    },
}

impl Bounds {
    /// Reads the fields `key` and `range_end`.
    pub(crate) fn of(key: &[u8], end: &[u8]) -> Result<Self, CallError> {
        let start = text(key)?;
        if end.is_empty() {
            return match start.is_empty() {
                true => Err(CallError::invalid("etcdserver: key is not provided")),
                false => Ok(Self::One(start)),
            };
        }
        if end == [0] {
            return Ok(Self::Range {
                prefix: String::new(),
                start,
                end: None,
            });
        }
        let end = text(end)?;
        // All keys with a prefix end before the prefix whose last byte is one more.
        let prefix = before(&end).filter(|prefix| start.starts_with(&**prefix));
        let prefix = prefix.unwrap_or_else(|| common(&start, &end));
        Ok(Self::Range {
            prefix,
            start,
            end: Some(end),
        })
    }

    /// Returns the prefix of the paths.
    pub(crate) fn prefix(&self) -> &str {
        match self {
            Self::One(key) => key,
            Self::Range { prefix, .. } => prefix,
        }
    }

    /// Returns whether a path is in the range.
    pub(crate) fn contains(&self, path: &str) -> bool {
        match self {
            Self::One(key) => key == path,
            Self::Range { start, end, .. } => {
                &**start <= path && end.as_deref().is_none_or(|end| path < end)
            }
        }
    }
}

fn text(bytes: &[u8]) -> Result<String, CallError> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| CallError::unimplemented("keys that are not UTF-8"))?;
    Ok(text.to_owned())
}

/// Returns the prefix whose keys end before this one.
fn before(end: &str) -> Option<String> {
    let mut bytes = end.as_bytes().to_vec();
    let last = bytes.last_mut()?;
    *last = last.checked_sub(1)?;
    String::from_utf8(bytes).ok()
}

fn common(one: &str, other: &str) -> String {
    let pairs = one.chars().zip(other.chars());
    pairs
        .take_while(|(a, b)| a == b)
        .map(|(shared, _)| shared)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_prefix_wherever_it_can_be() {
        let prefix = |key: &str, end: &str| {
            let bounds = Bounds::of(key.as_bytes(), end.as_bytes()).unwrap();
            bounds.prefix().to_owned()
        };
        assert_eq!(
            prefix("/registry/pods/", "/registry/pods0"),
            "/registry/pods/"
        );
        // The next page of a list.
        assert_eq!(
            prefix("/registry/pods/a\0", "/registry/pods0"),
            "/registry/pods/"
        );
        assert_eq!(prefix("/registry/a", "/registry/c"), "/registry/");
        assert_eq!(prefix("a", "\0"), "");
        let range = Bounds::of(b"/a/b", b"/a/d").unwrap();
        for (path, is_in) in [
            ("/a/b", true),
            ("/a/c/x", true),
            ("/a/d", false),
            ("/a/a", false),
        ] {
            assert_eq!(range.contains(path), is_in, "{path}");
        }
        let all = Bounds::of(b"b", &[0]).unwrap();
        assert!(all.contains("z") && !all.contains("a"));
        assert!(Bounds::of(b"", b"").is_err());
        assert!(Bounds::of(&[0xff], b"").is_err());
    }
}
