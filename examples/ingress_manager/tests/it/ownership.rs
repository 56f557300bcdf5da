//! The controller restores its own Ingresses and leaves others alone.

use ingress_manager::ingress::wanted;
use k8s_openapi::api::networking::v1::Ingress;
use kubewright_controller::wait::wait_for;
use serde_json::{Value, json};

use crate::target::{LONG, Target};

fn foreign(name: &str) -> Ingress {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"defaultBackend": {"service": {"name": "other", "port": {"number": 1}}}},
    }))
    .unwrap()
}

#[tokio::test]
async fn changed_ingresses_are_restored() {
    let (target, running) = Target::with_controller().await;
    target.create("web", true, 80).await;
    target.leads_to("web", 80).await;
    for patch in [
        json!({"spec": {"rules": [{"host": "evil.example.com"}]}}),
        json!({"spec": {"ingressClassName": "other"}}),
        json!({"spec": {"rules": null, "defaultBackend": {"service": {"name": "x", "port": {"number": 1}}}}}),
    ] {
        let changed = target.patch_ingress("web", patch).await;
        let right = |ingress: Option<&Ingress>| {
            ingress.is_some_and(|ingress| {
                ingress.metadata.generation > changed.metadata.generation
                    && ingress.spec.as_ref().unwrap().ingress_class_name.as_deref() == Some("nginx")
            })
        };
        let right = wait_for(&target.ingresses, "web", LONG, right).await;
        right.expect("put right in time");
        target.leads_to("web", 80).await;
    }
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn deleted_ingresses_are_recreated() {
    let (target, running) = Target::with_controller().await;
    target.create("web", true, 80).await;
    let before = target.leads_to("web", 80).await;
    target.delete_ingress("web").await;
    let another = |ingress: Option<&Ingress>| {
        ingress.is_some_and(|ingress| ingress.metadata.uid != before.metadata.uid)
    };
    let again = wait_for(&target.ingresses, "web", LONG, another).await;
    assert!(again.unwrap().is_some());
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn additions_of_others_are_kept() {
    let (target, running) = Target::with_controller().await;
    target.create("web", true, 80).await;
    target.leads_to("web", 80).await;
    let tls = json!([{"hosts": ["example.com"], "secretName": "certificate"}]);
    let patch = json!({"metadata": {"labels": {"team": "shop"}}, "spec": {"tls": tls}});
    target.patch_ingress("web", patch).await;
    let patch = json!({"spec": {"ports": [{"port": 8080}]}});
    target.patch_service("web", patch).await;
    let ingress = serde_json::to_value(target.leads_to("web", 8080).await).unwrap();
    assert_eq!(ingress["spec"]["tls"], tls);
    assert_eq!(ingress["metadata"]["labels"], json!({"team": "shop"}));
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn an_ingress_of_another_owner_is_left_alone_until_it_is_deleted() {
    let (target, running) = Target::with_controller().await;
    let made = target.create_ingress(&foreign("web")).await;
    target.create("web", true, 80).await;
    target.caught_up().await;
    let found = target.ingresses.get("web").await.unwrap();
    assert_eq!(found, made);

    target.annotate("web", None).await;
    target.caught_up().await;
    assert_eq!(target.ingresses.get("web").await.unwrap(), made);

    target.annotate("web", Some("true")).await;
    target.caught_up().await;
    target.delete_ingress("web").await;
    target.leads_to("web", 80).await;
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn an_ingress_of_another_controller_is_left_alone() {
    let (target, running) = Target::with_controller().await;
    let mut other = target.create("other", false, 80).await;
    other.metadata.annotations = Some([("ingress/http".into(), String::new())].into());
    let mut ingress = wanted(&other).unwrap().unwrap();
    ingress.metadata.name = Some("web".into());
    let made = target.create_ingress(&ingress).await;
    target.create("web", true, 80).await;
    target.caught_up().await;
    assert_eq!(target.ingresses.get("web").await.unwrap(), made);
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn an_ingress_without_its_owner_reference_is_released() {
    let (target, running) = Target::with_controller().await;
    target.create("web", true, 80).await;
    target.leads_to("web", 80).await;
    let free = json!({"metadata": {"ownerReferences": null}});
    let free = target.patch_ingress("web", free).await;
    target.delete_service("web").await;
    target.caught_up().await;
    assert_eq!(target.ingresses.get("web").await.unwrap(), free);
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn a_status_change_of_an_ingress_causes_no_write() {
    let (target, running) = Target::with_controller().await;
    target.create("web", true, 80).await;
    target.leads_to("web", 80).await;
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    let written = target
        .ingresses
        .patch_status(
            "web",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(status),
        )
        .await
        .unwrap();
    target.annotate("web", Some("still")).await;
    target.caught_up().await;
    let found = target.ingresses.get("web").await.unwrap();
    let version = |ingress: &Ingress| ingress.metadata.resource_version.clone();
    assert_eq!(version(&found), version(&written));
    running.stop().await;
    target.clean_up().await;
}

#[tokio::test]
async fn fields_stand_under_the_controllers_name() {
    let (target, running) = Target::with_controller().await;
    target.create("web", true, 80).await;
    let ingress = target.leads_to("web", 80).await;
    let managers = |ingress: &Ingress| {
        let fields = ingress.metadata.managed_fields.clone().unwrap_or_default();
        let of = |entry: k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry| {
            (entry.manager.unwrap(), entry.operation.unwrap())
        };
        fields.into_iter().map(of).collect::<Vec<_>>()
    };
    let entry = |operation: &str| ("ingress-manager".to_owned(), operation.to_owned());
    assert_eq!(managers(&ingress), [entry("Update")]);
    let patch: Value = json!({"spec": {"ports": [{"port": 8080}]}});
    target.patch_service("web", patch).await;
    let ingress = target.leads_to("web", 8080).await;
    assert!(managers(&ingress).contains(&entry("Apply")));
    running.stop().await;
    target.clean_up().await;
}
