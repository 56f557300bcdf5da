//! The permissions that refusals name, found in their texts.

use crate::{GROUP, Permission, PolicyRule};

/// The words of a refusal to let a user grant what the user lacks, before the rules.
const ESCALATES: &str = " is attempting to grant RBAC permissions not currently held:";

/// The maximum number of rules that are read from a refusal. A role that grants more is not listed rule by rule.
const MAX_RULES: usize = 16;

impl Permission {
    /// Finds the user and the missing permission in the message of a server that refused a request, which may be part of a
    /// longer text.
    ///
    /// ```
    /// use kubewright_rbac::Permission;
    ///
    /// let text = r#"cannot list: secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" in the namespace "shop""#;
    /// let (user, missing) = Permission::of_denial(text).unwrap();
    /// assert_eq!(user, "bob");
    /// assert_eq!(missing, Permission::of_resource("list", "", "secrets", "", "shop"));
    /// assert_eq!(Permission::of_denial("secrets is forbidden: exceeded quota"), None);
    /// ```
    ///
    /// A user who may not grant the permissions of a role lacks these, or the permission to grant others:
    ///
    /// ```
    /// # use kubewright_rbac::Permission;
    /// let text = r#"roles.rbac.authorization.k8s.io "web" is forbidden: user "bob" (groups=["dev"]) is attempting to grant RBAC permissions not currently held:
    /// {APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#;
    /// let (user, missing) = Permission::of_denial(text).unwrap();
    /// assert_eq!(user, "bob");
    /// assert_eq!(missing.to_string(), "escalate roles.rbac.authorization.k8s.io");
    /// assert_eq!(missing.alternative[0].verbs, ["get", "list"]);
    /// ```
    pub fn of_denial(text: &str) -> Option<(String, Self)> {
        // Errors are often printed inside other quotes.
        let text = text.replace("\\\"", "\"").replace("\\n", "\n");
        of_request(&text).or_else(|| of_escalation(&text))
    }

    /// Finds the rules in a refusal to let a user grant what the user lacks. There are none if they are too many.
    ///
    /// ```
    /// use kubewright_rbac::Permission;
    ///
    /// let text = r#"user "bob" (groups=["dev"]) is attempting to grant RBAC permissions not currently held:
    /// {NonResourceURLs:["/metrics"], Verbs:["get"]}"#;
    /// let rules = Permission::not_held(text);
    /// assert_eq!(rules[0].non_resource_urls, ["/metrics"]);
    /// assert!(Permission::not_held("must have cluster-admin privileges").is_empty());
    /// ```
    pub fn not_held(text: &str) -> Vec<PolicyRule> {
        let Some((_, rules)) = text.split_once(ESCALATES) else {
            return Vec::new();
        };
        let lines = rules.trim_start().lines();
        let rules: Option<Vec<PolicyRule>> = lines
            .take(MAX_RULES + 1)
            .take_while(|line| line.starts_with('{'))
            .map(rule)
            .collect();
        rules
            .filter(|rules| rules.len() <= MAX_RULES)
            .unwrap_or_default()
    }
}

fn of_request(text: &str) -> Option<(String, Permission)> {
    let (before, after) = text.split_once("User \"")?;
    let (user, after) = after.split_once("\" cannot ")?;
    let (verb, after) = after.split_once(' ')?;
    if let Some(after) = after.strip_prefix("path \"") {
        let (path, _) = after.split_once('"')?;
        return Some((user.to_owned(), Permission::of_path(verb, path)));
    }
    let after = after.strip_prefix("resource \"")?;
    let (resource, after) = after.split_once('"')?;
    let after = after.strip_prefix(" in API group \"")?;
    let (group, after) = after.split_once('"')?;
    let namespace = after
        .strip_prefix(" in the namespace \"")
        .and_then(|after| after.split_once('"'))
        .map_or("", |(namespace, _)| namespace);
    let name = before
        .strip_suffix("\" is forbidden: ")
        .and_then(|before| before.rsplit_once(" \""))
        .map_or("", |(_, name)| name);
    let missing = Permission::of_resource(verb, group, resource, "", namespace).named(name);
    Some((user.to_owned(), missing))
}

/// Finds who may not write a role or a binding. The text does not name the role of a binding.
fn of_escalation(text: &str) -> Option<(String, Permission)> {
    let (before, _) = text.split_once(ESCALATES)?;
    let (before, user) = before.rsplit_once(" is forbidden: user \"")?;
    let (user, _) = user.split_once("\" (groups=[")?;
    let (before, _) = before.split_once(".rbac.authorization.k8s.io \"")?;
    let resource = before.rsplit(|c: char| !c.is_ascii_lowercase()).next()?;
    let (verb, resource) = match resource {
        "roles" | "clusterroles" => ("escalate", resource),
        "clusterrolebindings" => ("bind", "clusterroles"),
        "rolebindings" => ("bind", "*"),
        _ => return None,
    };
    let mut missing = Permission::of_resource(verb, GROUP, resource, "", "");
    missing.alternative = Permission::not_held(text);
    Some((user.to_owned(), missing))
}

