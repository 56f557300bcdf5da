//! The server called by clusters: the embedded one, and a real kube-apiserver if `KUBEWRIGHT_TEST_KUBECONFIG` names one that
//! can reach the loopback interface of this machine.

use std::time::{Duration, SystemTime};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Request;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Client, CustomResourceExt, client::Body, core::crd::merge_crds};
use kubewright_cluster::SelfSigned;
use kubewright_testing::TestCluster;
use kubewright_webhook::{
    Certificates, Converter, Operation, Webhook, WebhookServer, WebhookType, Webhooks,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    captain::{Captain, CaptainDefaulter, CaptainValidator},
    converting::{v1, v2},
};

const CAPTAINS: &str = "/apis/crew.example.com/v1/namespaces/default/captains";
const SHIPS_V1: &str = "/apis/example.com/v1/ships";
const SHIPS_V2: &str = "/apis/example.com/v2/ships";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";

/// The time for a real server to observe a definition or a webhook.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// A response of a cluster.
#[derive(Debug)]
struct Answer {
    code: u16,
    warnings: Vec<String>,
    body: Value,
}

async fn ask(client: &Client, method: &str, path: &str, body: &Value) -> Answer {
    let content_type = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .body(Body::from(body.to_string().into_bytes()))
        .unwrap();
    let (head, body) = client.send(request).await.unwrap().into_parts();
    let warnings = head.headers.get_all("warning").iter();
    Answer {
        code: head.status.as_u16(),
        warnings: warnings.map(|w| w.to_str().unwrap().to_owned()).collect(),
        body: serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap(),
    }
}

/// Repeats a request until a real server has observed the registration. The embedded one responds correctly at first.
async fn until(client: &Client, path: &str, body: &Value, reached: impl Fn(&Answer) -> bool) {
    let asked = async {
        while !reached(&ask(client, "POST", path, body).await) {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let reached = tokio::time::timeout(PATIENCE, asked).await;
    reached.unwrap_or_else(|_| panic!("{path} does not answer as expected"));
}

fn captain(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "crew.example.com/v1", "kind": "Captain", "metadata": {"name": name}, "spec": spec})
}

fn ship(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("example.com/{version}"), "kind": "Ship", "metadata": {"name": name}, "spec": spec})
}

