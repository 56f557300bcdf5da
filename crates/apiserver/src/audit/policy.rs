//! [`Policy`]: how much of which request is recorded.

use serde::Serialize;

use super::policy_file::{self, PolicyError};
use crate::auth::{Attributes, ResourceAttributes, Target};

/// The amount of a request that is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Level {
    /// Nothing.
    #[default]
    None,
    /// Who, when, what and the outcome, without objects.
    Metadata,
    /// The same, and the object that was sent.
    Request,
    /// The same, and the answer.
    RequestResponse,
}

impl Level {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Metadata => "Metadata",
            Self::Request => "Request",
            Self::RequestResponse => "RequestResponse",
        }
    }
}

/// A stage of a request, each of which is an event of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum Stage {
    /// The user is known, and nothing has been done yet.
    RequestReceived,
    /// The answer to a long-running request, such as a watch, has begun. Also the only stage of a request whose user could not
    /// be authenticated.
    ResponseStarted,
    /// The answer is complete.
    #[default]
    ResponseComplete,
    /// Handling the request caused a panic.
    Panic,
}

/// Rules for what is recorded. The first rule that matches a request applies; a request that matches none is not recorded.
///
/// ```
/// use kubewright_apiserver::audit::Policy;
///
/// let policy = Policy::parse("
///     apiVersion: audit.k8s.io/v1
///     kind: Policy
///     omitStages: [RequestReceived]
///     rules:
///     - level: None
///       nonResourceURLs: [/healthz*]
///     - level: Metadata
///       resources:
///       - {group: '', resources: [secrets, configmaps]}
///     - level: RequestResponse
/// ")?;
/// let error = Policy::parse("apiVersion: audit.k8s.io/v1\nkind: Policy").unwrap_err();
/// assert_eq!(error.to_string(), "loaded illegal policy with 0 rules");
/// # let _ = policy;
/// # Ok::<(), kubewright_apiserver::audit::PolicyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(super) rules: Vec<Rule>,
}

/// A rule of a policy. An empty list matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) outcome: Outcome,
    pub(super) users: Vec<String>,
    pub(super) user_groups: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) resources: Vec<GroupResources>,
    pub(super) namespaces: Vec<String>,
    pub(super) non_resource_urls: Vec<String>,
}

/// The decision of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) level: Level,
    pub(crate) omitted: Stages,
    pub(crate) omits_managed_fields: bool,
}

/// A set of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stages(u8);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupResources {
    pub(super) group: String,
    pub(super) resources: Vec<String>,
    pub(super) resource_names: Vec<String>,
}

impl Stages {
    pub(crate) fn contains(self, stage: Stage) -> bool {
        self.0 & Self::of(stage).0 != 0
    }

    pub(super) fn of(stage: Stage) -> Self {
        Self(1 << stage as u8)
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Policy {
    /// Returns the policy that records every request at a level, in all stages.
    pub fn everything(level: Level) -> Self {
        let outcome = Outcome {
            level,
            ..Outcome::default()
        };
        let rules = vec![Rule {
            outcome,
            ..Rule::default()
        }];
        Self { rules }
    }

    /// Leaves out a stage of every request.
    ///
    /// ```
    /// use kubewright_apiserver::audit::{Level, Policy, Stage};
    ///
    /// // One event for each request that is not long-running.
    /// let policy = Policy::everything(Level::Request).without(Stage::RequestReceived);
    /// # let _ = policy;
    /// ```
    #[must_use]
    pub fn without(mut self, stage: Stage) -> Self {
        for rule in &mut self.rules {
            let omitted = &mut rule.outcome.omitted;
            *omitted = omitted.union(Stages::of(stage));
        }
        self
    }

    /// Reads a policy file of `audit.k8s.io/v1`, YAML or JSON. Unknown fields are logged and ignored, as kube-apiserver does.
    ///
    /// # Errors
    ///
    /// Builds the error for an invalid file.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, PolicyError> {
        policy_file::parse(text.as_ref())
    }

    /// Returns the level for a request. `user` is false if the request was not authenticated.
    pub(crate) fn decide(&self, request: &Attributes<'_>, user: bool) -> Outcome {
        let rule = self.rules.iter().find(|rule| rule.matches(request, user));
        rule.map_or(Outcome::default(), |rule| rule.outcome)
    }
}

impl Rule {
    fn matches(&self, request: &Attributes<'_>, user: bool) -> bool {
        let named = || user && self.users.contains(&request.user.name);
        let in_group = || {
            let mut groups = request.user.groups.iter();
            user && groups.any(|group| self.user_groups.contains(group))
        };
        let by_user = self.users.is_empty() || named();
        let by_group = self.user_groups.is_empty() || in_group();
        let by_verb = self.verbs.is_empty() || has(&self.verbs, request.verb);
        if !(by_user && by_group && by_verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return request
                .resource()
                .is_some_and(|resource| self.matches_resource(resource));
        }
        match request.target {
            _ if self.non_resource_urls.is_empty() => true,
            Target::Resource(_) => false,
            Target::Path(path) => {
                let mut urls = self.non_resource_urls.iter();
                urls.any(|url| url == path || is_below(url, path))
            }
        }
    }

    fn matches_resource(&self, asked: &ResourceAttributes<'_>) -> bool {
        if !self.namespaces.is_empty() && !has(&self.namespaces, asked.namespace) {
            return false;
        }
        self.resources.is_empty() || self.resources.iter().any(|given| given.matches(asked))
    }
}

impl GroupResources {
    fn matches(&self, asked: &ResourceAttributes<'_>) -> bool {
        if self.group != asked.group && self.group != "*" {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        let names = &self.resource_names;
        if !names.is_empty() && !has(names, asked.name) {
            return false;
        }
        let combined = asked.with_subresource();
        self.resources.iter().any(|given| {
            let sub = given.strip_prefix("*/");
            given == "*"
                || **given == *combined
                || (!asked.subresource.is_empty() && sub == Some(asked.subresource))
                || given.strip_suffix("/*") == Some(asked.resource)
        })
    }
}

fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|item| item == text)
}

