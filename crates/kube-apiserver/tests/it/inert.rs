//! Objects that are stored and not acted on yet: a server warns about them if it is told to, and only then.

use http::Method;
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_testing::{Faults, FaultyServer, TestCluster};
use serde_json::{Value, json};

use crate::http_client::{APPLY, Http};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

fn policy() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "few"},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["deployments"],
            }]},
            "validations": [{"expression": "object.spec.replicas <= 5"}],
        },
    })
}

#[tokio::test]
async fn a_write_of_what_nobody_acts_on_is_answered_with_a_warning() {
    let server = KubeApiServer::builder().warn_about_inert_objects();
    let server = server.build().await.expect("a server");
    let http = Http::on(FaultyServer::new(
        server.server().clone(),
        Faults::default(),
    ));
    let warning = "299 - \"validatingadmissionpolicies.admissionregistration.k8s.io is stored, \
                   but admission policies are not enforced by this server yet\"";
    let policies = format!("{GROUP}/validatingadmissionpolicies");
    let created = http.post(&policies, policy()).await;
    created.ok();
    assert_eq!(created.warnings(), [warning]);

    let one = format!("{policies}/few");
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    let patched = http.patch(&one, labelled).await;
    patched.ok();
    assert_eq!(patched.warnings(), [warning]);
    let apply = format!("{one}?fieldManager=me&force=true");
    for _ in 0..2 {
        let body = policy().to_string();
        let applied = http.send(Method::PATCH, &apply, APPLY, body).await;
        applied.ok();
        assert_eq!(applied.warnings(), [warning]);
    }
    assert!(http.get(&one).await.warnings().is_empty());
    assert!(http.delete(&one).await.warnings().is_empty());
    // Everything else is as usual.
    let map = json!({"metadata": {"name": "colours"}});
    let created = http
        .post("/api/v1/namespaces/default/configmaps", map)
        .await;
    created.ok();
    assert!(created.warnings().is_empty());
}

#[tokio::test]
async fn a_server_does_not_warn_by_default() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let policies = format!("{GROUP}/validatingadmissionpolicies");
    let created = http.post(&policies, policy()).await;
    created.ok();
    assert!(
        created.warnings().is_empty(),
        "a real server has no such warning"
    );
}
