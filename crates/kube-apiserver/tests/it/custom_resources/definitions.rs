//! CustomResourceDefinitions: accepted, established and served at once; rejected; deleted with their objects.

use std::{sync::Arc, time::Duration};

use kubewright_kube_apiserver::KubeApiServer;
use kubewright_store::{MemoryStore, Store};
use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tokio::{task::yield_now, time::timeout};

use super::{CRD, CRDS, WIDGETS, at, cluster, definition, simple, spec, version, widget};
use crate::{
    client::Client,
    http_client::{Http, event},
};

fn condition(crd: &Value, ty: &str) -> Value {
    let conditions = crd["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    conditions
        .into_iter()
        .find(|c| c["type"] == ty)
        .unwrap_or_default()
}

#[tokio::test]
async fn a_definition_is_served_before_its_writer_has_the_answer() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.get(WIDGETS).await;
    let answer = http
        .post(CRDS, simple(json!({"a": {"type": "string"}})))
        .await
        .ok();
    assert_eq!(answer["status"]["conditions"], Value::Null);
    assert_eq!(answer["status"]["storedVersions"], json!(["v1"]));
    http.post(WIDGETS, widget("one", json!({"a": "x"})))
        .await
        .ok();
    let groups = http.get("/apis").await.ok();
    assert!(
        groups["groups"]
            .as_array()
            .unwrap()
            .iter()
            .any(|g| g["name"] == "example.com")
    );
    let crd = http.get(CRD).await.ok();
    for (ty, reason) in [
        ("NamesAccepted", "NoConflicts"),
        ("Established", "InitialNamesAccepted"),
    ] {
        assert_eq!(condition(&crd, ty)["status"], "True");
        assert_eq!(condition(&crd, ty)["reason"], reason);
    }
    assert_eq!(crd["status"]["acceptedNames"]["listKind"], "WidgetList");
    let managers = crd["metadata"]["managedFields"].as_array().unwrap();
    assert!(
        managers
            .iter()
            .any(|m| m["manager"] == "kube-apiserver" && m["subresource"] == "status")
    );
    let openapi = http.get("/openapi/v3/apis/example.com/v1").await.ok();
    assert!(openapi["components"]["schemas"]["com.example.v1.Widget"].is_object());
}

#[tokio::test]
async fn a_dry_run_declares_nothing() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(&format!("{CRDS}?dryRun=All"), simple(json!({})))
        .await
        .ok();
    assert_eq!(http.get(WIDGETS).await.code, 404);
    http.get(CRD).await.refused(404);
}

#[tokio::test]
async fn names_that_another_definition_has_are_not_accepted_until_they_are_free() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    let mut gadgets = simple(json!({}));
    gadgets["metadata"]["name"] = json!("gadgets.example.com");
    gadgets["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget", "singular": "gadget"});
    http.post(CRDS, gadgets).await.ok();
    let path = format!("{CRDS}/gadgets.example.com");
    let crd = http.get(&path).await.ok();
    let refused = condition(&crd, "NamesAccepted");
    assert_eq!(
        (&refused["status"], &refused["reason"]),
        (&json!("False"), &json!("ListKindConflict"))
    );
    assert_eq!(refused["message"], "\"WidgetList\" is already in use");
    assert_eq!(condition(&crd, "Established")["reason"], "NotAccepted");
    assert_eq!(
        http.get("/apis/example.com/v1/namespaces/default/gadgets")
            .await
            .code,
        404
    );
    http.delete(CRD).await.ok();
    http.get("/apis/example.com/v1/namespaces/default/gadgets")
        .await
        .ok();
    assert_eq!(
        condition(&http.get(&path).await.ok(), "NamesAccepted")["status"],
        "True"
    );
}

#[tokio::test]
async fn deleting_a_definition_deletes_its_objects_first() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    http.post(WIDGETS, widget("free", json!({}))).await.ok();
    let mut held = widget("held", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    http.post(WIDGETS, held).await.ok();
    let marked = http.delete(CRD).await.ok();
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["customresourcecleanup.apiextensions.k8s.io"])
    );
    assert_eq!(
        condition(&marked, "Terminating")["reason"],
        "InstanceDeletionPending"
    );
    let crd = http.get(CRD).await.ok();
    assert_eq!(
        condition(&crd, "Terminating")["reason"],
        "InstanceDeletionInProgress"
    );
    http.get(&at("free")).await.refused(404);
    assert_ne!(
        http.get(&at("held")).await.ok()["metadata"]["deletionTimestamp"],
        Value::Null
    );
    http.post(WIDGETS, widget("late", json!({}))).await.refused_with(
        403,
        "widgets.example.com \"late\" is forbidden: create not allowed while custom resource definition is terminating",
    );
    let mut events = http.watch(CRDS, "resourceVersion=0").await;
    while events.step().await.0 != "ADDED" {}
    http.patch(&at("held"), json!({"metadata": {"finalizers": []}}))
        .await
        .ok();
    while events.step().await != event("DELETED", "widgets.example.com") {}
    http.get(CRD).await.refused(404);
    for _ in 0..100 {
        if http.get(WIDGETS).await.code == 404 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(http.get(WIDGETS).await.code, 404);
    // The same name again starts with nothing.
    http.post(CRDS, simple(json!({}))).await.ok();
    assert!(http.get(WIDGETS).await.names().is_empty());
}