/// Returns whether a path begins with what stands before the final `*`.
fn is_below(url: &str, path: &str) -> bool {
    url.ends_with('*') && path.starts_with(url.trim_end_matches('*'))
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::request::{Query, RequestInfo, UserInfo};

    fn level(policy: &str, user: Option<&UserInfo>, method: Method, uri: &str) -> Level {
        let header = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n";
        let policy = Policy::parse(format!("{header}{policy}")).expect("a policy");
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let query = Query::parse(Some(query));
        let info = RequestInfo::new(&method, path, &query);
        let nobody = UserInfo::default();
        let attributes = Attributes::of_request(user.unwrap_or(&nobody), &info, &query);
        policy.decide(&attributes, user.is_some()).level
    }

    fn tim() -> UserInfo {
        UserInfo {
            name: "tim".into(),
            groups: vec!["humans".into(), "developers".into()],
            ..UserInfo::default()
        }
    }

    /// Returns whether a rule with these conditions matches.
    fn hits(conditions: &str, method: Method, uri: &str) -> bool {
        let rule = format!("- {{level: Metadata, {conditions}}}");
        level(&rule, Some(&tim()), method, uri) == Level::Metadata
    }

    #[test]
    fn the_first_rule_that_matches_decides_and_without_one_nothing_is_recorded() {
        let policy =
            "- {level: None, users: [tim], verbs: [list]}\n- {level: Request, users: [tim]}";
        let pods = "/api/v1/namespaces/default/pods";
        let tim = tim();
        assert_eq!(level(policy, Some(&tim), Method::GET, pods), Level::None);
        assert_eq!(
            level(policy, Some(&tim), Method::POST, pods),
            Level::Request
        );
        let other = UserInfo::default();
        assert_eq!(level(policy, Some(&other), Method::POST, pods), Level::None);
    }

    #[test]
    fn a_rule_about_users_does_not_match_a_request_without_one() {
        let pods = "/api/v1/pods";
        for conditions in ["users: ['']", "userGroups: [humans]"] {
            let rule = format!("- {{level: Metadata, {conditions}}}");
            assert_eq!(level(&rule, None, Method::GET, pods), Level::None);
        }
        let all = "- {level: Metadata}";
        assert_eq!(level(all, None, Method::GET, pods), Level::Metadata);
    }

    #[test]
    fn users_groups_and_verbs_must_all_match() {
        let get = |conditions| {
            hits(
                conditions,
                Method::GET,
                "/api/v1/namespaces/default/pods/busybox",
            )
        };
        assert!(get("users: [tim], userGroups: [humans], verbs: [get]"));
        assert!(!get("users: [zoe], userGroups: [humans], verbs: [get]"));
        assert!(!get("users: [tim], userGroups: [cats]"));
        assert!(!get("verbs: [list]"));
    }

    #[test]
    fn resources_match_with_groups_names_and_subresources() {
        let log = |resources: &str| {
            let conditions = format!("resources: [{resources}]");
            hits(
                &conditions,
                Method::GET,
                "/api/v1/namespaces/default/pods/busybox/log",
            )
        };
        for matching in [
            "{group: ''}",
            "{group: '*'}",
            "{resources: [pods/log]}",
            "{resources: ['pods/*']}",
            "{resources: ['*/log']}",
            "{resources: ['*']}",
            "{resources: [pods/log], resourceNames: [edit, busybox]}",
        ] {
            assert!(log(matching), "{matching}");
        }
        for other in [
            "{group: apps}",
            "{resources: [pods]}",
            "{resources: ['*/status']}",
            "{resources: ['services/*']}",
            "{resources: [pods/log], resourceNames: [edit]}",
        ] {
            assert!(!log(other), "{other}");
        }
        let pod = "/api/v1/namespaces/default/pods/busybox";
        // The resource itself is among its subresources.
        assert!(hits(
            "resources: [{resources: ['pods/*']}]",
            Method::GET,
            pod
        ));
        assert!(!hits("resources: [{resources: ['*/']}]", Method::GET, pod));
        let selected = "/api/v1/pods?fieldSelector=metadata.name%3Dbusybox";
        let named = "resources: [{resources: [pods], resourceNames: [busybox]}]";
        assert!(hits(named, Method::GET, selected));
    }

    #[test]
    fn namespaces_match_and_objects_without_one_have_the_empty_name() {
        let pods = "/api/v1/namespaces/default/pods";
        assert!(hits(
            "namespaces: [kube-system, default]",
            Method::GET,
            pods
        ));
        assert!(!hits("namespaces: ['']", Method::GET, pods));
        assert!(hits("namespaces: ['']", Method::GET, "/api/v1/nodes"));
        assert!(!hits("namespaces: ['']", Method::GET, "/healthz"));
    }

    #[test]
    fn urls_match_whole_or_up_to_a_star() {
        let get = |urls: &str, path| hits(&format!("nonResourceURLs: [{urls}]"), Method::GET, path);
        assert!(get("/logs*", "/logs/kubelet.log"));
        assert!(get("'*'", "/version"));
        assert!(get("/version", "/version"));
        assert!(!get("/version", "/version/"));
        assert!(!get("'*'", "/api/v1/pods"));
    }
}
