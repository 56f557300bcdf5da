//! Rules compared with rules: what some grant beyond others.

use std::collections::HashMap;

use crate::{PolicyRule, held::Held, rule::url_covers};

/// The maximum number of single permissions that are compared one by one. A rule of a few kilobytes can stand for billions.
const MAX_PIECES: usize = 100_000;

/// The part of some rules that others do not grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncovered {
    /// Rules with one permission each. Empty if everything is granted.
    Rules(Vec<PolicyRule>),
    /// There are too many permissions to compare them.
    TooMany,
}

/// Returns the part of the required rules that the held ones do not grant.
///
/// A single permission (one group, resource, verb and name, or one path and verb) is granted if one of the held rules grants
/// it.
///
/// ```
/// use kubewright_rbac::{PolicyRule, Uncovered, uncovered};
///
/// let pods = |verbs: &[&str]| PolicyRule {
///     verbs: verbs.iter().map(|&verb| verb.into()).collect(),
///     api_groups: vec!["".into()],
///     resources: vec!["pods".into()],
///     ..PolicyRule::default()
/// };
/// let missing = uncovered(&[pods(&["get", "list"])], &[pods(&["get", "delete"])]);
/// assert_eq!(missing, Uncovered::Rules(vec![pods(&["delete"])]));
/// ```
pub fn uncovered(held: &[PolicyRule], wanted: &[PolicyRule]) -> Uncovered {
    let held = Held::new(held);
    let mut missing = Vec::new();
    let mut pieces = 0;
    for rule in wanted {
        let mut candidates = match (&*rule.resources, &*rule.non_resource_urls) {
            ([resource, ..], _) => held.about(resource),
            ([], _) => held.about_paths(),
        };
        if candidates.any(|held| covers_all(held, rule)) {
            continue;
        }
        pieces += count(rule);
        if pieces > MAX_PIECES {
            return Uncovered::TooMany;
        }
        for piece in break_down(rule) {
            let mut candidates = match piece {
                Piece::Resource { resource, .. } => held.about(resource),
                Piece::Path { .. } => held.about_paths(),
            };
            if !candidates.any(|held| covers(held, &piece)) {
                missing.push(piece.to_rule());
            }
        }
    }
    Uncovered::Rules(missing)
}

/// Joins rules that differ only in their verbs and are about one resource or one object of it.
///
/// ```
/// use kubewright_rbac::{PolicyRule, compact};
///
/// let pods = |verb: &str| PolicyRule {
///     verbs: vec![verb.into()],
///     api_groups: vec!["".into()],
///     resources: vec!["pods".into()],
///     ..PolicyRule::default()
/// };
/// let rules = compact(vec![pods("get"), pods("list")]);
/// assert_eq!(rules[0].verbs, ["get", "list"]);
/// assert_eq!(rules.len(), 1);
/// ```
pub fn compact(rules: Vec<PolicyRule>) -> Vec<PolicyRule> {
    let mut out: Vec<PolicyRule> = Vec::with_capacity(rules.len());
    let mut simple: HashMap<(String, String, Option<String>), usize> = HashMap::new();
    for rule in rules {
        let Some(key) = simple_key(&rule) else {
            out.push(rule);
            continue;
        };
        match simple.get(&key).and_then(|&at| out.get_mut(at)) {
            Some(known) => known.verbs.extend(rule.verbs),
            None => {
                simple.insert(key, out.len());
                out.push(rule);
            }
        }
    }
    out
}

/// Returns the resource and name that a rule is about, if it is about one only.
fn simple_key(rule: &PolicyRule) -> Option<(String, String, Option<String>)> {
    let ([group], [resource]) = (&*rule.api_groups, &*rule.resources) else {
        return None;
    };
    let name = match &*rule.resource_names {
        [] => None,
        [name] => Some(name.clone()),
        _ => return None,
    };
    let simple = rule.non_resource_urls.is_empty();
    simple.then(|| (group.clone(), resource.clone(), name))
}

/// A single permission.
enum Piece<'a> {
    Resource {
        group: &'a str,
        resource: &'a str,
        name: Option<&'a str>,
        verb: &'a str,
    },
    Path {
        url: &'a str,
        verb: &'a str,
    },
}

