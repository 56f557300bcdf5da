//! Compares the rules of an operator with the permissions that it used.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_cluster::Permission;
use kubewright_operator::{Model, PolicyRule as DeclaredRule};
use kubewright_rbac::{PolicyRule, policy};
use serde::Serialize;

/// The roles that everybody has who is authenticated.
const OF_EVERYBODY: [&str; 3] = [
    "system:basic-user",
    "system:discovery",
    "system:public-info-viewer",
];

/// A difference between the rules and the use of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    #[serde(skip)]
    pub(super) is_missing: bool,
    /// The group; the core group is empty.
    group: String,
    /// The resource with its subresource, or a path.
    resource: String,
    verbs: Vec<String>,
    /// Where the rule comes from, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
}

impl Finding {
    pub(super) fn permissions(&self) -> impl Iterator<Item = Permission> {
        self.verbs
            .iter()
            .map(|verb| match self.resource.starts_with('/') {
                true => Permission::of_path(verb, &self.resource),
                false => Permission::of_resource(verb, &self.group, &self.resource, "", ""),
            })
    }

    pub(super) fn cells(&self) -> Vec<String> {
        let state = match self.is_missing {
            true => "missing",
            false => "never used",
        };
        let resource = match self.group.as_str() {
            "" => self.resource.clone(),
            group => format!("{}.{group}", self.resource),
        };
        let from = self.from.unwrap_or_default().to_owned();
        vec![state.to_owned(), resource, self.verbs.join(", "), from]
    }
}

/// Returns the permissions that were needed and are not granted, then those that are granted and were not needed.
pub(super) fn compare(model: &Model, used: &[Permission]) -> Vec<Finding> {
    let granted: Vec<(PolicyRule, Option<&str>)> = model
        .rules
        .iter()
        .map(|rule| (plain(rule), rule.namespace.as_deref()))
        .collect();
    let everybody = of_everybody();
    let is_granted = |needed: &Permission| {
        let own = granted.iter().any(|(rule, namespace)| {
            let there = namespace.is_none_or(|namespace| namespace == needed.namespace);
            there && needed.is_granted_by(rule)
        });
        own || is_for_election(needed) || everybody.iter().any(|rule| needed.is_granted_by(rule))
    };
    let mut missing = BTreeMap::<(String, String), BTreeSet<String>>::new();
    for needed in used.iter().filter(|needed| !is_granted(needed)) {
        let about = match needed.path.is_empty() {
            true => (needed.group.clone(), needed.resource.clone()),
            false => (String::new(), needed.path.clone()),
        };
        missing
            .entry(about)
            .or_default()
            .insert(needed.verb.clone());
    }
    let mut findings: Vec<Finding> = missing
        .into_iter()
        .map(|((group, resource), verbs)| Finding {
            is_missing: true,
            group,
            resource,
            verbs: verbs.into_iter().collect(),
            from: None,
        })
        .collect();
    findings.extend(never_used(model, used));
    findings
}

fn never_used(model: &Model, used: &[Permission]) -> Vec<Finding> {
    let derived = model.derived_rules();
    let mut idle = BTreeMap::<(String, String, &str), BTreeSet<String>>::new();
    for rule in &model.rules {
        let from = match derived.contains(rule) {
            true => "the kinds of its controllers",
            false => "a rule of its own",
        };
        for (group, resource, verb) in pieces(rule) {
            if !is_used(&group, &resource, &verb, used) {
                let verbs = idle.entry((group, resource, from)).or_default();
                verbs.insert(verb);
            }
        }
    }
    let finding = |((group, resource, from), verbs): ((String, String, _), BTreeSet<_>)| Finding {
        is_missing: false,
        group,
        resource,
        verbs: verbs.into_iter().collect(),
        from: Some(from),
    };
    idle.into_iter().map(finding).collect()
}

/// Returns each group, resource and verb of a rule, or each path and verb.
fn pieces(rule: &DeclaredRule) -> Vec<(String, String, String)> {
    let mut pieces = Vec::new();
    for verb in &rule.verbs {
        for group in &rule.api_groups {
            let of = |resource: &String| (group.clone(), resource.clone(), verb.clone());
            pieces.extend(rule.resources.iter().map(of));
        }
        let of = |url: &String| (String::new(), url.clone(), verb.clone());
        pieces.extend(rule.urls.iter().map(of));
    }
    pieces
}

