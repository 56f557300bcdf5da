//! [`PolicyRule`]: which requests a rule allows.

use std::fmt;

use kubewright_machinery::go;
use serde::{Deserialize, Deserializer, Serialize};

/// A rule of a role. `*` matches everything.
///
/// Its text is that of messages about missing permissions:
///
/// ```
/// use kubewright_rbac::PolicyRule;
///
/// let rule = PolicyRule {
///     verbs: vec!["get".into(), "list".into()],
///     api_groups: vec!["apps".into()],
///     resources: vec!["deployments".into()],
///     ..PolicyRule::default()
/// };
/// assert_eq!(rule.to_string(), r#"{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRule {
    /// The groups; the core group is empty.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// The paths that are not resources. One that ends in `*` matches all paths with that prefix.
    #[serde(
        rename = "nonResourceURLs",
        deserialize_with = "list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub non_resource_urls: Vec<String>,
    /// The names of the objects. Without names the rule is about all objects.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// The resources: `pods`, `pods/log`, or `*/scale` for a subresource of all.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The verbs.
    #[serde(deserialize_with = "list")]
    pub verbs: Vec<String>,
}

/// A request about a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceRequest<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The group; the core group is empty.
    pub group: &'a str,
    /// The resource.
    pub resource: &'a str,
    /// The subresource, or empty.
    pub subresource: &'a str,
    /// The name of the object, or empty.
    pub name: &'a str,
}

/// Reads a list that may be null.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl PolicyRule {
    /// Returns whether the rule allows a request about a resource.
    pub fn allows(&self, request: &ResourceRequest<'_>) -> bool {
        has(&self.verbs, request.verb)
            && has(&self.api_groups, request.group)
            && self
                .resources
                .iter()
                .any(|resource| names(resource, request.resource, request.subresource))
            && (self.resource_names.is_empty()
                || self.resource_names.iter().any(|name| name == request.name))
    }

    /// Returns whether the rule allows a request for a path that is not a resource.
    ///
    /// ```
    /// use kubewright_rbac::PolicyRule;
    ///
    /// let rule = PolicyRule {
    ///     verbs: vec!["get".into()],
    ///     non_resource_urls: vec!["/healthz".into(), "/api/*".into()],
    ///     ..PolicyRule::default()
    /// };
    /// assert!(rule.allows_path("get", "/api/v1"));
    /// assert!(!rule.allows_path("get", "/api"));
    /// assert!(!rule.allows_path("post", "/healthz"));
    /// ```
    pub fn allows_path(&self, verb: &str, path: &str) -> bool {
        let matches = |url: &String| url == "*" || url_covers(url, path);
        has(&self.verbs, verb) && self.non_resource_urls.iter().any(matches)
    }
}

/// Returns whether a list has a value, or everything.
fn has(list: &[String], value: &str) -> bool {
    // The core group is empty. Comparing the bytes of two empty texts is slow: their address is not that of any memory.
    let is_it = |one: &String| one.len() == value.len() && (value.is_empty() || one == value);
    list.iter().any(|one| one == "*" || is_it(one))
}

/// Returns whether the resource of a rule names the resource of a request. `pods` does not name `pods/log`.
fn names(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    let Some(before) = rule.strip_suffix(subresource) else {
        return false;
    };
    before == "*/" || before.strip_suffix('/') == Some(resource)
}

/// Returns whether a path of a rule matches another path.
pub(crate) fn url_covers(url: &str, path: &str) -> bool {
    url == path || (url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
}

impl fmt::Display for PolicyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let parts = parts.into_iter().filter(|(_, values)| !values.is_empty());
        f.write_str("{")?;
        for (i, (name, values)) in parts.enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{name}:{}", go::quote_all(values))?;
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], names: &[&str], verbs: &[&str]) -> PolicyRule {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        PolicyRule {
            api_groups: owned(groups),
            resources: owned(resources),
            resource_names: owned(names),
            verbs: owned(verbs),
            non_resource_urls: Vec::new(),
        }
    }

    fn request<'a>(verb: &'a str, group: &'a str, path: &'a str) -> ResourceRequest<'a> {
        let mut parts = path.split('/');
        let mut next = || parts.next().unwrap_or_default();
        ResourceRequest {
            verb,
            group,
            resource: next(),
            name: next(),
            subresource: next(),
        }
    }

    #[test]
    fn verb_group_resource_and_name_must_all_match() {
        let rule = rule(&["", "apps"], &["pods", "deployments"], &[], &["get"]);
        assert!(rule.allows(&request("get", "", "pods/web")));
        assert!(rule.allows(&request("get", "apps", "pods")));
        assert!(!rule.allows(&request("list", "", "pods")));
        assert!(!rule.allows(&request("get", "batch", "pods")));
        assert!(!rule.allows(&request("get", "", "nodes")));
        assert!(!rule.allows(&request("", "", "pods")), "no verb");
    }

    #[test]
    fn a_resource_does_not_include_its_subresources() {
        let pods = rule(&[""], &["pods"], &[], &["*"]);
        assert!(!pods.allows(&request("get", "", "pods/web/log")));
        let logs = rule(&[""], &["pods/log"], &[], &["*"]);
        assert!(logs.allows(&request("get", "", "pods/web/log")));
        assert!(!logs.allows(&request("get", "", "pods/web")));
        let every = rule(&[""], &["*/log"], &[], &["*"]);
        assert!(every.allows(&request("get", "", "pods/web/log")));
        assert!(!every.allows(&request("get", "", "pods/web/exec")));
        assert!(!every.allows(&request("get", "", "pods/web")));
        let star = rule(&[""], &["pods/*"], &[], &["*"]);
        assert!(
            !star.allows(&request("get", "", "pods/web/log")),
            "a star after the slash stands for nothing"
        );
        let all = rule(&["*"], &["*"], &[], &["*"]);
        assert!(all.allows(&request("get", "x", "pods/web/log")));
    }

    #[test]
    fn names_restrict_a_rule_to_requests_with_these_names() {
        let rule = rule(&[""], &["pods"], &["a", "b"], &["*"]);
        assert!(rule.allows(&request("get", "", "pods/b")));
        assert!(!rule.allows(&request("get", "", "pods/c")));
        assert!(!rule.allows(&request("list", "", "pods")));
    }

    #[test]
    fn paths_match_whole_or_by_their_beginning() {
        let mut rule = rule(&[], &[], &[], &["get"]);
        rule.non_resource_urls = vec!["/version".into(), "/logs/*".into()];
        assert!(rule.allows_path("get", "/version"));
        assert!(!rule.allows_path("get", "/version/"));
        assert!(rule.allows_path("get", "/logs/"));
        assert!(rule.allows_path("get", "/logs/a/b"));
        assert!(!rule.allows_path("get", "/logs"));
        rule.non_resource_urls = vec!["*".into()];
        assert!(rule.allows_path("get", "/anything"));
        assert!(!rule.allows_path("put", "/anything"));
    }

    #[test]
    fn lists_may_be_null() {
        let rule: PolicyRule = serde_json::from_str(r#"{"verbs": null, "resources": null}"#)
            .expect("null is an empty list");
        assert_eq!(rule, PolicyRule::default());
    }
}