impl Piece<'_> {
    fn to_rule(&self) -> PolicyRule {
        let one = |text: &str| vec![text.to_owned()];
        match *self {
            Piece::Resource {
                group,
                resource,
                name,
                verb,
            } => PolicyRule {
                api_groups: one(group),
                resources: one(resource),
                resource_names: name.into_iter().map(str::to_owned).collect(),
                verbs: one(verb),
                ..PolicyRule::default()
            },
            Piece::Path { url, verb } => PolicyRule {
                non_resource_urls: one(url),
                verbs: one(verb),
                ..PolicyRule::default()
            },
        }
    }
}

/// Returns the number of single permissions of a rule.
fn count(rule: &PolicyRule) -> usize {
    let objects = rule.resource_names.len().max(1);
    let resources = [rule.api_groups.len(), rule.resources.len(), objects];
    let resources = resources.into_iter().fold(1, usize::saturating_mul);
    resources
        .saturating_add(rule.non_resource_urls.len())
        .saturating_mul(rule.verbs.len())
}

fn break_down(rule: &PolicyRule) -> Vec<Piece<'_>> {
    let mut out = Vec::with_capacity(count(rule));
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let piece = |name| Piece::Resource {
                    group,
                    resource,
                    name,
                    verb,
                };
                match &*rule.resource_names {
                    [] => out.push(piece(None)),
                    names => out.extend(names.iter().map(|name| piece(Some(name.as_str())))),
                }
            }
        }
    }
    for url in &rule.non_resource_urls {
        for verb in &rule.verbs {
            out.push(Piece::Path { url, verb });
        }
    }
    out
}

fn covers(held: &PolicyRule, piece: &Piece<'_>) -> bool {
    match *piece {
        Piece::Resource {
            group,
            resource,
            name,
            verb,
        } => {
            has(&held.verbs, verb)
                && has(&held.api_groups, group)
                && covers_resource(held, resource)
                && covers_name(held, name)
        }
        Piece::Path { url, verb } => {
            let covering = |own: &String| url_covers(own, url);
            held.resource_names.is_empty()
                && has(&held.verbs, verb)
                && held.non_resource_urls.iter().any(covering)
        }
    }
}

/// Returns whether one rule grants all of another, as each of its single permissions shows.
fn covers_all(held: &PolicyRule, wanted: &PolicyRule) -> bool {
    let names = match &*wanted.resource_names {
        [] => held.resource_names.is_empty(),
        names => names.iter().all(|name| covers_name(held, Some(name))),
    };
    let is_about_paths = !wanted.non_resource_urls.is_empty();
    let urls = |url: &String| {
        let covering = |own: &String| url_covers(own, url);
        held.non_resource_urls.iter().any(covering)
    };
    wanted.verbs.iter().all(|verb| has(&held.verbs, verb))
        && wanted.api_groups.iter().all(|g| has(&held.api_groups, g))
        && wanted.resources.iter().all(|r| covers_resource(held, r))
        && names
        && (!is_about_paths || held.resource_names.is_empty())
        && wanted.non_resource_urls.iter().all(urls)
}

fn has(list: &[String], value: &str) -> bool {
    list.iter().any(|one| one == "*" || one == value)
}

fn covers_resource(held: &PolicyRule, resource: &str) -> bool {
    let subresource = resource.split_once('/').map(|(_, after)| after);
    let covers = |own: &String| {
        own == "*"
            || own == resource
            || own
                .strip_prefix("*/")
                .is_some_and(|own| Some(own) == subresource)
    };
    held.resources.iter().any(covers)
}

