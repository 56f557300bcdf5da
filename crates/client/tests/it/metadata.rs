//! Nothing but metadata.

use futures_util::StreamExt;
use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
};
use kubewright_client::{ClientSet, Error, MetadataClient};
use kubewright_machinery::gvk::GroupVersionResource;
use serde_json::json;

use crate::{
    front::Front,
    target::{Target, map},
};

fn maps() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "configmaps")
}

#[tokio::test]
async fn every_verb_answers_with_metadata() {
    let target = Target::start().await;
    let set = ClientSet::new(target.client.clone());
    let whole = set.namespaced(&target.namespace);
    whole
        .create(&PostParams::default(), &map("a", "1"))
        .await
        .unwrap();

    let metadata = MetadataClient::new(target.client.clone());
    let maps = metadata.resource(&maps()).namespace(&target.namespace);
    let a = maps.get("a").await.unwrap();
    assert_eq!(a.types.as_ref().unwrap().kind, "PartialObjectMetadata");
    assert!(a.uid().is_some());

    let labels = Patch::Merge(json!({"metadata": {"labels": {"mine": "yes"}}}));
    let patched = maps
        .patch("a", &PatchParams::default(), &labels)
        .await
        .unwrap();
    assert_eq!(patched.labels()["mine"], "yes");
    let list = maps
        .list(&ListParams::default().labels("mine=yes"))
        .await
        .unwrap();
    assert_eq!(
        (list.types.kind.as_str(), list.items.len()),
        ("PartialObjectMetadataList", 1)
    );

    let revision = list.metadata.resource_version.unwrap();
    let params = WatchParams::default().labels("mine=yes");
    let mut watch = maps.watch(&params, &revision).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(
        matches!(watch.next().await, Some(Ok(WatchEvent::Deleted(gone))) if gone.name_any() == "a")
    );
    let everything = ListParams::default();
    maps.delete_collection(&DeleteParams::default(), &everything)
        .await
        .unwrap();
    target.clean_up().await;
}

#[tokio::test]
async fn a_server_that_sends_whole_objects_will_do() {
    let front = Front::start().await;
    front.answer(|request| {
        let body = match request.uri().path() {
            "/api/v1/namespaces/default/configmaps/whole" => json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "whole"}, "data": {"k": "v"},
            }),
            _ => json!({"apiVersion": "v1", "kind": "Odd", "spec": {}}),
        };
        Some(http::Response::new(body.to_string().into()))
    });
    let maps = MetadataClient::new(front.client())
        .resource(&maps())
        .namespace("default");
    let whole = maps.get("whole").await.unwrap();
    assert!(whole.types.is_none() && whole.name_any() == "whole");
    let accept = front.last_headers()["accept"].to_str().unwrap().to_owned();
    assert!(
        accept.starts_with("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
        "{accept}"
    );
    assert!(matches!(maps.get("odd").await, Err(Error::Decode(_))));
}