fn is_used(group: &str, resource: &str, verb: &str, used: &[Permission]) -> bool {
    // Owner references that block a deletion need it, where that is enforced.
    if resource.ends_with("/finalizers") && verb == "update" {
        return true;
    }
    let piece = PolicyRule {
        verbs: vec![verb.to_owned()],
        ..match resource.starts_with('/') {
            true => PolicyRule {
                non_resource_urls: vec![resource.to_owned()],
                ..PolicyRule::default()
            },
            false => PolicyRule {
                api_groups: vec![group.to_owned()],
                resources: vec![resource.to_owned()],
                ..PolicyRule::default()
            },
        }
    };
    // Servers that do not stream lists are asked for a list before a watch.
    let listed = |needed: &Permission| {
        let mut needed = needed.clone();
        let watches = needed.verb == "watch";
        "list".clone_into(&mut needed.verb);
        watches && needed.is_granted_by(&piece)
    };
    let uses = |needed: &Permission| needed.is_granted_by(&piece) || listed(needed);
    used.iter().any(uses)
}

/// Returns whether a permission is that of a leader election, which has a role of its own.
fn is_for_election(needed: &Permission) -> bool {
    needed.group == "coordination.k8s.io" && needed.resource == "leases"
}

fn plain(rule: &DeclaredRule) -> PolicyRule {
    PolicyRule {
        api_groups: rule.api_groups.clone(),
        non_resource_urls: rule.urls.clone(),
        resource_names: rule.resource_names.clone(),
        resources: rule.resources.clone(),
        verbs: rule.verbs.clone(),
    }
}

fn of_everybody() -> Vec<PolicyRule> {
    let roles = policy().filter(|role| OF_EVERYBODY.contains(&role.name));
    let rules = roles.filter_map(|role| {
        let rules = role.to_value()["rules"].take();
        serde_json::from_value::<Vec<PolicyRule>>(rules).ok()
    });
    rules.flatten().collect()
}

#[cfg(test)]
mod tests {
    use kubewright_operator::{ControllerModel, KindModel};

    use super::*;

    /// An operator with a controller for captains that owns ConfigMaps, and rules for secrets and metrics.
    fn model() -> Model {
        let kind = |group: &str, kind: &str, plural: &str| KindModel {
            group: group.into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: plural.into(),
        };
        let mut model = Model::new("crew");
        model.controllers = vec![ControllerModel {
            name: "captain".into(),
            main: Some(kind("crew.example.com", "Captain", "captains")),
            owns: Vec::new(),
            watches: vec![kind("", "ConfigMap", "configmaps")],
        }];
        model.rules = model.derived_rules();
        let token = DeclaredRule::new("", &["secrets"], &["get", "delete"]).namespace("vault");
        model
            .rules
            .extend([token, DeclaredRule::urls(&["/metrics"], &["get"])]);
        model
    }

    fn needed(verb: &str, group: &str, resource: &str, namespace: &str) -> Permission {
        Permission::of_resource(verb, group, resource, "", namespace)
    }

    fn rows(used: &[Permission]) -> Vec<String> {
        let findings = compare(&model(), used);
        findings.iter().map(|it| it.cells().join(" | ")).collect()
    }

    #[test]
    fn what_was_needed_and_is_not_granted_is_missing() {
        let rows = rows(&[
            needed("list", "", "nodes", ""),
            needed("get", "", "secrets", "vault"),
            needed("get", "", "secrets", "default"),
            Permission::of_path("get", "/debug"),
        ]);
        let missing: Vec<_> = rows
            .iter()
            .filter(|row| row.starts_with("missing"))
            .collect();
        let expected = [
            "missing | /debug | get | ",
            "missing | nodes | list | ",
            "missing | secrets | get | ",
        ];
        assert_eq!(missing, expected);
    }

    #[test]
    fn what_everybody_may_do_and_what_elections_need_is_not_missing() {
        let rows = rows(&[
            Permission::of_path("get", "/apis/apps/v1"),
            needed(
                "create",
                "authorization.k8s.io",
                "selfsubjectaccessreviews",
                "",
            ),
            needed("update", "coordination.k8s.io", "leases", "crew-system"),
        ]);
        assert!(
            !rows.iter().any(|row| row.starts_with("missing")),
            "{rows:?}"
        );
    }

    #[test]
    fn what_is_granted_and_was_not_needed_is_told_with_its_origin() {
        let rows = rows(&[
            needed("watch", "crew.example.com", "captains", ""),
            needed("patch", "crew.example.com", "captains", "default"),
            needed("patch", "crew.example.com", "captains/status", "default"),
            needed("watch", "", "configmaps", ""),
            needed("get", "", "secrets", "vault"),
        ]);
        let expected = [
            "never used | /metrics | get | a rule of its own",
            "never used | configmaps | get | the kinds of its controllers",
            "never used | secrets | delete | a rule of its own",
            "never used | captains.crew.example.com | get, update | the kinds of its controllers",
            "never used | captains/status.crew.example.com | get, update | the kinds of its controllers",
            "never used | events.events.k8s.io | create, patch | the kinds of its controllers",
        ];
        assert_eq!(rows, expected);
    }
}
