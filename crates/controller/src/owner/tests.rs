//! Owner references, by controller-runtime's rules.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Namespace, Pod},
};

use super::*;

fn deployment(name: &str, namespace: &str) -> Deployment {
    let mut owner = Deployment::default();
    owner.metadata.name = Some(name.into());
    owner.metadata.namespace = Some(namespace.into());
    owner.metadata.uid = Some(format!("uid-{name}"));
    owner
}

fn pod(namespace: &str) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some("p".into());
    pod.metadata.namespace = Some(namespace.into());
    pod
}

#[test]
fn a_controller_blocks_the_deletion_of_its_owner() {
    let (owner, mut pod) = (deployment("a", "x"), pod("x"));
    set_controller_reference(&owner, &mut pod).unwrap();
    set_controller_reference(&owner, &mut pod).unwrap();
    let expected = OwnerReference {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        name: "a".into(),
        uid: "uid-a".into(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    assert_eq!(pod.owner_references(), [expected]);
    assert!(is_controlled_by(&pod, &owner) && has_controller_reference(&pod));
}

#[test]
fn an_object_has_one_controller_only() {
    let mut pod = pod("x");
    set_controller_reference(&deployment("a", "x"), &mut pod).unwrap();
    let refused = set_controller_reference(&deployment("b", "x"), &mut pod).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Object x/p is already owned by another Deployment controller a"
    );
    set_owner_reference(&deployment("b", "x"), &mut pod).unwrap();
    assert_eq!(pod.owner_references().len(), 2);
    assert!(has_owner_reference(&deployment("b", "x"), &pod));
}

#[test]
fn another_version_of_the_owner_takes_the_place_of_the_reference() {
    let mut pod = pod("x");
    let owner = deployment("a", "x");
    set_owner_reference(&owner, &mut pod).unwrap();
    pod.owner_references_mut()[0].api_version = "apps/v1beta1".into();
    pod.owner_references_mut()[0].uid = "old".into();
    set_owner_reference(&owner, &mut pod).unwrap();
    assert_eq!(pod.owner_references().len(), 1);
    assert_eq!(pod.owner_references()[0].api_version, "apps/v1");
    assert_eq!(pod.owner_references()[0].uid, "uid-a");
}

#[test]
fn owners_do_not_reach_across_namespaces() {
    let owner = deployment("a", "x");
    let refused = set_owner_reference(&owner, &mut pod("y")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cross-namespace owner references are disallowed, owner's namespace x, obj's namespace y"
    );
    let refused = set_owner_reference(&owner, &mut Namespace::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cluster-scoped resource must not have a namespace-scoped owner, owner's namespace x"
    );
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some("n".into());
    namespace.metadata.uid = Some("u".into());
    set_owner_reference(&namespace, &mut pod("y")).unwrap();
}

#[test]
fn an_owner_that_was_never_created_is_refused() {
    let mut owner = deployment("a", "x");
    owner.metadata.uid = None;
    let refused = set_owner_reference(&owner, &mut pod("x")).unwrap_err();
    assert_eq!(refused, OwnerError::NotPersisted("Deployment".into()));
}

#[test]
fn references_are_removed_by_name() {
    let (a, b, mut pod) = (deployment("a", "x"), deployment("b", "x"), pod("x"));
    let none = remove_owner_reference(&a, &mut pod).unwrap_err();
    assert_eq!(none.to_string(), "Pod does not have any owner references");
    set_controller_reference(&a, &mut pod).unwrap();
    let other = remove_owner_reference(&b, &mut pod).unwrap_err();
    assert_eq!(
        other.to_string(),
        "Pod does not have an owner reference for Deployment"
    );
    assert!(remove_controller_reference(&b, &mut pod).is_err());
    remove_controller_reference(&a, &mut pod).unwrap();
    assert!(pod.owner_references().is_empty());
}
