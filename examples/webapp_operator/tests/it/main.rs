//! The operator on a cluster in the same process.

mod behaviour;
mod faults;
mod perturbations;
mod time;
mod validation;
mod versions;

use k8s_openapi::{api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::Condition};
use kube::{
    Api, Client,
    api::{Patch, PostParams},
    core::NamespaceResourceScope,
};
use kubewright::{
    controller::Object,
    operator::{Operator, OperatorCluster},
    prelude::*,
    testing::TestCluster,
};
use serde_json::{Value, json};
use webapp_operator::{
    Flags,
    api::v1::{WebApp, WebAppSpec},
    controller,
    dns::Dns,
};

/// The operator as its program registers it.
fn operator() -> Operator {
    Operator::new("webapp", |operator| {
        webapp_operator::register(operator, Flags::default());
    })
}

/// The operator on a new cluster, with DNS records that the test can read.
async fn start() -> (OperatorCluster, Dns) {
    let dns = Dns::default();
    let records = dns.clone();
    let operator = Operator::new("webapp", |operator| {
        webapp_operator::api::register(operator);
        let ingress_class = "public".to_owned();
        controller::register(operator, Flags { ingress_class }, records);
    });
    (operator.start_test().await.unwrap(), dns)
}

fn app(name: &str) -> WebApp {
    let spec = WebAppSpec {
        image: "shop:1".to_owned(),
        replicas: 2,
        host: Some(format!("{name}.example.com")),
        config: [("GREETING".to_owned(), "hello".to_owned())].into(),
        secret: None,
    };
    WebApp::new(name, spec)
}

fn api<K: Object<Scope = NamespaceResourceScope>>(cluster: &TestCluster) -> Api<K> {
    Api::default_namespaced(cluster.client())
}

async fn create<K: Object<Scope = NamespaceResourceScope>>(cluster: &TestCluster, object: &K) -> K {
    let created = api::<K>(cluster)
        .create(&PostParams::default(), object)
        .await;
    created.unwrap()
}

/// Creates an app, and waits until the operator has done its work.
async fn run(cluster: &TestCluster, app: &WebApp) {
    create(cluster, app).await;
    cluster.settled().await.unwrap();
}

/// Changes the spec of an app, and waits until the operator has followed.
async fn change(cluster: &TestCluster, name: &str, spec: Value) {
    let patch = Patch::Merge(json!({"spec": spec}));
    let patched = api::<WebApp>(cluster)
        .patch(name, &Default::default(), &patch)
        .await;
    patched.unwrap();
    cluster.settled().await.unwrap();
}

/// Reports pods as ready. There are no nodes on a test cluster.
async fn set_ready(client: Client, name: &str, replicas: i32) {
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let status = json!({"status": {
        "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
    }});
    let patched = deployments
        .patch_status(name, &Default::default(), &Patch::Merge(status))
        .await;
    patched.unwrap();
}

async fn ready_condition(cluster: &TestCluster, name: &str) -> Condition {
    let app = api::<WebApp>(cluster).get(name).await.unwrap();
    let status = app.status.unwrap();
    status.conditions.find("Ready").unwrap().clone()
}
