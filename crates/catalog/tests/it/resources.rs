//! The rows of discovery.

use std::collections::HashSet;

use kubewright_catalog::generated::{autoscaling_v1, core_v1, meta_v1, policy_v1};
use kubewright_catalog::types::Type;
use kubewright_catalog::{by_kind, groups, resource};

#[test]
fn groups_stand_in_the_order_of_discovery() {
    let names: Vec<&str> = groups().iter().map(|group| group.name).collect();
    assert_eq!(
        names,
        [
            "",
            "apiregistration.k8s.io",
            "apps",
            "events.k8s.io",
            "authentication.k8s.io",
            "authorization.k8s.io",
            "autoscaling",
            "batch",
            "certificates.k8s.io",
            "networking.k8s.io",
            "policy",
            "rbac.authorization.k8s.io",
            "storage.k8s.io",
            "admissionregistration.k8s.io",
            "apiextensions.k8s.io",
            "scheduling.k8s.io",
            "coordination.k8s.io",
            "node.k8s.io",
            "discovery.k8s.io",
            "resource.k8s.io",
            "flowcontrol.apiserver.k8s.io",
        ]
    );
    let autoscaling = groups()
        .iter()
        .find(|group| group.name == "autoscaling")
        .unwrap();
    let versions: Vec<&str> = autoscaling
        .versions
        .iter()
        .map(|version| version.version)
        .collect();
    assert_eq!(versions, ["v2", "v1"]);
}

#[test]
fn the_core_group_has_seventeen_resources_in_order() {
    let rows = groups()[0].versions[0].resources;
    assert_eq!(rows.len(), 17);
    assert!(rows.windows(2).all(|pair| pair[0].plural < pair[1].plural));
}

#[test]
fn every_resource_is_found_by_its_names() {
    let mut seen = HashSet::new();
    for group in groups() {
        for version in group.versions {
            for row in version.resources {
                assert!(
                    seen.insert((group.name, version.version, row.kind)),
                    "{} twice",
                    row.kind
                );
                let found = resource(group.name, version.version, row.plural).unwrap();
                assert!(std::ptr::eq(found, row));
                let found = by_kind(group.name, version.version, row.kind).unwrap();
                assert!(std::ptr::eq(found, row));
            }
        }
    }
    assert!(resource("", "v1", "nope").is_none());
    assert!(resource("apps", "v2", "deployments").is_none());
    assert!(by_kind("", "v1", "pods").is_none());
}

#[test]
fn every_object_starts_with_kind_version_and_metadata() {
    for row in groups()
        .iter()
        .flat_map(|group| group.versions)
        .flat_map(|version| version.resources)
    {
        let names: Vec<&str> = row
            .ty
            .fields
            .iter()
            .take(3)
            .map(|field| field.json)
            .collect();
        assert_eq!(names, ["kind", "apiVersion", "metadata"], "{}", row.plural);
        let Type::Struct(meta) = row.ty.fields[2].ty else {
            panic!("{}", row.plural)
        };
        assert!(std::ptr::eq(meta, &meta_v1::OBJECT_META), "{}", row.plural);
        assert_eq!(row.ty.name, row.kind);
        assert!(
            !row.verbs.is_empty() && !row.singular.is_empty(),
            "{}",
            row.plural
        );
        assert!(
            row.subresources.iter().all(|sub| sub.ty.is_some()),
            "{}",
            row.plural
        );
    }
}

#[test]
fn stored_resources_publish_a_storage_version_hash() {
    for row in groups()
        .iter()
        .flat_map(|group| group.versions)
        .flat_map(|version| version.resources)
    {
        let stored = row.verbs.contains(&"watch");
        assert_eq!(
            stored,
            !row.storage_version_hash.is_empty(),
            "{}",
            row.plural
        );
    }
}

#[test]
fn pods_are_as_discovery_prints_them() {
    let pods = resource("", "v1", "pods").unwrap();
    assert_eq!(
        (pods.singular, pods.kind, pods.namespaced),
        ("pod", "Pod", true)
    );
    assert_eq!(
        (pods.short_names, pods.categories),
        (&["po"][..], &["all"][..])
    );
    assert_eq!(
        pods.verbs,
        [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch"
        ]
    );
    assert_eq!(pods.storage_version_hash, "xPOwRZ+Yhw8=");
    assert!(std::ptr::eq(pods.ty, &core_v1::POD));
    let names: Vec<&str> = pods.subresources.iter().map(|sub| sub.name).collect();
    assert_eq!(
        names,
        [
            "attach",
            "binding",
            "ephemeralcontainers",
            "eviction",
            "exec",
            "log",
            "portforward",
            "proxy",
            "resize",
            "status"
        ]
    );
    let eviction = pods
        .subresources
        .iter()
        .find(|sub| sub.name == "eviction")
        .unwrap();
    assert_eq!(
        (eviction.kind_group, eviction.kind_version),
        (Some("policy"), Some("v1"))
    );
    assert!(std::ptr::eq(eviction.ty.unwrap(), &policy_v1::EVICTION));
}

#[test]
fn scale_speaks_autoscaling() {
    for (group, plural) in [("apps", "deployments"), ("", "replicationcontrollers")] {
        let row = resource(group, "v1", plural).unwrap();
        let scale = row
            .subresources
            .iter()
            .find(|sub| sub.name == "scale")
            .unwrap();
        assert_eq!(
            (scale.kind_group, scale.kind_version, scale.kind),
            (Some("autoscaling"), Some("v1"), "Scale")
        );
        assert!(std::ptr::eq(scale.ty.unwrap(), &autoscaling_v1::SCALE));
    }
}
