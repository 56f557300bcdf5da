//! Compares the rules of an operator with the permissions that it used.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_cluster::{Access, Permission};
use kubewright_operator::{Model, PolicyRule as DeclaredRule};
use kubewright_rbac::{PolicyRule, Uncovered, policy, uncovered};
use serde::Serialize;

/// The roles of all authenticated users.
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
    /// The objects that a rule is missing for, if there is one for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_names: Vec<String>,
    verbs: Vec<String>,
    /// Where the rule comes from, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
}

impl Finding {
    pub(super) fn permissions(&self) -> impl Iterator<Item = Permission> {
        let any = match self.resource_names.is_empty() {
            true => Some(""),
            false => None,
        };
        let names = self.resource_names.iter().map(String::as_str).chain(any);
        names.flat_map(move |name| {
            self.verbs
                .iter()
                .map(move |verb| match self.resource.starts_with('/') {
                    true => Permission::of_path(verb, &self.resource),
                    false => Permission::of_resource(verb, &self.group, &self.resource, "", "")
                        .named(name),
                })
        })
    }

    pub(super) fn cells(&self) -> Vec<String> {
        let state = match self.is_missing {
            true => "missing",
            false => "never used",
        };
        let mut resource = match self.group.as_str() {
            "" => self.resource.clone(),
            group => format!("{}.{group}", self.resource),
        };
        for (at, name) in self.resource_names.iter().enumerate() {
            resource += &format!("{} {name:?}", if at == 0 { "" } else { "," });
        }
        let from = self.from.unwrap_or_default().to_owned();
        vec![state.to_owned(), resource, self.verbs.join(", "), from]
    }
}

/// The rules that an operator declares, those that everybody has, and which of them grant what.
struct Granted<'a> {
    own: Vec<(PolicyRule, Option<&'a str>)>,
    everybody: Vec<PolicyRule>,
}

/// A missing permission: a group, a resource or path, and the name of an object if there is a rule for others.
type About = (String, String, String);

/// Returns the permissions that were needed and are not granted, then those that are granted and were not needed.
pub(super) fn compare(model: &Model, used: &[Access]) -> Vec<Finding> {
    let granted = Granted::by(model);
    let mut missing = BTreeMap::<About, BTreeSet<String>>::new();
    for access in used {
        for (about, verb) in granted.missing(access) {
            missing.entry(about).or_default().insert(verb);
        }
    }
    // Objects that lack the same verbs are one finding.
    let mut named = BTreeMap::<_, Vec<String>>::new();
    for ((group, resource, name), verbs) in missing {
        let about = (group, resource, name.is_empty(), verbs);
        let names = named.entry(about).or_default();
        names.extend((!name.is_empty()).then_some(name));
    }
    let finding =
        |((group, resource, _, verbs), resource_names): ((_, _, _, BTreeSet<_>), _)| Finding {
            is_missing: true,
            group,
            resource,
            resource_names,
            verbs: verbs.into_iter().collect(),
            from: None,
        };
    let mut findings: Vec<Finding> = named.into_iter().map(finding).collect();
    let needed: Vec<Permission> = used
        .iter()
        .map(|access| access.permission.clone())
        .collect();
    findings.extend(never_used(model, &needed));
    findings
}

impl<'a> Granted<'a> {
    fn by(model: &'a Model) -> Self {
        let rules = model.rules.iter();
        Self {
            own: rules
                .map(|rule| (plain(rule), rule.namespace.as_deref()))
                .collect(),
            everybody: of_everybody(),
        }
    }

    /// Returns what no rule grants of a permission that was used, or was denied.
    fn missing(&self, access: &Access) -> Vec<(About, String)> {
        let needed = &access.permission;
        let in_namespace = |namespace: &Option<&str>| {
            namespace.is_none_or(|namespace| namespace == needed.namespace)
        };
        let own: Vec<&PolicyRule> = self
            .own
            .iter()
            .filter(|(_, namespace)| in_namespace(namespace))
            .map(|(rule, _)| rule)
            .collect();
        // Used permissions have no names: any object of a rule may be the one. Denied ones say what they are about.
        let grants = |rule: &PolicyRule| {
            let is_for_it = access.allowed
                || rule.resource_names.is_empty()
                || rule.resource_names.contains(&needed.name);
            is_for_it && needed.is_granted_by(rule)
        };
        let is_granted = own.iter().any(|rule| grants(rule))
            || is_for_election(needed)
            || self.everybody.iter().any(grants);
        if is_granted {
            return Vec::new();
        }
        if !needed.alternative.is_empty() {
            let own: Vec<PolicyRule> = own.into_iter().cloned().collect();
            return match uncovered(&own, &needed.alternative) {
                Uncovered::Rules(rules) => rules.iter().flat_map(granting).collect(),
                Uncovered::TooMany => needed.alternative.iter().flat_map(granting).collect(),
            };
        }
        // Only a rule for other objects tells that the operator means single ones.
        let of_others = || {
            own.iter()
                .any(|rule| needed.clone().named("").is_granted_by(rule))
        };
        let about = match needed.path.is_empty() {
            false => (String::new(), needed.path.clone(), String::new()),
            true => (
                needed.group.clone(),
                needed.resource.clone(),
                match !needed.is_of_objects() || of_others() {
                    true => needed.name.clone(),
                    false => String::new(),
                },
            ),
        };
        vec![(about, needed.verb.clone())]
    }
}

/// Returns the parts of a rule that an operator lacks to grant it.
fn granting(rule: &PolicyRule) -> Vec<(About, String)> {
    let mut parts = Vec::new();
    for verb in &rule.verbs {
        for url in &rule.non_resource_urls {
            parts.push(((String::new(), url.clone(), String::new()), verb.clone()));
        }
        for group in &rule.api_groups {
            for resource in &rule.resources {
                let about = |name: &str| (group.clone(), resource.clone(), name.to_owned());
                let names = rule.resource_names.iter();
                parts.extend(names.map(|name| (about(name), verb.clone())));
                if rule.resource_names.is_empty() {
                    parts.push((about(""), verb.clone()));
                }
            }
        }
    }
    parts
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
        resource_names: Vec::new(),
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
mod tests;
