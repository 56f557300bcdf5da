//! Reads and checks policy files.

use std::fmt;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use kubewright_schema::{decode_untyped, yaml::parse_yaml};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::policy::{GroupResources, Level, Outcome, Policy, Rule, Stage, Stages};

const VERSION: &str = "audit.k8s.io/v1";
const KIND: &str = "Policy";

const LEVELS: [(&str, Level); 4] = [
    ("None", Level::None),
    ("Metadata", Level::Metadata),
    ("Request", Level::Request),
    ("RequestResponse", Level::RequestResponse),
];

const STAGES: [(&str, Stage); 4] = [
    ("RequestReceived", Stage::RequestReceived),
    ("ResponseStarted", Stage::ResponseStarted),
    ("ResponseComplete", Stage::ResponseComplete),
    ("Panic", Stage::Panic),
];

/// The reason why a policy file cannot be used.
///
/// ```
/// use kubewright_apiserver::audit::Policy;
///
/// let error = Policy::parse("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse""#
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PolicyError {}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PolicyFile {
    api_version: String,
    kind: String,
    metadata: Value,
    rules: Vec<RuleFile>,
    omit_stages: Vec<String>,
    omit_managed_fields: bool,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RuleFile {
    level: String,
    users: Vec<String>,
    user_groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<GroupResourcesFile>,
    namespaces: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    non_resource_urls: Vec<String>,
    omit_stages: Vec<String>,
    omit_managed_fields: Option<bool>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct GroupResourcesFile {
    group: String,
    resources: Vec<String>,
    resource_names: Vec<String>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

pub(super) fn parse(text: &[u8]) -> Result<Policy, PolicyError> {
    let failed = |e: &dyn fmt::Display| PolicyError(format!("failed decoding: {e}"));
    let yaml = parse_yaml(text).map_err(|e| failed(&e))?;
    if let Some(problem) = &yaml.problem {
        tracing::warn!(%problem, "the audit policy gives a field more than once");
    }
    let (mut value, _) = decode_untyped(yaml.node).map_err(|e| failed(&e))?;
    remove_nulls(&mut value);
    if !value.is_object() {
        return Err(failed(&"the document is not an object"));
    }
    let file: PolicyFile = serde_json::from_value(value).map_err(|e| failed(&e))?;
    if file.api_version != VERSION || file.kind != KIND {
        let (version, kind) = (&file.api_version, &file.kind);
        return Err(failed(&format!(
            "the file is of apiVersion {version:?} and kind {kind:?}, and must be of {VERSION:?} and {KIND:?}"
        )));
    }
    warn_about_unknown(&file);
    let errors = check(&file);
    if !errors.is_empty() {
        return Err(PolicyError(field::aggregate(&errors)));
    }
    if file.rules.is_empty() {
        return Err(PolicyError("loaded illegal policy with 0 rules".to_owned()));
    }
    Ok(policy(file))
}

/// Removes members without a value, which are as good as absent.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        _ => {}
    }
}

fn warn_about_unknown(file: &PolicyFile) {
    let warn = |path: &Path, unknown: &Map<String, Value>| {
        for key in unknown.keys() {
            let field = path.child(key);
            tracing::warn!(
                field = field.as_str(),
                "the audit policy has an unknown field, which is ignored"
            );
        }
    };
    warn(&Path::root(), &file.unknown);
    for (i, rule) in file.rules.iter().enumerate() {
        let path = Path::new("rules").index(i);
        warn(&path, &rule.unknown);
        for (i, resources) in rule.resources.iter().enumerate() {
            warn(&path.child("resources").index(i), &resources.unknown);
        }
    }
}

fn check(file: &PolicyFile) -> ErrorList {
    let mut errors = ErrorList::new();
    check_stages(&file.omit_stages, &Path::new("omitStages"), &mut errors);
    for (i, rule) in file.rules.iter().enumerate() {
        check_rule(rule, &Path::new("rules").index(i), &mut errors);
    }
    errors
}

fn check_rule(rule: &RuleFile, path: &Path, errors: &mut ErrorList) {
    let level = path.child("level");
    match rule.level.as_str() {
        "" => errors.push(field::required(&level, "")),
        given if LEVELS.iter().any(|(name, _)| *name == given) => {}
        given => errors.push(field::not_supported(
            &level,
            given,
            &LEVELS.map(|(name, _)| name),
        )),
    }
    let urls = path.child("nonResourceURLs");
    for (i, url) in rule.non_resource_urls.iter().enumerate() {
        check_url(url, &urls.index(i), errors);
    }
    check_resources(&rule.resources, &path.child("resources"), errors);
    check_stages(&rule.omit_stages, &path.child("omitStages"), errors);
    if !rule.non_resource_urls.is_empty()
        && (!rule.resources.is_empty() || !rule.namespaces.is_empty())
    {
        let text = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(field::invalid(&urls, &json!(rule.non_resource_urls), text));
    }
}

fn check_url(url: &str, path: &Path, errors: &mut ErrorList) {
    if url == "*" {
        return;
    }
    if !url.starts_with('/') {
        let text = "non-resource URL rules must begin with a '/' character";
        errors.push(field::invalid_str(path, url, text));
    }
    let last = url.char_indices().next_back().map_or(0, |(at, _)| at);
    if url.get(..last).is_some_and(|start| start.contains('*')) {
        let text = "non-resource URL wildcards '*' must be the final character of the rule";
        errors.push(field::invalid_str(path, url, text));
    }
}

/// Checks the resources of a rule. As kube-apiserver does, messages name the list and not its entry.
fn check_resources(resources: &[GroupResourcesFile], path: &Path, errors: &mut ErrorList) {
    for given in resources {
        if !matches!(given.group.as_str(), "" | "*") {
            let problems = names::is_dns1123_subdomain(&given.group);
            if !problems.is_empty() {
                let group = path.child("group");
                errors.push(field::invalid_str(&group, &given.group, problems.join(",")));
            }
        }
        if !given.resource_names.is_empty() && given.resources.is_empty() {
            let names = path.child("resourceNames");
            let text = "using resourceNames requires at least one resource";
            errors.push(field::invalid(&names, &json!(given.resource_names), text));
        }
    }
}

fn check_stages(stages: &[String], path: &Path, errors: &mut ErrorList) {
    for (i, stage) in stages.iter().enumerate() {
        if !STAGES.iter().any(|(name, _)| name == stage) {
            let names = STAGES.map(|(name, _)| name).join(",");
            let text = format!("allowed stages are {names}");
            errors.push(field::invalid_str(&path.index(i), stage, text));
        }
    }
}

fn policy(file: PolicyFile) -> Policy {
    let everywhere = stages(&file.omit_stages);
    let rules = file.rules.into_iter().map(|rule| Rule {
        outcome: Outcome {
            level: level(&rule.level),
            omitted: everywhere.union(stages(&rule.omit_stages)),
            omits_managed_fields: rule.omit_managed_fields.unwrap_or(file.omit_managed_fields),
        },
        users: rule.users,
        user_groups: rule.user_groups,
        verbs: rule.verbs,
        resources: rule.resources.into_iter().map(resources).collect(),
        namespaces: rule.namespaces,
        non_resource_urls: rule.non_resource_urls,
    });
    Policy {
        rules: rules.collect(),
    }
}

fn level(name: &str) -> Level {
    let found = LEVELS.iter().find(|(known, _)| *known == name);
    found.map_or(Level::None, |(_, level)| *level)
}

fn stages(names: &[String]) -> Stages {
    let chosen = STAGES
        .iter()
        .filter(|(name, _)| names.iter().any(|n| n == name));
    chosen.fold(Stages::default(), |set, (_, stage)| {
        set.union(Stages::of(*stage))
    })
}

fn resources(file: GroupResourcesFile) -> GroupResources {
    GroupResources {
        group: file.group,
        resources: file.resources,
        resource_names: file.resource_names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(rest: &str) -> String {
        let text = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\n{rest}\n");
        Policy::parse(text)
            .expect_err("an invalid policy")
            .to_string()
    }

    #[test]
    fn every_mistake_is_named() {
        for (policy, expected) in [
            ("rules: []", "loaded illegal policy with 0 rules"),
            ("rules: [{}]", "rules[0].level: Required value"),
            (
                "rules: [{level: Metadata, nonResourceURLs: [logs, '/a*b', '*']}]",
                "[rules[0].nonResourceURLs[0]: Invalid value: \"logs\": non-resource URL rules must begin with a '/' character, \
                 rules[0].nonResourceURLs[1]: Invalid value: \"/a*b\": non-resource URL wildcards '*' must be the final character of the rule]",
            ),
            (
                "rules: [{level: Metadata, nonResourceURLs: [/a], namespaces: [b]}]",
                "rules[0].nonResourceURLs: Invalid value: [\"/a\"]: rules cannot apply to both regular resources and non-resource URLs",
            ),
            (
                "rules: [{level: Metadata, resources: [{resourceNames: [a]}]}]",
                "rules[0].resources.resourceNames: Invalid value: [\"a\"]: using resourceNames requires at least one resource",
            ),
            (
                "omitStages: [Never]\nrules: [{level: Metadata}]",
                "omitStages[0]: Invalid value: \"Never\": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic",
            ),
        ] {
            assert_eq!(error(policy), expected, "{policy}");
        }
        let group = error("rules: [{level: Metadata, resources: [{group: apps/v1}]}]");
        assert!(
            group.starts_with("rules[0].resources.group: Invalid value: \"apps/v1\": "),
            "{group}"
        );
    }

    #[test]
    fn a_file_of_another_kind_or_shape_is_refused() {
        let refused = |text: &str| Policy::parse(text).expect_err("no policy").to_string();
        let old = refused("apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]");
        assert!(old.contains("\"audit.k8s.io/v1beta1\""), "{old}");
        for text in ["", "[]", "rules: {", "\u{0}"] {
            assert!(refused(text).starts_with("failed decoding: "), "{text}");
        }
        let text = error("rules: [{level: 5}]");
        assert!(text.starts_with("failed decoding: "), "{text}");
    }

    #[test]
    fn unknown_fields_and_empty_ones_are_ignored() {
        let text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nodd: 1\nrules: [{level: Request, verbs: null, more: {}}]";
        let expected = Policy::everything(Level::Request);
        assert_eq!(Policy::parse(text).expect("a policy"), expected);
    }

    #[test]
    fn a_rule_adds_to_the_omitted_stages_and_overrides_managed_fields() {
        let text = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules: [{level: Request, omitStages: [Panic], omitManagedFields: false}, {level: Metadata}]";
        let policy = Policy::parse(text).expect("a policy");
        let [first, second] = &policy.rules[..] else {
            panic!("two rules")
        };
        assert!(first.outcome.omitted.contains(Stage::RequestReceived));
        assert!(first.outcome.omitted.contains(Stage::Panic));
        assert!(!first.outcome.omitted.contains(Stage::ResponseComplete));
        assert!(!second.outcome.omitted.contains(Stage::Panic));
        assert_eq!(
            (
                first.outcome.omits_managed_fields,
                second.outcome.omits_managed_fields
            ),
            (false, true)
        );
    }
}
