//! [`Denial`]: a denied request, with the rule that would have allowed it.

use kubewright_rbac::{Advice, Permission, PolicyRule};
use serde::{Deserialize, Serialize};

use crate::request::{Entry, Request};

/// A denied request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Denial {
    /// The request.
    #[serde(flatten)]
    pub request: Request,
    /// The reason in the `Status`.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// The webhook that denied the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// The rule that would have allowed the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<GrantingRule>,
}

/// The rules that would have allowed a request. There are several if the request grants what its user lacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantingRule {
    /// The rules.
    pub rules: Vec<PolicyRule>,
    /// The rules as YAML for a role.
    pub yaml: String,
    /// The statements that declare them in an operator, in lines.
    pub declaration: String,
}

impl Denial {
    pub(crate) fn of(number: u64, entry: &Entry) -> Self {
        let refusal = entry.refusal.as_deref().cloned().unwrap_or_default();
        let message = refusal.message.into_string();
        Self {
            request: entry.to_request(number),
            reason: refusal.reason.into_string(),
            webhook: webhook(&message),
            rule: (entry.code == 403).then(|| rule(&message)).flatten(),
            message,
        }
    }
}

/// Returns the webhook that a message names as the one that denied the request.
fn webhook(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("admission webhook \"")?;
    let (name, rest) = rest.split_once('"')?;
    rest.starts_with(" denied").then(|| name.to_owned())
}

fn rule(message: &str) -> Option<GrantingRule> {
    let (user, permission) = Permission::of_denial(message)?;
    let rules = Advice::new(user, [permission]).rules();
    let declarations: Vec<String> = rules.iter().map(PolicyRule::to_declaration).collect();
    let lines = rules.iter().flat_map(PolicyRule::to_yaml_lines);
    Some(GrantingRule {
        yaml: lines.map(|line| line + "\n").collect(),
        declaration: declarations.join("\n"),
        rules,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_denying_webhook_is_named() {
        let refused = "admission webhook \"v.example.com\" denied the request: no";
        assert_eq!(webhook(refused).as_deref(), Some("v.example.com"));
        assert_eq!(webhook("an admission webhook \"x\" failed"), None);
        assert_eq!(webhook("forbidden"), None);
    }

    #[test]
    fn a_forbidden_request_has_the_rule_that_allows_it() {
        let message = r#"secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" in the namespace "shop""#;
        let rule = rule(message).expect("a rule");
        assert_eq!(rule.rules[0].resources, ["secrets"]);
        assert!(
            rule.yaml
                .contains("verbs: [\"get\", \"list\", \"watch\"]\n"),
            "{}",
            rule.yaml
        );
        assert!(super::rule("the object is invalid").is_none());
    }

    #[test]
    fn a_refused_grant_has_all_rules_that_allow_it() {
        let message = r#"roles.rbac.authorization.k8s.io "r" is forbidden: user "bob" (groups=["dev"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], Verbs:["get"]}
{APIGroups:["apps"], Resources:["deployments"], Verbs:["list"]}"#;
        let rule = rule(message).expect("rules");
        assert_eq!(rule.rules.len(), 2);
        assert_eq!(rule.declaration.lines().count(), 2, "{}", rule.declaration);
        assert!(
            rule.yaml.contains("resources: [\"deployments\"]\n"),
            "{}",
            rule.yaml
        );
    }
}
