//! The operator on a cluster in the same process.

mod behaviour;
mod faults;
mod perturbations;
mod time;
mod validation;
mod versions;

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{
    Api,
    api::{Patch, PostParams},
    core::NamespaceResourceScope,
};
use kubewright::{
    controller::Object,
    operator::{Operator, OperatorCluster},
    prelude::*,
    testing::{Behavior, Nodes, TestCluster},
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

/// The operator on a new cluster without nodes, with DNS records that the test can read.
async fn start() -> (OperatorCluster, Dns) {
    let dns = Dns::default();
    let operator = with_records(dns.clone());
    (operator.start_test().await.unwrap(), dns)
}

/// The operator on a new cluster with a node, where the pods of apps start after a minute.
async fn start_with_a_slow_node() -> OperatorCluster {
    let nodes = Nodes::new(1);
    let slow = Behavior::runs().starts_after(Duration::from_secs(60));
    nodes.images().register("shop", slow);
    let operator = with_records(Dns::default());
    operator.start_test_with_nodes(nodes).await.unwrap()
}

fn with_records(records: Dns) -> Operator {
    Operator::new("webapp", |operator| {
        webapp_operator::api::register(operator);
        let ingress_class = "public".to_owned();
        controller::register(operator, Flags { ingress_class }, records);
    })
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

async fn ready_condition(cluster: &TestCluster, name: &str) -> Condition {
    let app = api::<WebApp>(cluster).get(name).await.unwrap();
    let status = app.status.unwrap();
    status.conditions.find("Ready").unwrap().clone()
}
