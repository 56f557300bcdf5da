//! Parsing of aggregated discovery, and preferred versions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup;
use kube::client::APIGroupDiscoveryList;
use serde_json::json;

use super::*;

fn found() -> Discovered {
    let list: APIGroupDiscoveryList = serde_json::from_value(json!({"items": [
        {"metadata": {"name": "shop"}, "versions": [
            {"version": "v3", "freshness": "Stale", "resources": []},
            {"version": "v2", "freshness": "Current", "resources": [
                {"resource": "carts", "scope": "Namespaced", "singularResource": "cart", "verbs": ["get"],
                 "shortNames": ["ct"], "categories": ["all"],
                 "responseKind": {"group": "shop", "version": "v2", "kind": "Cart"},
                 "subresources": [
                    {"subresource": "scale", "verbs": ["get"],
                     "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}},
                    {"subresource": "odd", "verbs": ["get"]},
                 ]},
                {"resource": "ghosts", "scope": "Cluster", "responseKind": {"group": "", "version": "", "kind": ""},
                 "subresources": [
                    {"subresource": "status", "responseKind": {"group": "shop", "version": "v2", "kind": "Ghost"}},
                 ]},
            ]},
            {"version": "v1", "resources": [
                {"resource": "carts", "responseKind": {"group": "shop", "version": "v1", "kind": "Cart"}},
                {"resource": "tills", "responseKind": {"group": "shop", "version": "v1", "kind": "Till"}},
            ]},
        ]},
    ]}))
    .unwrap();
    aggregated::split(&list)
}

fn names(list: &APIResourceList) -> Vec<&str> {
    list.resources
        .iter()
        .map(|resource| resource.name.as_str())
        .collect()
}

#[test]
fn a_stale_version_has_failed_and_cannot_be_preferred() {
    let found = found();
    let group: &APIGroup = &found.groups[0];
    assert_eq!(group.preferred_version.as_ref().unwrap().version, "v2");
    assert_eq!(group.versions.len(), 2);
    let stale = GroupVersion::new("shop", "v3");
    assert_eq!(
        found.failures[&stale].to_string(),
        "stale GroupVersion discovery: shop/v3"
    );
    let error = found.complete().unwrap_err().to_string();
    assert_eq!(
        error,
        "unable to retrieve the complete list of server APIs: shop/v3: stale GroupVersion discovery: shop/v3"
    );
}

#[test]
fn a_resource_without_a_kind_is_none_and_may_have_subresources() {
    let found = found();
    let list = found
        .resources_of(&GroupVersion::new("shop", "v2"))
        .unwrap();
    assert_eq!(names(list), ["carts", "carts/scale", "ghosts/status"]);
    let scale = &list.resources[1];
    assert_eq!(
        (
            scale.singular_name.as_str(),
            scale.namespaced,
            scale.group.as_deref()
        ),
        ("cart", true, Some("autoscaling"))
    );
    assert!(!list.resources[2].namespaced);
}

#[test]
fn every_resource_is_preferred_once() {
    let found = found();
    let preferred = found.preferred();
    assert_eq!(
        preferred.iter().map(names).collect::<Vec<_>>(),
        [vec!["carts"], vec!["tills"]]
    );
    let gettable = found.preferred_where(|resource| resource.verbs.contains(&"get".to_owned()));
    assert_eq!(gettable.len(), 1);
    assert_eq!(
        found.in_category("all").into_iter().collect::<Vec<_>>(),
        [GroupResource::new("shop", "carts")]
    );
}

#[test]
fn the_content_type_identifies_aggregated_discovery() {
    for (content_type, is) in [
        (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            true,
        ),
        (
            "application/json; as=APIGroupDiscoveryList; charset=utf-8; v=v2; g=apidiscovery.k8s.io",
            true,
        ),
        (
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
            false,
        ),
        ("application/json", false),
        (
            "text/html;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            false,
        ),
        ("", false),
    ] {
        assert_eq!(
            aggregated::is_aggregated(content_type),
            is,
            "{content_type}"
        );
    }
}
