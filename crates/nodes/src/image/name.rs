//! Names of images, and identities that are derived from names.

use std::hash::{BuildHasher, Hasher};

/// Returns the name in the form that container runtimes use: `nginx` is `docker.io/library/nginx:latest`.
pub(crate) fn full_name(image: &str) -> String {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let first = name.split('/').next().unwrap_or_default();
    let has_host =
        name.contains('/') && (first.contains('.') || first.contains(':') || first == "localhost");
    let mut full = match (has_host, name.contains('/')) {
        (true, _) => name.to_owned(),
        (false, true) => format!("docker.io/{name}"),
        (false, false) => format!("docker.io/library/{name}"),
    };
    if untagged(&full).len() == full.len() && digest.is_none() {
        full.push_str(":latest");
    }
    if let Some(digest) = digest {
        full = format!("{}@{digest}", untagged(&full));
    }
    full
}

/// Returns the name without its tag and digest.
pub(crate) fn untagged(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    let last = name.rfind('/').map_or(0, |at| at + 1);
    match name[last..].find(':') {
        Some(colon) => &name[..last + colon],
        None => name,
    }
}

/// Returns the reason for which an image does not exist: its tag is `404` or `non-existent`, or its registry is named `invalid`.
pub(crate) fn missing(image: &str) -> Option<String> {
    let full = full_name(image);
    let registry = full.split('/').next().unwrap_or_default();
    if registry.split(['.', ':']).any(|label| label == "invalid") {
        return Some(format!(
            "failed to resolve reference \"{full}\": dial tcp: lookup {registry}: no such host"
        ));
    }
    let does_exist = !full.ends_with(":404") && !full.ends_with(":non-existent");
    (!does_exist).then(|| format!("failed to resolve reference \"{full}\": {full}: not found"))
}

/// Returns the name with a digest that is derived from the whole name.
pub(crate) fn digest(image: &str) -> String {
    let full = full_name(image);
    if full.contains('@') {
        return full;
    }
    format!("{}@sha256:{}", untagged(&full), hex(&[&full]))
}

/// Returns 64 hexadecimal digits that are derived from the parts.
pub(crate) fn hex(parts: &[&str]) -> String {
    let mut text = String::with_capacity(64);
    for seed in 1..=4u64 {
        let mut hasher = foldhash::quality::FixedState::with_seed(seed).build_hasher();
        for part in parts {
            hasher.write(part.as_bytes());
            hasher.write_u8(0);
        }
        text.push_str(&format!("{:016x}", hasher.finish()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_as_runtimes_do() {
        for (image, full) in [
            ("nginx", "docker.io/library/nginx:latest"),
            ("nginx:1.27", "docker.io/library/nginx:1.27"),
            ("team/app", "docker.io/team/app:latest"),
            ("localhost:5000/app", "localhost:5000/app:latest"),
            ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"),
            ("a.b/c:1@sha256:00", "a.b/c@sha256:00"),
        ] {
            assert_eq!(full_name(image), full);
        }
    }

    #[test]
    fn some_names_belong_to_no_image() {
        let reason = missing("webserver:404").unwrap();
        assert!(
            reason.ends_with("docker.io/library/webserver:404: not found"),
            "{reason}"
        );
        assert!(missing("foo:non-existent").is_some());
        assert!(missing("invalid.registry.k8s.io/invalid/alpine:3.1").is_some());
        assert_eq!(missing("nginx"), None);
        assert_eq!(missing("localhost:5000/invalid:1"), None);
    }

    #[test]
    fn digests_depend_on_the_whole_name() {
        assert_eq!(digest("nginx"), digest("docker.io/library/nginx:latest"));
        assert_ne!(digest("nginx"), digest("nginx:1"));
        assert!(digest("nginx").starts_with("docker.io/library/nginx@sha256:"));
        assert_eq!(hex(&["a", "b"]).len(), 64);
        assert_ne!(hex(&["a", "b"]), hex(&["ab", ""]));
    }
}
