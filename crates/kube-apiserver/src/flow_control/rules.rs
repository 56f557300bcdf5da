//! The rules of flow schemas, and how requests match them.

use kubewright_apiserver::{
    auth::{Attributes, ResourceAttributes, Target},
    request::UserInfo,
};
use serde::Deserialize;

const ALL: &str = "*";

/// A rule of a flow schema: it matches the requests of its subjects that one of its policies describes.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Rule {
    subjects: Vec<Subject>,
    resource_rules: Vec<ResourceRule>,
    non_resource_rules: Vec<NonResourceRule>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Subject {
    user: Option<Named>,
    group: Option<Named>,
    service_account: Option<Account>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Account {
    namespace: String,
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    cluster_scope: bool,
    namespaces: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NonResourceRule {
    verbs: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    urls: Vec<String>,
}

impl Rule {
    pub(super) fn matches(&self, request: &Attributes<'_>) -> bool {
        let user = request.user;
        if !self.subjects.iter().any(|subject| subject.matches(user)) {
            return false;
        }
        match &request.target {
            Target::Resource(resource) => {
                let mut rules = self.resource_rules.iter();
                rules.any(|rule| rule.matches(request.verb, resource))
            }
            Target::Path(path) => {
                let mut rules = self.non_resource_rules.iter();
                rules.any(|rule| rule.matches(request.verb, path))
            }
        }
    }
}

impl Subject {
    /// Returns whether the user is meant. Validation has made sure that one field is set, that of the kind.
    fn matches(&self, user: &UserInfo) -> bool {
        let is = |named: &Named, name: &str| named.name == ALL || named.name == name;
        if let Some(named) = &self.user {
            return is(named, &user.name);
        }
        if let Some(named) = &self.group {
            return named.name == ALL || user.groups.contains(&named.name);
        }
        let account = user.name.strip_prefix("system:serviceaccount:");
        match (
            &self.service_account,
            account.and_then(|a| a.split_once(':')),
        ) {
            (Some(account), Some((namespace, name))) => {
                account.namespace == namespace && (account.name == ALL || account.name == name)
            }
            _ => false,
        }
    }
}

impl ResourceRule {
    fn matches(&self, verb: &str, asked: &ResourceAttributes<'_>) -> bool {
        has(&self.verbs, verb)
            && has(&self.api_groups, asked.group)
            && (is_all(&self.resources) || has(&self.resources, &asked.with_subresource()))
            && match asked.namespace {
                "" => self.cluster_scope,
                namespace => has(&self.namespaces, namespace),
            }
    }
}

impl NonResourceRule {
    fn matches(&self, verb: &str, path: &str) -> bool {
        has(&self.verbs, verb) && self.urls.iter().any(|url| reaches(url, path))
    }
}

fn is_all(list: &[String]) -> bool {
    matches!(list, [only] if only == ALL)
}

fn has(list: &[String], text: &str) -> bool {
    is_all(list) || list.iter().any(|item| item == text)
}

/// Returns whether a URL of a rule is the path, or a folder that it is in: `/healthz` reaches `/healthz/etcd` too.
fn reaches(url: &str, path: &str) -> bool {
    if url == ALL || url == path {
        return true;
    }
    let folder = url.strip_suffix('*').unwrap_or(url);
    let folder = folder.strip_suffix('/').unwrap_or(folder);
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn user(name: &str, groups: &[&str]) -> UserInfo {
        UserInfo {
            name: name.into(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..UserInfo::default()
        }
    }

    fn rule(value: Value) -> Rule {
        serde_json::from_value(value).expect("a rule")
    }

    #[test]
    fn users_groups_and_accounts_are_subjects() {
        let matches = |subject: Value, user: &UserInfo| {
            let anything = json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]);
            let rule = rule(json!({"subjects": [subject], "nonResourceRules": anything}));
            rule.matches(&Attributes::of_path(user, "get", "/version"))
        };
        let (alice, account) = (
            user("alice", &["devs"]),
            user("system:serviceaccount:shop:web", &[]),
        );
        let named = |field: &str, name: &str| json!({field: {"name": name}});
        let of = |namespace: &str, name: &str| json!({"serviceAccount": {"namespace": namespace, "name": name}});
        for (subject, who, expected) in [
            (named("user", "alice"), &alice, true),
            (named("user", "*"), &alice, true),
            (named("user", "bob"), &alice, false),
            (named("group", "devs"), &alice, true),
            (named("group", "*"), &account, true),
            (named("group", "ops"), &alice, false),
            (of("shop", "web"), &account, true),
            (of("shop", "*"), &account, true),
            (of("sho", "*"), &account, false),
            (of("shop", "we"), &account, false),
            (of("shop", "*"), &alice, false),
        ] {
            assert_eq!(matches(subject.clone(), who), expected, "{subject}");
        }
    }

    #[test]
    fn resources_match_by_verb_group_name_and_scope() {
        let alice = user("alice", &[]);
        let rule = |namespaces: Value, cluster: bool| {
            rule(json!({
                "subjects": [{"user": {"name": "alice"}}],
                "resourceRules": [{
                    "verbs": ["get"], "apiGroups": [""], "resources": ["nodes", "nodes/status"],
                    "namespaces": namespaces, "clusterScope": cluster,
                }],
            }))
        };
        let asks = |rule: &Rule, verb, subresource, namespace| {
            let resource = ResourceAttributes {
                resource: "nodes",
                subresource,
                namespace,
                ..ResourceAttributes::default()
            };
            rule.matches(&Attributes::of_resource(&alice, verb, resource))
        };
        let (cluster, some, all) = (
            rule(json!([]), true),
            rule(json!(["a"]), false),
            rule(json!(["*"]), false),
        );
        assert!(asks(&cluster, "get", "", ""));
        assert!(asks(&cluster, "get", "status", ""));
        assert!(!asks(&cluster, "get", "proxy", ""));
        assert!(!asks(&cluster, "list", "", ""));
        assert!(!asks(&cluster, "get", "", "a"));
        assert!(asks(&some, "get", "", "a"));
        assert!(!asks(&some, "get", "", "b"));
        assert!(asks(&all, "get", "", "b"));
        assert!(
            !asks(&all, "get", "", ""),
            "a rule for all namespaces is not for the cluster"
        );
    }

    #[test]
    fn urls_reach_everything_below_them() {
        for (url, path, expected) in [
            ("*", "/version", true),
            ("/healthz", "/healthz", true),
            ("/healthz", "/healthz/etcd", true),
            ("/healthz", "/healthzz", false),
            ("/x/*", "/x/y", true),
            ("/x/*", "/x/", true),
            ("/x/*", "/x", false),
            ("/x*", "/xy", false),
        ] {
            assert_eq!(reaches(url, path), expected, "{url} {path}");
        }
    }
}
