//! A kind in a store, in several versions.

use std::sync::Arc;

use kubewright_extension_apiserver::{ExtensionServer, Kind};
use kubewright_resource::{SameAsHub, Versions};
use kubewright_store::MemoryStore;
use serde_json::json;

use crate::sky::{COMETS, Comet, comet, get, post};

#[tokio::test]
async fn all_verbs_are_discovered() {
    let store = Arc::new(MemoryStore::new());
    let server = ExtensionServer::builder().store::<Comet>(store);
    let server = server.build().unwrap();
    let (_, list) = get(&server, "/apis/sky.example.com/v1").await;
    let verbs = list["resources"][0]["verbs"].as_array().unwrap();
    assert_eq!(verbs.len(), 8, "{verbs:?}");
    assert_eq!(list["resources"][1]["name"], "comets/status");
    assert_eq!(list["resources"][2]["name"], "comets/scale");
    assert_eq!(post(&server, COMETS, &comet("halley", 76)).await.0, 201);
    assert_eq!(get(&server, &format!("{COMETS}/halley")).await.0, 200);
}

#[tokio::test]
async fn versions_convert_into_each_other() {
    let versions = Versions::<Comet>::hub().same_as_hub(SameAsHub::new("v1beta1"));
    let kind = Kind::stored(Arc::new(MemoryStore::new())).versions(versions);
    let server = ExtensionServer::builder().kind(kind).build().unwrap();
    let (_, group) = get(&server, "/apis/sky.example.com").await;
    assert_eq!(group["preferredVersion"]["version"], "v1");
    assert_eq!(group["versions"].as_array().unwrap().len(), 2);
    post(&server, COMETS, &comet("halley", 76)).await;
    let beta = COMETS.replace("/v1/", "/v1beta1/");
    let (code, halley) = get(&server, &format!("{beta}/halley")).await;
    assert_eq!(code, 200);
    assert_eq!(halley["apiVersion"], "sky.example.com/v1beta1");
    let mut old = comet("encke", 3);
    old["apiVersion"] = json!("sky.example.com/v1beta1");
    assert_eq!(post(&server, &beta, &old).await.0, 201);
    let (_, encke) = get(&server, &format!("{COMETS}/encke")).await;
    assert_eq!(encke["apiVersion"], "sky.example.com/v1");
}

#[tokio::test]
async fn kinds_can_use_the_store_of_the_server() {
    let kind = || Kind::<Comet>::stored_by_server();
    let without = ExtensionServer::builder().kind(kind()).build();
    let error = without.err().unwrap().to_string();
    assert_eq!(
        error,
        "the kind Comet cannot be served: the server has no store"
    );
    // The order of the calls does not matter, and two servers can share a store.
    let store = Arc::new(MemoryStore::new());
    let builder = ExtensionServer::builder().kind(kind());
    let one = builder.default_store(store.clone()).build().unwrap();
    let other = ExtensionServer::builder().default_store(store).kind(kind());
    let other = other.build().unwrap();
    assert_eq!(post(&one, COMETS, &comet("halley", 76)).await.0, 201);
    assert_eq!(get(&other, &format!("{COMETS}/halley")).await.0, 200);
    assert_eq!(post(&other, COMETS, &comet("halley", 76)).await.0, 409);
    let definition = kind().definition().unwrap();
    assert_eq!(definition["spec"]["names"]["kind"], "Comet");
}
