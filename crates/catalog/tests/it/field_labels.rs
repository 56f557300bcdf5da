//! Tests of the fields that selectors may name.

use std::collections::HashSet;

use kubewright_catalog::types::{StructType, Type};
use kubewright_catalog::{field_labels, groups, resource};

/// Reports whether a dotted path leads to a field of the type.
fn leads_somewhere(ty: &'static StructType, path: &str) -> bool {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(a, b)| (a, Some(b)));
    match (ty.field(first).map(|field| field.ty), rest) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(Type::Struct(inner)), Some(rest)) => leads_somewhere(inner, rest),
        (Some(_), Some(_)) => false,
    }
}

#[test]
fn labels_are_unique_and_lead_to_fields() {
    let mut with_labels = HashSet::new();
    for group in groups() {
        for row in group.versions.iter().flat_map(|version| version.resources) {
            let mut seen = HashSet::new();
            for label in row.field_labels {
                with_labels.insert((group.name, row.plural));
                assert!(seen.insert(label.label), "{} {}", row.plural, label.label);
                for path in label.paths {
                    assert!(leads_somewhere(row.ty, path), "{} {path}", row.plural);
                }
            }
        }
    }
    assert_eq!(
        with_labels,
        HashSet::from([
            ("", "events"),
            ("", "namespaces"),
            ("", "nodes"),
            ("", "pods"),
            ("", "replicationcontrollers"),
            ("", "secrets"),
            ("", "services"),
            ("batch", "jobs"),
            ("certificates.k8s.io", "certificatesigningrequests"),
            ("events.k8s.io", "events"),
            ("resource.k8s.io", "resourceslices"),
        ])
    );
}

#[test]
fn unknown_labels_get_the_message_of_their_kind() {
    let refuse = |group: &str, plural: &str, label: &str| {
        let row = resource(group, "v1", plural).unwrap();
        field_labels::find(group, "v1", row, label).unwrap_err()
    };
    assert_eq!(
        refuse("", "pods", "spec.x"),
        "field label not supported: spec.x"
    );
    assert_eq!(
        refuse("batch", "jobs", "status.x"),
        "field label \"status.x\" not supported for Job"
    );
    assert_eq!(
        refuse("resource.k8s.io", "resourceslices", "metadata.namespace"),
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: metadata.namespace"
    );
    assert_eq!(
        refuse("apps", "replicasets", "status.replicas"),
        "\"status.replicas\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    );
    assert_eq!(
        refuse("", "nodes", "metadata.namespace"),
        "field label not supported: metadata.namespace"
    );
}

#[test]
fn the_namespace_is_a_label_where_the_kind_has_none_of_its_own() {
    for (group, plural) in [
        ("rbac.authorization.k8s.io", "clusterroles"),
        ("", "pods"),
        ("", "configmaps"),
    ] {
        let row = resource(group, "v1", plural).unwrap();
        assert!(
            field_labels::find(group, "v1", row, "metadata.namespace").is_ok(),
            "{plural}"
        );
    }
}

#[test]
fn the_source_of_an_event_falls_back_to_its_reporter() {
    let events = resource("", "v1", "events").unwrap();
    let source = field_labels::find("", "v1", events, "source").unwrap();
    assert_eq!(source.paths, ["source.component", "reportingComponent"]);
}
