//! The kinds that a policy is for.

use std::collections::BTreeSet;

use k8s_openapi::api::admissionregistration::v1::{
    NamedRuleWithOperations, ValidatingAdmissionPolicySpec,
};
use kubewright_client::{DiscoveryRestMapper, Result};
use kubewright_machinery::{
    gvk::{GroupVersion, GroupVersionKind, GroupVersionResource},
    rest_mapper::RestMapping,
};

/// The maximum number of kinds of a rule that are checked.
const MAX_KINDS: usize = 10;

/// Returns the kinds that the rules of a policy name, in the order of their groups, versions and names. Rules with wildcards
/// name none.
pub(super) async fn of(
    spec: &ValidatingAdmissionPolicySpec,
    mapper: &DiscoveryRestMapper,
) -> Result<Vec<GroupVersionKind>> {
    let constraints = spec.match_constraints.as_ref();
    let rules = constraints.and_then(|constraints| constraints.resource_rules.as_ref());
    let mut snapshot = mapper.snapshot().await?;
    let mut refreshed = false;
    let mut kinds = BTreeSet::new();
    for rule in rules.into_iter().flatten() {
        let mut count = 0;
        for resource in resources(rule) {
            let mut found = kinds_of(snapshot.mappings(), &resource);
            if found.is_empty() && !refreshed {
                // The resource may be newer than the mapper.
                mapper.reset().await;
                snapshot = mapper.snapshot().await?;
                refreshed = true;
                found = kinds_of(snapshot.mappings(), &resource);
            }
            for kind in found {
                kinds.insert(kind);
                count += 1;
                if count == MAX_KINDS {
                    return Ok(kinds.into_iter().collect());
                }
            }
        }
    }
    Ok(kinds.into_iter().collect())
}

/// Returns the kind of the parameters of a policy.
pub(super) fn of_params(spec: &ValidatingAdmissionPolicySpec) -> Option<GroupVersionKind> {
    let kind = spec.param_kind.as_ref()?;
    let version = GroupVersion::parse(kind.api_version.as_deref().unwrap_or_default())?;
    Some(version.with_kind(kind.kind.as_deref().unwrap_or_default()))
}

/// Returns the resources that a rule names, in order. Subresources are left out.
fn resources(rule: &NamedRuleWithOperations) -> Vec<GroupVersionResource> {
    let sorted = |list: &Option<Vec<String>>| {
        let mut list = list.clone().unwrap_or_default();
        list.sort();
        list
    };
    let (groups, versions) = (sorted(&rule.api_groups), sorted(&rule.api_versions));
    let wild = |list: &[String]| list.iter().any(|name| name.contains('*'));
    if wild(&groups) || wild(&versions) {
        return Vec::new();
    }
    let mut names = sorted(&rule.resources);
    names.retain(|name| !name.contains(['*', '/']));
    let mut resources = Vec::new();
    for group in &groups {
        for version in &versions {
            let named = names.iter().map(|name| name.to_lowercase());
            resources.extend(named.map(|name| GroupVersionResource::new(group, version, name)));
        }
    }
    resources
}

/// Returns the kinds of a resource. Without a group it may be in any, as for the mapper of kube-controller-manager.
fn kinds_of(mappings: &[RestMapping], wanted: &GroupVersionResource) -> Vec<GroupVersionKind> {
    let is_wanted = |mapping: &&RestMapping| {
        let found = &mapping.resource;
        (wanted.group.is_empty() || found.group == wanted.group)
            && found.version == wanted.version
            && (found.resource == wanted.resource || mapping.singular == wanted.resource)
    };
    let found = mappings.iter().filter(is_wanted);
    found.map(|mapping| mapping.kind.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], versions: &[&str], resources: &[&str]) -> NamedRuleWithOperations {
        let list = |list: &[&str]| Some(list.iter().map(|name| (*name).to_owned()).collect());
        NamedRuleWithOperations {
            api_groups: list(groups),
            api_versions: list(versions),
            resources: list(resources),
            ..NamedRuleWithOperations::default()
        }
    }

    #[test]
    fn resources_are_sorted_and_wildcards_name_none() {
        let named = resources(&rule(&["b", "a"], &["v1"], &["pods/exec", "y", "X", "*"]));
        let named: Vec<String> = named.iter().map(ToString::to_string).collect();
        let wanted =
            ["a", "b"].map(|group| ["x", "y"].map(|name| format!("{group}/v1, Resource={name}")));
        assert_eq!(named, wanted.concat());
        assert!(resources(&rule(&["*"], &["v1"], &["pods"])).is_empty());
        assert!(resources(&rule(&[""], &["v1", "*"], &["pods"])).is_empty());
    }

    #[test]
    fn without_a_group_a_resource_is_that_of_every_group() {
        let mapping = |group: &str| RestMapping {
            kind: GroupVersionKind::new(group, "v1", "Event"),
            resource: GroupVersionResource::new(group, "v1", "events"),
            singular: "event".to_owned(),
            short_names: Vec::new(),
            namespaced: true,
        };
        let mappings = [mapping(""), mapping("events.k8s.io")];
        let kinds = |group: &str, name: &str| {
            kinds_of(&mappings, &GroupVersionResource::new(group, "v1", name)).len()
        };
        assert_eq!(kinds("", "events"), 2);
        assert_eq!(kinds("events.k8s.io", "event"), 1);
        assert_eq!(kinds("other", "events"), 0);
    }
}