/// Returns whether a rule is about an object, or about all objects if no name is given.
fn covers_name(held: &PolicyRule, name: Option<&str>) -> bool {
    held.resource_names.is_empty()
        || name.is_some_and(|name| held.resource_names.iter().any(|own| own == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &str, resources: &str, names: &str, verbs: &str) -> PolicyRule {
        let list = |text: &str| match text {
            "-" => Vec::new(),
            text => text.split(',').map(str::to_owned).collect(),
        };
        PolicyRule {
            api_groups: list(groups),
            resources: list(resources),
            resource_names: list(names),
            verbs: list(verbs),
            non_resource_urls: Vec::new(),
        }
    }

    fn urls(urls: &str, verbs: &str) -> PolicyRule {
        PolicyRule {
            non_resource_urls: urls.split(',').map(str::to_owned).collect(),
            ..rule("-", "-", "-", verbs)
        }
    }

    fn missing(held: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<String> {
        match uncovered(held, wanted) {
            Uncovered::Rules(rules) => compact(rules).iter().map(ToString::to_string).collect(),
            Uncovered::TooMany => vec!["too many".to_owned()],
        }
    }

    #[test]
    fn permissions_of_several_rules_add_up() {
        let held = [
            rule("v1", "a", "-", "get,list"),
            rule("v1", "a,b", "-", "delete"),
        ];
        let wanted = [rule("v1", "a", "-", "get,delete")];
        assert!(missing(&held, &wanted).is_empty());
        let wanted = [rule("v1", "a,b", "-", "get,delete")];
        assert_eq!(
            missing(&held, &wanted),
            [r#"{APIGroups:["v1"], Resources:["b"], Verbs:["get"]}"#]
        );
    }

    #[test]
    fn a_wildcard_covers_every_rule() {
        let held = [rule("*", "*", "-", "*"), urls("*", "*")];
        let many: Vec<String> = (0..1000).map(|i| format!("x{i}")).collect();
        let mut wanted = rule("-", "-", "-", "*,get");
        wanted.api_groups.clone_from(&many);
        wanted.resources.clone_from(&many);
        wanted.resource_names = many;
        assert!(missing(&held, &[wanted.clone(), urls("/a,/b*", "get")]).is_empty());
        assert_eq!(missing(&[], &[wanted]), ["too many"]);
        assert_eq!(
            missing(&held[..1], &[urls("/a", "get")]),
            [r#"{NonResourceURLs:["/a"], Verbs:["get"]}"#]
        );
    }

    #[test]
    fn a_star_is_covered_by_a_star_only() {
        let held = [rule("", "pods,pods/log", "-", "get,list")];
        for wanted in [
            rule("*", "pods", "-", "get"),
            rule("", "*", "-", "get"),
            rule("", "pods", "-", "*"),
            rule("", "*/log", "-", "get"),
        ] {
            assert_eq!(
                missing(&held, std::slice::from_ref(&wanted)).len(),
                1,
                "{wanted}"
            );
        }
        let held = [rule("", "*/log", "-", "get")];
        assert!(missing(&held, &[rule("", "pods/log,*/log", "-", "get")]).is_empty());
        assert_eq!(missing(&held, &[rule("", "pods", "-", "get")]).len(), 1);
    }

    #[test]
    fn names_are_covered_by_the_same_names_or_by_none() {
        let wanted = [rule("", "pods", "a,b", "get")];
        assert!(missing(&[rule("", "pods", "-", "get")], &wanted).is_empty());
        assert!(missing(&[rule("", "pods", "a,b,c", "get")], &wanted).is_empty());
        assert_eq!(
            missing(&[rule("", "pods", "a", "get")], &wanted),
            [r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}"#]
        );
        let all = [rule("", "pods", "-", "get")];
        assert_eq!(
            missing(&wanted, &all).len(),
            1,
            "all objects are more than two"
        );
    }

    #[test]
    fn paths_are_covered_by_their_beginnings() {
        let held = [urls("/api/*,/version", "get")];
        assert!(missing(&held, &[urls("/api/v1,/api/*,/version", "get")]).is_empty());
        assert_eq!(missing(&held, &[urls("/api", "get")]).len(), 1);
        assert_eq!(missing(&held, &[urls("/ap*", "get")]).len(), 1);
    }

    #[test]
    fn only_rules_about_one_resource_are_joined() {
        let several = rule("", "a,b", "-", "get");
        let rules = vec![
            rule("", "a", "-", "get"),
            several.clone(),
            rule("", "a", "x", "get"),
            rule("", "a", "-", "list"),
            urls("/a", "get"),
            urls("/a", "list"),
            rule("", "a", "x", "list"),
        ];
        let expected = [
            rule("", "a", "-", "get,list"),
            several,
            rule("", "a", "x", "get,list"),
            urls("/a", "get"),
            urls("/a", "list"),
        ];
        assert_eq!(compact(rules), expected);
    }
}
