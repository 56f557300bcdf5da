//! [`ApiPath`]: a path as the API server reads it.

use percent_encoding::percent_decode_str;

use crate::secrets::Content;

/// Subresources that are streams, or are served by other servers.
const STREAMS: [&str; 4] = ["exec", "attach", "portforward", "proxy"];

/// A path that every server reads in the same way: decoded once, and without anything to normalize.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ApiPath(Vec<String>);

impl ApiPath {
    /// Decodes the path of a URL, as the API server does. Returns `None` if it could have another meaning when it is decoded again
    /// or normalized, such as one with dot segments.
    pub(crate) fn parse(raw: &str) -> Option<Self> {
        let decoded = percent_decode_str(raw).decode_utf8().ok()?;
        let inner = decoded.strip_prefix('/')?;
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        let is_plain = |segment: &str| {
            let other = |c: char| matches!(c, '%' | '\\' | '?' | '#') || c.is_control();
            !matches!(segment, "" | "." | "..") && !segment.contains(other)
        };
        let plain = |segment: &str| is_plain(segment).then(|| segment.to_owned());
        inner.split('/').map(plain).collect::<Option<_>>().map(Self)
    }

    /// Returns the kind of the objects at the path.
    pub(crate) fn content(&self) -> Content {
        // Resources are case-sensitive, but masking too much is harmless.
        let is_secrets = |segment: &str| segment.eq_ignore_ascii_case("secrets");
        match *self.segments() {
            ["api", "v1", "namespaces", _, resource, ..] if is_secrets(resource) => {
                Content::Secrets
            }
            ["api", "v1", resource, ..] if is_secrets(resource) => Content::Secrets,
            _ => Content::Mixed,
        }
    }

    /// Returns whether responses may contain Secrets.
    pub(crate) fn needs_mask(&self) -> bool {
        self.content() == Content::Secrets || self.segments().first() == Some(&"kubewright")
    }

    /// Returns whether the path is that of a single Secret.
    pub(crate) fn is_one_secret(&self) -> bool {
        self.content() == Content::Secrets && self.0.len() == 6
    }

    /// Returns whether the path is that of a watch: `/api/v1/watch/...`.
    pub(crate) fn is_watch(&self) -> bool {
        matches!(below_version(&self.segments()), ["watch", ..])
    }

    /// Returns whether the path is that of a stream, or leads to another server.
    pub(crate) fn is_stream(&self) -> bool {
        let segments = self.segments();
        let object = match below_version(&segments) {
            // The deprecated form: `/api/v1/proxy/namespaces/...`.
            ["proxy", _, ..] => return true,
            ["namespaces", _, "status" | "finalize", ..] => return false,
            ["namespaces", _, object @ ..] => object,
            object => object,
        };
        object
            .get(2)
            .is_some_and(|subresource| STREAMS.contains(subresource))
    }

    fn segments(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

/// Returns the segments below a group and version.
fn below_version<'a, 'b>(segments: &'b [&'a str]) -> &'b [&'a str] {
    match segments {
        ["api", _, below @ ..] | ["apis", _, _, below @ ..] => below,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(raw: &str) -> ApiPath {
        ApiPath::parse(raw).unwrap_or_else(|| panic!("{raw} is ambiguous"))
    }

    #[test]
    fn paths_of_secrets_are_detected_in_every_encoding() {
        for path in [
            "/api/v1/secrets",
            "/api/v1/secrets/",
            "/api/v1/namespaces/a/secrets",
            "/api/v1/namespaces/a/secrets/s",
            "/api/v1/namespaces/a/%73ecrets/s",
            "/api/v1/namespaces/a/%73%65%63%72%65%74%73/s",
            "/%61pi/v1/secrets",
            "/api/v1/namespaces/a%2Fsecrets/s",
            "/api/v1/namespaces/a%2fsecrets%2fs",
            "/api/v1/namespaces/a/Secrets/s",
        ] {
            assert_eq!(parsed(path).content(), Content::Secrets, "{path}");
            assert!(parsed(path).needs_mask(), "{path}");
        }
        for path in [
            "/api/v1/namespaces/secrets",
            "/apis/x/v1/secrets",
            "/api/v1/pods",
        ] {
            assert_eq!(parsed(path).content(), Content::Mixed, "{path}");
        }
        assert!(parsed("/%6bubewright/v1/requests").needs_mask());
    }

    #[test]
    fn ambiguous_paths_are_detected() {
        for path in [
            "/api/v1/namespaces/a/%2573ecrets/s",
            "/api/v1/namespaces/a/pods/../secrets/s",
            "/api/v1/namespaces/a/pods/%2e%2e/secrets/s",
            "/api/v1/namespaces/a/pods/.%2E/secrets/s",
            "/api/v1/./secrets",
            "/api/v1//secrets",
            "//api/v1/secrets",
            "/api/v1/%2Fsecrets",
            "/api/v1/namespaces/a\\secrets/s",
            "/api/v1/secrets%3f",
            "/api/v1/secrets%00",
            "/api/v1/%ff",
            "api/v1/secrets",
            "",
        ] {
            assert_eq!(ApiPath::parse(path), None, "{path}");
        }
    }

    #[test]
    fn watches_and_streams_are_detected_in_every_encoding() {
        for path in ["/api/v1/watch/secrets", "/apis/apps/v1/%77atch/pods"] {
            assert!(parsed(path).is_watch(), "{path}");
        }
        for path in [
            "/api/v1/namespaces/a/pods/p/exec",
            "/api/v1/namespaces/a/pods/p/%65xec",
            "/api/v1/namespaces/a/services/s/proxy/x/y",
            "/api/v1/nodes/n/proxy",
            "/api/v1/proxy/nodes/n",
        ] {
            assert!(parsed(path).is_stream(), "{path}");
        }
        for path in [
            "/api/v1/namespaces/a/configmaps/proxy",
            "/api/v1/namespaces/exec/pods/attach/status",
            "/api/v1/namespaces/watch/status",
            "/openapi/v3/proxy/x/proxy",
        ] {
            assert!(
                !parsed(path).is_stream() && !parsed(path).is_watch(),
                "{path}"
            );
        }
    }
}
