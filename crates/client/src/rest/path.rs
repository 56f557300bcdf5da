//! Paths of resources, and the names that they may contain.

use kubewright_machinery::{
    gvk::{GroupVersion, GroupVersionResource},
    validation::names::is_path_segment_name,
};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::error::{Error, Result};

/// The characters that need escaping in a path segment.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'/')
    .add(b'%')
    .add(b'\\')
    .add(b'^')
    .add(b'|')
    .add(b'[')
    .add(b']');

/// Returns the path of a group version: `/api/v1` or `/apis/apps/v1`.
pub(crate) fn of_group_version(version: &GroupVersion) -> String {
    let root = if version.group.is_empty() {
        "api"
    } else {
        "apis"
    };
    format!("/{root}/{version}")
}

/// Returns the path of a collection: `/apis/apps/v1/namespaces/shop/deployments`, or the whole cluster without a
/// namespace.
pub(crate) fn of_resource(
    resource: &GroupVersionResource,
    namespace: Option<&str>,
) -> Result<String> {
    if resource.version.is_empty() || resource.resource.is_empty() {
        return Err(Error::Request(format!("no such resource: {resource}")));
    }
    let mut path = of_group_version(&resource.group_version());
    if let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) {
        path.push_str("/namespaces/");
        path.push_str(&segment("namespace", namespace)?);
    }
    path.push('/');
    path.push_str(&segment("resource", &resource.resource)?);
    Ok(path)
}

/// Escapes a path segment. Rejects segments that would change the path: `.`, `..`, and those with `/` or `%`.
pub(crate) fn segment(what: &str, value: &str) -> Result<String> {
    let refused = is_path_segment_name(value);
    if !refused.is_empty() {
        return Err(Error::Request(format!(
            "invalid {what} {value:?}: {}",
            refused.join(", ")
        )));
    }
    Ok(utf8_percent_encode(value, SEGMENT).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_has_its_path() {
        let path = |group, namespace| {
            of_resource(&GroupVersionResource::new(group, "v1", "things"), namespace).unwrap()
        };
        assert_eq!(path("", None), "/api/v1/things");
        assert_eq!(path("", Some("")), "/api/v1/things");
        assert_eq!(
            path("a.b", Some("shop")),
            "/apis/a.b/v1/namespaces/shop/things"
        );
    }

    #[test]
    fn names_that_would_climb_are_refused() {
        for name in [".", "..", "a/b", "a%2fb"] {
            assert!(segment("name", name).is_err(), "{name}");
        }
        assert_eq!(
            segment("name", "system:node?x=1#é").unwrap(),
            "system:node%3Fx=1%23%C3%A9"
        );
    }
}
