//! The Ingress follows the Service.

use ingress_manager::ingress::ANNOTATION;
use k8s_openapi::api::networking::v1::Ingress;
use kubewright_controller::wait::wait_for;
use serde_json::json;

use crate::target::{LONG, Target, service};

#[tokio::test]
async fn an_annotated_service_gets_an_ingress() {
    let (target, running) = Target::with_controller().await;
    let service = target.create("web", true, 80).await;
    let ingress = target.leads_to("web", 80).await;

    let spec = serde_json::to_value(&ingress.spec).unwrap();
    let expected = json!({
        "ingressClassName": "nginx",
        "rules": [{
            "host": "example.com",
            "http": {"paths": [{
                "path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "web", "port": {"number": 80}}},
            }]},
        }],
    });
    assert_eq!(spec, expected);
    let owners = serde_json::to_value(&ingress.metadata.owner_references).unwrap();
    let expected = json!([{
        "apiVersion": "v1", "kind": "Service", "name": "web", "uid": service.metadata.uid,
        "controller": true, "blockOwnerDeletion": true,
    }]);
    assert_eq!(owners, expected);
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn a_service_without_the_annotation_gets_none() {
    let (target, running) = Target::with_controller().await;
    target.create("db", false, 5432).await;
    target.caught_up().await;
    assert!(target.ingresses.get_opt("db").await.unwrap().is_none());
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn the_annotation_can_come_and_go() {
    let (target, running) = Target::with_controller().await;
    target.create("web", false, 80).await;
    for value in ["true", ""] {
        target.annotate("web", Some(value)).await;
        target.leads_to("web", 80).await;
        target.annotate("web", None).await;
        target.gone("web").await;
    }
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn a_changed_port_is_followed() {
    let (target, running) = Target::with_controller().await;
    target.create("web", true, 80).await;
    let before = target.leads_to("web", 80).await;
    let patch = json!({"spec": {"ports": [{"port": 8080}]}});
    target.patch_service("web", patch).await;
    let after = target.leads_to("web", 8080).await;
    assert_eq!(after.metadata.uid, before.metadata.uid);
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn a_service_that_goes_takes_its_ingress_along() {
    let (target, running) = Target::with_controller().await;
    target.create("web", true, 80).await;
    target.leads_to("web", 80).await;
    target.delete_service("web").await;
    target.gone("web").await;
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn a_recreated_service_gets_a_new_ingress() {
    let (target, running) = Target::with_controller().await;
    let first = target.create("web", true, 80).await;
    let before = target.leads_to("web", 80).await;
    // Both in one go: the controller may see the second Service only, and the Ingress of the first.
    target.delete_service("web").await;
    let second = target.create("web", true, 80).await;
    assert_ne!(first.metadata.uid, second.metadata.uid);
    let of_second = |ingress: Option<&Ingress>| {
        let owners = ingress.and_then(|ingress| ingress.metadata.owner_references.as_ref());
        let uid = second.metadata.uid.as_deref();
        owners.is_some_and(|owners| owners.len() == 1 && Some(owners[0].uid.as_str()) == uid)
    };
    let after = wait_for(&target.ingresses, "web", LONG, of_second).await;
    assert_ne!(after.unwrap().unwrap().metadata.uid, before.metadata.uid);
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn changes_during_downtime_are_reconciled() {
    let (target, running) = Target::with_controller().await;
    for name in ["asks-no-more", "gone", "moved"] {
        target.create(name, true, 80).await;
        target.leads_to(name, 80).await;
    }
    running.stop().await;

    target.annotate("asks-no-more", None).await;
    target.delete_service("gone").await;
    let patch = json!({"spec": {"ports": [{"port": 81}]}});
    target.patch_service("moved", patch).await;
    target.create("new", true, 80).await;

    let running = target.run();
    target.gone("asks-no-more").await;
    target.gone("gone").await;
    target.leads_to("moved", 81).await;
    target.leads_to("new", 80).await;
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn a_service_that_is_being_deleted_has_no_ingress() {
    let (target, running) = Target::with_controller().await;
    let mut web = service("web", true, 80);
    web.metadata.finalizers = Some(vec!["example.com/balancer".into()]);
    target.create_service(&web).await;
    target.leads_to("web", 80).await;
    target.delete_service("web").await;
    target.gone("web").await;
    let patch = json!({"metadata": {"finalizers": null}});
    target.patch_service("web", patch).await;
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn a_service_without_ports_has_no_ingress() {
    let (target, running) = Target::with_controller().await;
    let web = serde_json::from_value(json!({
        "metadata": {"name": "web", "annotations": {ANNOTATION: "true"}},
        "spec": {"type": "ExternalName", "externalName": "example.org"},
    }));
    target.create_service(&web.unwrap()).await;
    target.caught_up().await;
    assert!(target.ingresses.get_opt("web").await.unwrap().is_none());
    let patch = json!({"spec": {"ports": [{"port": 443}]}});
    target.patch_service("web", patch).await;
    target.leads_to("web", 443).await;
    running.stop().await;
    target.clean_up().await;
}
