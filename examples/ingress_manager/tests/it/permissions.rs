//! `config/rbac.yaml` allows exactly the requests of the controller.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use http::Request;
use kube::{Client, client::Body};
use kubewright_apiserver::request::{Query, RequestInfo};
use kubewright_client::policy::ClientService;
use kubewright_controller::{Manager, leader_election::ElectionConfig};
use serde_json::{Value, json};
use tower::ServiceBuilder;

use crate::target::{Running, Target};

/// Group, resource, verb.
type Permission = (String, String, String);

/// A client that records its requests.
fn recorded(client: Client) -> (Client, Arc<Mutex<BTreeSet<Permission>>>) {
    let done = Arc::new(Mutex::new(BTreeSet::new()));
    let notes = done.clone();
    let note = move |request: Request<Body>| {
        let query = Query::parse(request.uri().query());
        let info = RequestInfo::new(request.method(), request.uri().path(), &query);
        let permission = (info.group, info.resource, info.verb.to_string());
        notes.lock().unwrap().insert(permission);
        request
    };
    let service = ServiceBuilder::new()
        .map_request(note)
        .service(ClientService::new(client));
    (Client::new(service, "default"), done)
}

/// Returns the permissions of the manifest.
fn allowed() -> BTreeSet<Permission> {
    let manifest = include_str!("../../config/rbac.yaml");
    let documents = manifest.split("\n---\n");
    let documents = documents.map(|yaml| serde_saphyr::from_str::<Value>(yaml).expect("YAML"));
    let mut allowed = BTreeSet::new();
    for document in documents {
        let rules = document["rules"].as_array().cloned().unwrap_or_default();
        for rule in &rules {
            let words = |key: &str| -> Vec<String> {
                let words = rule[key].as_array().expect(key);
                let words = words.iter().map(|word| word.as_str().expect(key));
                words.map(str::to_owned).collect()
            };
            for group in words("apiGroups") {
                for resource in words("resources") {
                    for verb in words("verbs") {
                        allowed.insert((group.clone(), resource.clone(), verb));
                    }
                }
            }
        }
    }
    allowed
}

#[tokio::test]
async fn the_manifest_allows_what_is_done_and_no_more() {
    let target = Target::start().await;
    let (client, done) = recorded(target.own_client.clone());
    let candidate = |identity: &str| {
        let election = ElectionConfig::new("ingress-manager", &target.namespace);
        let manager = Manager::builder(client.clone())
            .namespaces([&target.namespace])
            .leader_election(election.identity(identity));
        Running::start(manager.build().expect("a manager"))
    };
    let first = candidate("first");
    first.manager.elected().await;
    let second = candidate("second");
    target.create("web", true, 80).await;
    target.leads_to("web", 80).await;
    let patch = json!({"spec": {"ports": [{"port": 8080}]}});
    target.patch_service("web", patch).await;
    target.leads_to("web", 8080).await;
    target.annotate("web", None).await;
    target.gone("web").await;
    first.stop().await;
    second.manager.elected().await;
    second.stop().await;
    target.clean_up().await;

    let mut expected = done.lock().unwrap().clone();
    for (group, resource, verb) in [
        // Checked by admission, not by a request.
        ("", "services/finalizers", "update"),
        // Needed where the server does not support streaming lists.
        ("", "services", "list"),
        ("networking.k8s.io", "ingresses", "list"),
    ] {
        expected.insert((group.into(), resource.into(), verb.into()));
    }
    assert_eq!(allowed(), expected);
}