/// Reads a rule as messages show it, which is the reverse of its `Display`.
fn rule(line: &str) -> Option<PolicyRule> {
    let mut rest = line.strip_prefix('{')?;
    let mut rule = PolicyRule::default();
    loop {
        let (key, after) = rest.split_once(":[")?;
        let (values, after) = strings(after)?;
        let list = match key {
            "APIGroups" => &mut rule.api_groups,
            "Resources" => &mut rule.resources,
            "NonResourceURLs" => &mut rule.non_resource_urls,
            "ResourceNames" => &mut rule.resource_names,
            "Verbs" => &mut rule.verbs,
            _ => return None,
        };
        *list = values;
        match after.strip_prefix(", ") {
            Some(after) => rest = after,
            // Whatever follows the rule in the line is not about it.
            None => return after.starts_with('}').then_some(rule),
        }
    }
}

/// Reads quoted strings up to the bracket that ends them, and returns the rest.
fn strings(text: &str) -> Option<(Vec<String>, &str)> {
    let (mut strings, mut rest) = (Vec::new(), text);
    loop {
        if let Some(rest) = rest.strip_prefix(']') {
            return Some((strings, rest));
        }
        let (string, after) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        strings.push(string.to_owned());
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_every_form_are_understood() {
        for (text, expected) in [
            (
                r#"pods "p" is forbidden: User "u" cannot create resource "pods/exec" in API group "" in the namespace "d""#,
                Permission::of_resource("create", "", "pods", "exec", "d").named("p"),
            ),
            (
                r#"nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope: RBAC: role.rbac.authorization.k8s.io "x" not found"#,
                Permission::of_resource("list", "", "nodes", "", ""),
            ),
            (
                r#"forbidden: User "u" cannot get path "/metrics""#,
                Permission::of_path("get", "/metrics"),
            ),
            (
                r#"Error { message: "webapps.example.com is forbidden: User \"u\" cannot watch resource \"webapps\" in API group \"example.com\" at the cluster scope" }"#,
                Permission::of_resource("watch", "example.com", "webapps", "", ""),
            ),
        ] {
            let found = Permission::of_denial(text);
            assert_eq!(found, Some(("u".to_owned(), expected)), "{text}");
        }
    }

    #[test]
    fn other_texts_name_no_permission() {
        for text in [
            "",
            "User \"u",
            "User \"u\" cannot",
            "User \"u\" cannot get resource \"pods\"",
            "User \"u\" cannot impersonate you",
        ] {
            assert_eq!(Permission::of_denial(text), None, "{text}");
        }
    }

    const ESCALATION: &str = r#"rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "system:serviceaccount:shop:web" (groups=["system:serviceaccounts" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:["apps"], Resources:["deployments" "deployments/scale"], ResourceNames:["web"], Verbs:["get" "list"]}
{NonResourceURLs:["/metrics"], Verbs:["get"]}; resolution errors: [clusterroles.rbac.authorization.k8s.io "x" not found]"#;

    #[test]
    fn a_refused_grant_lists_the_rules_that_do_as_well() {
        for text in [
            ESCALATION.to_owned(),
            format!("Error {{ message: {ESCALATION:?} }}"),
        ] {
            let (user, missing) = Permission::of_denial(&text).expect("a permission");
            assert_eq!(user, "system:serviceaccount:shop:web");
            assert_eq!(missing.to_string(), "bind *.rbac.authorization.k8s.io");
            let rules: Vec<String> = missing
                .alternative
                .iter()
                .map(ToString::to_string)
                .collect();
            let expected = [
                r#"{APIGroups:["apps"], Resources:["deployments" "deployments/scale"], ResourceNames:["web"], Verbs:["get" "list"]}"#,
                r#"{NonResourceURLs:["/metrics"], Verbs:["get"]}"#,
            ];
            assert_eq!(rules, expected);
        }
    }

    #[test]
    fn rules_that_cannot_be_read_or_are_too_many_are_left_out() {
        for rules in [
            "more than can be compared one by one".to_owned(),
            "{Verbs:[".to_owned(),
            "{Verbs:[\"get\"".to_owned(),
            "{Colours:[\"red\"]}".to_owned(),
            "{Verbs:[\"get\"]}\n".repeat(MAX_RULES + 1),
        ] {
            let text = format!(
                r#"clusterroles.rbac.authorization.k8s.io "c" is forbidden: user "u" (groups=[]){ESCALATES}{rules}"#
            );
            let (_, missing) = Permission::of_denial(&text).expect("a permission");
            assert_eq!(
                (missing.verb.as_str(), missing.alternative),
                ("escalate", Vec::new())
            );
        }
    }
}
