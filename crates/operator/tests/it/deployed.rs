//! A deployed operator: the generated manifests on a cluster that enforces RBAC and calls the operator over TLS, through its
//! Service, with certificates that the operator issues.

use std::time::Duration;

use k8s_openapi::{
    api::admissionregistration::v1::{
        MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kubewright_controller::{Manager, wait::wait_for};
use kubewright_operator::{Model, Operator};
use kubewright_scaffold::{
    WebhookCertificates,
    generate::{Settings, Target, render},
    parse_manifests,
};
use kubewright_testing::{RunningManager, TestCluster};
use kubewright_webhook::{Certificates, FieldErrors, WebhookServer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::conversion::{v1, v3};

const NAMESPACE: &str = "crew-system";
const USER: &str = "system:serviceaccount:crew-system:crew-controller-manager";
const WITHIN: Duration = Duration::from_secs(60);

fn register(operator: &mut Operator) {
    crate::conversion::register(operator);
    operator
        .defaulter(|captain: &mut v1::Captain| {
            if captain.spec.ship.is_empty() {
                captain.spec.ship = "dinghy".to_owned();
            }
        })
        .validator(|captain: &v1::Captain| {
            let mut errors = FieldErrors::new();
            if captain.spec.ship == "titanic" {
                errors.invalid("spec.ship", "titanic", "sinks");
            }
            errors.into_result()
        });
}

/// Returns the objects that `kubewright generate yaml` writes, in order.
fn manifests(model: &Model) -> Vec<Value> {
    let settings = Settings {
        name: "crew".into(),
        domain: "example.com".into(),
        namespaced: false,
        image: "crew:0.1.0".into(),
        metrics_port: None,
        webhook_certificates: WebhookCertificates::Operator,
    };
    let files = render(model, &settings, &[Target::Yaml]).unwrap();
    parse_manifests(&files[0].text).unwrap()
}

async fn create(cluster: &TestCluster, object: &Value) {
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    let types = object.types.clone().unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types).unwrap());
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(cluster.client(), &namespace, &resource),
        None => Api::all_with(cluster.client(), &resource),
    };
    let created = api.create(&PostParams::default(), &object).await;
    assert!(created.is_ok(), "{}: {:?}", types.kind, created.err());
}

/// Returns the value of a flag in the arguments of the Deployment's container.
fn argument(objects: &[Value], flag: &str) -> String {
    let deployment = objects.iter().find(|it| it["kind"] == "Deployment");
    let container = &deployment.unwrap()["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().unwrap();
    let mut values = args
        .iter()
        .filter_map(|it| it.as_str()?.strip_prefix(flag)?.strip_prefix('='));
    values.next().expect("the flag").to_owned()
}

/// Runs the operator in place of the Deployment's pod, as its ServiceAccount.
async fn run(cluster: &TestCluster, service: &str) -> RunningManager {
    let operator = Operator::new("crew", register);
    let client = cluster.client_as(USER);
    let managed = operator
        .managed_certificates(client.clone(), NAMESPACE, service)
        .unwrap();
    let webhooks = operator.webhooks().unwrap();
    let manager = operator.build(Manager::builder(client)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    cluster
        .services()
        .set_address(NAMESPACE, service, 443, address);
    let server = WebhookServer::new(webhooks, Certificates::managed(managed));
    server.add_to(&manager, listener).unwrap();
    cluster.run(&manager)
}

/// Waits until the operator has written a `caBundle`.
async fn trusted<K>(cluster: &TestCluster, name: &str, pointer: &str)
where
    K: Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::Serialize
        + serde::de::DeserializeOwned
        + Send
        + 'static,
{
    let api: Api<K> = Api::all(cluster.client());
    let told = wait_for(&api, name, WITHIN, |object| {
        let object = object.map(|it| serde_json::to_value(it).unwrap_or_default());
        object.is_some_and(|it| it.pointer(pointer).is_some_and(Value::is_string))
    });
    told.await.unwrap();
}

fn captain(name: &str, ship: &str) -> v1::Captain {
    v1::Captain::new(name, v1::CaptainSpec { ship: ship.into() })
}

#[tokio::test]
async fn a_deployed_operator_defaults_validates_and_converts() {
    let model = Operator::new("crew", register).model().unwrap();
    let objects = manifests(&model);
    let cluster = TestCluster::builder().rbac().start().await;
    for object in &objects {
        create(&cluster, object).await;
    }
    let captains: Api<v1::Captain> = Api::default_namespaced(cluster.client());
    let how = PostParams::default();

    // Requests fail while the operator is not available.
    let early = captains.create(&how, &captain("early", "")).await;
    let message = early.unwrap_err().to_string();
    assert!(message.contains("failed calling webhook"), "{message}");

    let running = run(&cluster, &argument(&objects, "--webhook-service")).await;
    let bundle = "/webhooks/0/clientConfig/caBundle";
    let name = "crew-mutating-webhook-configuration";
    trusted::<MutatingWebhookConfiguration>(&cluster, name, bundle).await;
    let name = "crew-validating-webhook-configuration";
    trusted::<ValidatingWebhookConfiguration>(&cluster, name, bundle).await;
    let bundle = "/spec/conversion/webhook/clientConfig/caBundle";
    trusted::<CustomResourceDefinition>(&cluster, "captains.crew.example.com", bundle).await;

    let made = captains.create(&how, &captain("ahab", "")).await.unwrap();
    assert_eq!(made.spec.ship, "dinghy");
    let wrong = captains.create(&how, &captain("smith", "titanic")).await;
    let message = wrong.unwrap_err().to_string();
    assert!(
        message.contains("spec.ship: Invalid value: \"titanic\": sinks"),
        "{message}"
    );

    let newest: Api<v3::Captain> = Api::default_namespaced(cluster.client());
    assert_eq!(newest.get("ahab").await.unwrap().spec.vessels, ["dinghy"]);
    let patch = Patch::Merge(json!({"spec": {"vessels": ["pequod"]}}));
    let how = PatchParams::default();
    newest.patch("ahab", &how, &patch).await.unwrap();
    assert_eq!(captains.get("ahab").await.unwrap().spec.ship, "pequod");
    // Requests for other versions are reviewed too.
    let patch = Patch::Merge(json!({"spec": {"vessels": ["titanic"]}}));
    let wrong = newest.patch("ahab", &how, &patch).await.unwrap_err();
    assert!(wrong.to_string().contains("sinks"), "{wrong}");

    // Installing the CRDs again keeps the conversion webhook.
    let again = Operator::new("crew", register);
    again.install(cluster.client()).await.unwrap();
    assert_eq!(newest.get("ahab").await.unwrap().spec.vessels, ["pequod"]);

    // The generated roles were sufficient.
    assert_eq!(cluster.denied_permissions(USER), []);
    running.stop().await.unwrap();
}