/// Serves the webhooks of captains and ships, and registers them.
async fn install(client: &Client) {
    let converter = Converter::new().between::<v1::Ship, v2::Ship>();
    let all = [Operation::Create, Operation::Update, Operation::Delete];
    let validator = Webhook::validator(CaptainValidator).operations(all);
    let webhooks = Webhooks::builder()
        .defaulter(CaptainDefaulter)
        .webhook(validator)
        .converter(converter)
        .build()
        .unwrap();
    let made = SelfSigned::generate(["127.0.0.1"], SystemTime::now()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let endpoint = |path: &str| {
        json!({
            "url": format!("https://127.0.0.1:{port}{path}"),
            "caBundle": STANDARD.encode(&made.ca_pem),
        })
    };
    for (kind, type_) in [
        ("mutatingwebhookconfigurations", WebhookType::Mutating),
        ("validatingwebhookconfigurations", WebhookType::Validating),
    ] {
        let registered = webhooks.admission().iter().map(Webhook::registration);
        let registered = registered.filter(|r| r.type_ == type_).map(|r| {
            let mut entry = serde_json::to_value(r).unwrap();
            entry["clientConfig"] = endpoint(&r.path);
            entry
        });
        let webhooks: Vec<Value> = registered.collect();
        let configuration = json!({"metadata": {"name": "captains"}, "webhooks": webhooks});
        let path = format!("{REGISTRATION}/{kind}");
        assert_eq!(ask(client, "POST", &path, &configuration).await.code, 201);
    }
    let mut ships = merge_crds(vec![v1::Ship::crd(), v2::Ship::crd()], "v1").unwrap();
    ships.spec.conversion = serde_json::from_value(json!({
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": endpoint("/convert")},
    }))
    .unwrap();
    for crd in [Captain::crd(), ships] {
        define(client, &crd).await;
    }
    let certificates = Certificates::pem(made.certificate_pem, made.key_pem);
    let server = WebhookServer::new(webhooks, certificates);
    tokio::spawn(server.serve(listener, std::future::pending()));
}

async fn define(client: &Client, crd: &CustomResourceDefinition) {
    let crd = serde_json::to_value(crd).unwrap();
    let answer = ask(client, "POST", CRDS, &crd).await;
    assert_eq!(answer.code, 201, "{answer:?}");
}

async fn admission_and_conversion_reach_the_server(client: &Client) {
    install(client).await;
    let bad = captain("bad", json!({"ship": "a", "mates": 21}));
    let dry_run = format!("{CAPTAINS}?dryRun=All");
    until(client, &dry_run, &bad, |answer| answer.code == 422).await;
    let plain = captain("plain", json!({}));
    until(client, &dry_run, &plain, |answer| {
        answer.body["spec"]["ship"] == "pequod"
    })
    .await;
    let refused = ask(client, "POST", CAPTAINS, &bad).await;
    assert_eq!(
        refused.body["message"],
        "admission webhook \"vcaptain-v1.kb.io\" denied the request: \
         Captain.crew.example.com \"bad\" is invalid: spec.mates: Invalid value: 21: must be at most 20"
    );
    assert_eq!(refused.body["reason"], "Invalid");
    assert_eq!(
        refused.body["details"]["causes"],
        json!([{
            "reason": "FieldValueInvalid", "field": "spec.mates", "message": "Invalid value: 21: must be at most 20",
        }])
    );

    let ahab = format!("{CAPTAINS}/ahab");
    let made = ask(client, "POST", CAPTAINS, &captain("ahab", json!({}))).await;
    assert_eq!(
        (made.code, &made.body["spec"]["ship"]),
        (201, &json!("pequod"))
    );
    let warning = "299 - \"a captain without mates steers alone\"";
    assert_eq!(made.warnings, [warning]);
    let changed = ask(client, "PATCH", &ahab, &json!({"spec": {"mates": 2}})).await;
    assert_eq!((changed.code, &changed.warnings[..]), (200, &[][..]));
    let leaving = ask(client, "PATCH", &ahab, &json!({"spec": {"ship": "rachel"}})).await;
    assert_eq!(
        (leaving.code, &leaving.body["message"]),
        (
            403,
            &json!(
                "admission webhook \"vcaptain-v1.kb.io\" denied the request: a captain does not leave the ship"
            )
        )
    );
    let sinking = ask(client, "PATCH", &ahab, &json!({"spec": {"mates": 101}})).await;
    assert_eq!(sinking.code, 500, "{sinking:?}");
    let deleted = ask(client, "DELETE", &ahab, &json!({})).await;
    assert_eq!(deleted.code, 200, "{deleted:?}");

    let pequod = ship("v1", "pequod", json!({"name": "Pequod"}));
    until(client, SHIPS_V1, &pequod, |answer| {
        matches!(answer.code, 201 | 409)
    })
    .await;
    let read = ask(client, "GET", &format!("{SHIPS_V2}/pequod"), &Value::Null).await;
    assert_eq!(
        (read.code, &read.body["spec"]),
        (200, &json!({"title": "Pequod"}))
    );
    let listed = ask(client, "GET", SHIPS_V2, &Value::Null).await;
    assert_eq!(listed.body["items"][0]["spec"], json!({"title": "Pequod"}));
    let made = ask(
        client,
        "POST",
        SHIPS_V2,
        &ship("v2", "rachel", json!({"title": "Rachel"})),
    )
    .await;
    assert_eq!(
        (made.code, &made.body["spec"]),
        (201, &json!({"title": "Rachel"}))
    );
    let long = ship(
        "v2",
        "long",
        json!({"title": "Rime of the Ancient Mariner"}),
    );
    let refused = ask(client, "POST", SHIPS_V2, &long).await;
    assert_eq!(
        (refused.code, &refused.body["message"]),
        (
            500,
            &json!(
                "conversion webhook for example.com/v2, Kind=Ship failed: converting from v2 to v1: the name is too long for v1"
            )
        )
    );
}

async fn remove(client: &Client) {
    for path in [
        format!("{REGISTRATION}/mutatingwebhookconfigurations/captains"),
        format!("{REGISTRATION}/validatingwebhookconfigurations/captains"),
        format!("{SHIPS_V1}/pequod"),
        format!("{SHIPS_V1}/rachel"),
        format!("{CRDS}/ships.example.com"),
        format!("{CRDS}/captains.crew.example.com"),
    ] {
        ask(client, "DELETE", &path, &json!({})).await;
    }
}

#[tokio::test]
async fn the_embedded_cluster_calls_the_server() {
    let cluster = TestCluster::start().await;
    admission_and_conversion_reach_the_server(&cluster.client()).await;
}

#[tokio::test]
async fn a_real_cluster_calls_the_server() {
    let Some(path) = std::env::var_os("KUBEWRIGHT_TEST_KUBECONFIG") else {
        eprintln!("skipped: webhooks called by a real cluster: set KUBEWRIGHT_TEST_KUBECONFIG");
        return;
    };
    let kubeconfig = kube::config::Kubeconfig::read_from(path).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let test = admission_and_conversion_reach_the_server(&client);
    let outcome = futures_util::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(test)).await;
    remove(&client).await;
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}