#[tokio::test]
async fn a_fork_serves_what_was_declared() {
    let (first, http) = cluster(simple(json!({"a": {"type": "string", "default": "d"}}))).await;
    http.post(WIDGETS, widget("one", json!({}))).await.ok();
    let second = first.fork().await;
    let forked = Http::of(&second);
    assert_eq!(forked.get(&at("one")).await.ok()["spec"]["a"], "d");
    forked.delete(CRD).await.ok();
    assert_eq!(forked.get(WIDGETS).await.code, 404);
    http.get(&at("one")).await.ok();
}

#[tokio::test]
async fn a_fork_continues_the_deletion() {
    let (first, http) = cluster(simple(json!({}))).await;
    let mut held = widget("held", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    http.post(WIDGETS, held).await.ok();
    http.delete(CRD).await.ok();
    let second = first.fork().await;
    let forked = Http::of(&second);
    forked
        .patch(&at("held"), json!({"metadata": {"finalizers": []}}))
        .await
        .ok();
    for _ in 0..200 {
        if forked.get(CRD).await.code == 404 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the definition stays");
}

#[tokio::test]
async fn immutable_fields_of_a_definition_cannot_change() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    for (change, field) in [
        (json!({"group": "other.com"}), "spec.group"),
        (json!({"scope": "Cluster"}), "spec.scope"),
        (json!({"names": {"kind": "Other"}}), "spec.names.kind"),
        (json!({"names": {"plural": "others"}}), "spec.names.plural"),
    ] {
        let status = http.patch(CRD, json!({"spec": change})).await.refused(422);
        let causes = status["details"]["causes"].as_array().unwrap();
        assert!(
            causes.iter().any(|c| c["field"] == field
                && c["message"]
                    .as_str()
                    .unwrap()
                    .ends_with("field is immutable")),
            "{field}"
        );
    }
    http.patch(CRD, json!({"spec": {"names": {"shortNames": ["wd"]}}}))
        .await
        .ok();
    let resources = http.get("/apis/example.com/v1").await.ok();
    assert_eq!(resources["resources"][0]["shortNames"], json!(["wd"]));
}

#[tokio::test]
async fn definitions_in_protected_groups_need_an_approval() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let mut crd = simple(json!({}));
    crd["metadata"]["name"] = json!("widgets.x.k8s.io");
    crd["spec"]["group"] = json!("x.k8s.io");
    http.post(CRDS, crd.clone()).await.refused(422);
    crd["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, a test"});
    http.post(CRDS, crd).await.ok();
    let crd = http.get(&format!("{CRDS}/widgets.x.k8s.io")).await.ok();
    let conformant = condition(&crd, "KubernetesAPIApprovalPolicyConformant");
    assert_eq!(conformant["reason"], "UnapprovedAnnotation");
}

#[tokio::test]
async fn unknown_formats_are_warned_about_once() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let answer = http
        .post(
            CRDS,
            simple(json!({"p": {"type": "string", "format": "phone"}})),
        )
        .await;
    assert_eq!(
        answer.warnings(),
        ["299 - \"unrecognized format \\\"phone\\\"\""]
    );
    let again = http
        .patch(CRD, json!({"metadata": {"labels": {"a": "b"}}}))
        .await;
    assert!(again.warnings().is_empty());
}

#[tokio::test]
async fn a_version_that_is_not_served_is_not_there() {
    let mut hidden = version("v2", false, spec(json!({})));
    hidden["served"] = json!(false);
    let (_cluster, http) = cluster(definition(json!([
        version("v1", true, spec(json!({}))),
        hidden
    ])))
    .await;
    assert_eq!(
        http.get("/apis/example.com/v2/namespaces/default/widgets")
            .await
            .code,
        404
    );
    let group = http.get("/apis/example.com").await.ok();
    assert_eq!(group["versions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_short_name_is_not_what_the_definition_is_called_already() {
    let mut crd = simple(json!({}));
    crd["spec"]["names"]["categories"] = json!(["all"]);
    let (_cluster, http) = cluster(crd).await;
    let names = json!({"spec": {"names": {"shortNames": ["widgets"], "categories": null}}});
    http.patch(CRD, names).await.ok();
    let crd = http.get(CRD).await.ok();
    let accepted = condition(&crd, "NamesAccepted");
    assert_eq!(accepted["status"], "False");
    assert_eq!(accepted["reason"], "ShortNamesConflict");
    assert_eq!(accepted["message"], "\"widgets\" is already in use");
    assert_eq!(crd["status"]["acceptedNames"]["shortNames"], Value::Null);
    assert_eq!(crd["status"]["acceptedNames"]["categories"], Value::Null);
    // It was served before, and goes on.
    http.post(WIDGETS, widget("a", json!({}))).await.ok();
}

#[tokio::test]
async fn a_dropped_server_frees_its_objects() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let weak = Arc::downgrade(&store);
    let client = Client::of(KubeApiServer::builder().store(store)).await;
    let (code, _) = client.post(CRDS, &simple(json!({}))).await;
    assert_eq!(code, 201);
    drop(client);
    // Tasks that are aborted end when they are polled next.
    let freed = async {
        while weak.strong_count() > 0 {
            yield_now().await;
        }
    };
    let freed = timeout(Duration::from_secs(30), freed).await;
    assert!(freed.is_ok(), "{} owners are left", weak.strong_count());
}
