//! The choice between several candidates.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroup, APIResource, APIResourceList, GroupVersionForDiscovery,
};

use super::*;

/// A group with its versions, the first preferred; resources as `name Kind short`.
fn group(found: &mut Discovered, name: &str, preferred: &str, versions: &[(&str, &[&str])]) {
    let named = |version: &str| GroupVersionForDiscovery {
        group_version: GroupVersion::new(name, version).to_string(),
        version: version.to_owned(),
    };
    found.groups.push(APIGroup {
        name: name.to_owned(),
        preferred_version: Some(named(preferred)),
        versions: versions.iter().map(|(version, _)| named(version)).collect(),
        ..APIGroup::default()
    });
    for (version, resources) in versions {
        let resources = resources.iter().map(|text| {
            let mut words = text.split(' ').map(str::to_owned);
            APIResource {
                name: words.next().unwrap(),
                kind: words.next().unwrap(),
                short_names: Some(words.collect()),
                namespaced: true,
                categories: Some(vec!["all".to_owned()]),
                ..APIResource::default()
            }
        });
        found.resources.push(APIResourceList {
            group_version: GroupVersion::new(name, *version).to_string(),
            resources: resources.collect(),
        });
    }
}

fn snapshot() -> RestMapperSnapshot {
    let mut found = Discovered::default();
    group(
        &mut found,
        "metrics.k8s.io",
        "v1beta1",
        &[("v1beta1", &["pods PodMetrics", "nodes NodeMetrics"])],
    );
    group(
        &mut found,
        "",
        "v1",
        &[(
            "v1",
            &[
                "pods Pod po",
                "pods/status Pod",
                "services Service svc",
                "events Event ev",
            ],
        )],
    );
    group(
        &mut found,
        "autoscaling",
        "v2",
        &[
            ("v1", &["scalers Scaler sc", "olds Old"]),
            ("v2", &["scalers Scaler sc"]),
        ],
    );
    group(
        &mut found,
        "serving.dev",
        "v1",
        &[("v1", &["services Service ksvc po", "svcs Svc"])],
    );
    RestMapperSnapshot::new(&found)
}

fn resource(group: &str, version: &str, name: &str) -> String {
    let partial = GroupVersionResource::new(group, version, name);
    match snapshot().resource_for(&partial) {
        Ok(found) => found.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_core_group_comes_first_and_then_the_preferred_version() {
    assert_eq!(resource("", "", "pods"), "/v1, Resource=pods");
    assert_eq!(
        resource("", "", "scalers"),
        "autoscaling/v2, Resource=scalers"
    );
    assert_eq!(
        resource("", "v1", "scalers"),
        "autoscaling/v1, Resource=scalers"
    );
    assert_eq!(resource("", "", "olds"), "autoscaling/v1, Resource=olds");
    assert_eq!(
        resource("metrics.k8s.io", "", "pods"),
        "metrics.k8s.io/v1beta1, Resource=pods"
    );
    let kind = |versions: &[&str]| {
        let scaler = GroupKind::new("autoscaling", "Scaler");
        snapshot()
            .mapping(&scaler, versions)
            .unwrap()
            .resource
            .version
    };
    assert_eq!(
        (kind(&[]), kind(&["v1"])),
        ("v2".to_owned(), "v1".to_owned())
    );
}

#[test]
fn a_full_name_wins_over_a_short_one_and_the_first_short_one_over_others() {
    // `svc` is the short name of a core resource, and the name of another.
    assert_eq!(resource("", "", "svc"), "serving.dev/v1, Resource=svcs");
    assert_eq!(resource("", "", "po"), "/v1, Resource=pods");
    assert_eq!(
        resource("serving.dev", "", "po"),
        "serving.dev/v1, Resource=services"
    );
    assert_eq!(
        resource("autoscal", "", "sc"),
        "autoscaling/v2, Resource=scalers"
    );
}

#[test]
fn kinds_are_known_in_lower_case_and_as_lists() {
    let snapshot = snapshot();
    for kind in ["Pod", "pod", "PodList"] {
        let mapping = snapshot.mapping(&GroupKind::new("", kind), &[]).unwrap();
        assert_eq!(mapping.resource.to_string(), "/v1, Resource=pods", "{kind}");
    }
    let list = snapshot.mapping(&GroupKind::new("", "List"), &[]).unwrap();
    assert!(!list.namespaced);
    let singular = GroupVersionResource::new("", "", "scaler");
    assert_eq!(snapshot.kind_for(&singular).unwrap().kind, "Scaler");
    assert!(
        snapshot
            .mapping(&GroupKind::new("", "Nothing"), &[])
            .is_err()
    );
}

#[test]
fn subresources_are_not_resources() {
    assert!(
        snapshot()
            .mappings()
            .iter()
            .all(|m| !m.resource.resource.contains('/'))
    );
}

#[test]
fn equal_preferences_are_ambiguous() {
    let mut found = Discovered::default();
    group(
        &mut found,
        "a",
        "v1",
        &[("v1", &["things Thing t", "thing Other"])],
    );
    let snapshot = RestMapperSnapshot::new(&found);
    let partial = GroupVersionResource::new("", "", "thing");
    assert_eq!(
        snapshot.resource_for(&partial).unwrap_err().to_string(),
        "/, Resource=thing matches multiple resources [a/v1, Resource=things a/v1, Resource=thing]"
    );
}

#[test]
fn a_category_is_all_that_belong_to_it() {
    let snapshot = snapshot();
    let all: Vec<String> = snapshot
        .category("all")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(all.contains(&"scalers.autoscaling".to_owned()) && all.contains(&"pods".to_owned()));
    assert!(snapshot.category("none").is_empty());
}
