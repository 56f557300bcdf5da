//! Objects of any kind.

use futures_util::StreamExt;
use kube::api::{
    DeleteParams, DynamicObject, ListParams, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kubewright_client::{DynamicClient, Error};
use kubewright_machinery::gvk::{GroupVersionKind, GroupVersionResource};
use serde_json::{Value, json};

use crate::target::Target;

fn object(json: Value) -> DynamicObject {
    serde_json::from_value(json).unwrap()
}

fn maps() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "configmaps")
}

#[tokio::test]
async fn every_verb_works_on_any_kind() {
    let target = Target::start().await;
    let dynamic = DynamicClient::new(target.client.clone());
    let maps = dynamic.resource(&maps()).namespace(&target.namespace);
    let a = object(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"mine": "yes"}}, "data": {"k": "1"},
    }));
    let mut a = maps.create(&PostParams::default(), &a).await.unwrap();
    a.data["data"]["k"] = "2".into();
    let a = maps.update(&PostParams::default(), &a).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap(), a);

    let list = maps
        .list(&ListParams::default().labels("mine=yes"))
        .await
        .unwrap();
    let types = list.items[0].types.as_ref().unwrap();
    assert_eq!(
        (types.api_version.as_str(), types.kind.as_str()),
        ("v1", "ConfigMap")
    );

    let revision = list.metadata.resource_version.unwrap();
    let params = WatchParams::default().labels("mine=yes");
    let mut watch = maps.watch(&params, &revision).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    match watch.next().await {
        Some(Ok(WatchEvent::Deleted(gone))) => assert_eq!(gone.data["data"]["k"], "2"),
        other => panic!("{other:?}"),
    }
    target.clean_up().await;
}

#[tokio::test]
async fn a_kind_is_found_through_the_mapper() {
    let target = Target::start().await;
    let dynamic = DynamicClient::new(target.client.clone());
    let deployment = GroupVersionKind::new("apps", "v1", "Deployment");
    let deployments = dynamic.kind(&deployment, Some("x")).await.unwrap();
    assert_eq!(
        (
            deployments.resource().resource.as_str(),
            deployments.in_namespace()
        ),
        ("deployments", Some("x"))
    );
    // A namespace is for kinds that have one.
    let nodes = dynamic
        .kind(&GroupVersionKind::new("", "v1", "Node"), Some("x"))
        .await
        .unwrap();
    assert_eq!(nodes.in_namespace(), None);

    let unknown = dynamic
        .kind(&GroupVersionKind::new("apps", "v1", "Deploiment"), None)
        .await;
    assert_eq!(
        unknown.err().unwrap().to_string(),
        r#"no matches for kind "Deploiment" in version "apps/v1""#
    );

    let mut map =
        object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
    map.metadata.namespace = Some(target.namespace.clone());
    let place = dynamic.for_object(&map).await.unwrap();
    place.apply(&PatchParams::apply("me"), &map).await.unwrap();
    assert!(place.get("a").await.is_ok());
    let homeless = object(json!({"metadata": {"name": "a"}}));
    assert!(matches!(
        dynamic.for_object(&homeless).await,
        Err(Error::Request(_))
    ));
    target.clean_up().await;
}

#[tokio::test]
async fn names_are_checked_before_anything_is_sent() {
    let target = Target::start().await;
    let maps = DynamicClient::new(target.client.clone()).resource(&maps());
    let maps = maps.namespace(&target.namespace);
    for name in ["", ".", "..", "a/b", "a%2Fb"] {
        let get = maps.get(name).await;
        assert!(matches!(get, Err(Error::Request(_))), "{name}");
        let delete = maps.delete(name, &DeleteParams::default()).await;
        assert!(matches!(delete, Err(Error::Request(_))), "{name}");
    }
    let climbing = maps
        .clone()
        .namespace("../../x")
        .list(&ListParams::default())
        .await;
    assert!(matches!(climbing, Err(Error::Request(_))));
    // What is odd and no climber reaches the server, escaped.
    assert!(maps.get("a?b#c d").await.unwrap_err().is_not_found());
    let unnamed = object(json!({"apiVersion": "v1", "kind": "ConfigMap"}));
    let sub = maps.clone().subresource("odd");
    assert!(matches!(
        sub.create(&PostParams::default(), &unnamed).await,
        Err(Error::Request(_))
    ));
    assert!(matches!(
        maps.update(&PostParams::default(), &unnamed).await,
        Err(Error::Request(_))
    ));
    target.clean_up().await;
}

#[tokio::test]
async fn a_subresource_is_created_under_its_object() {
    let target = Target::start().await;
    let dynamic = DynamicClient::new(target.client.clone());
    let accounts = GroupVersionResource::new("", "v1", "serviceaccounts");
    let accounts = dynamic.resource(&accounts).namespace(&target.namespace);
    let account = object(
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}),
    );
    accounts
        .create(&PostParams::default(), &account)
        .await
        .unwrap();
    let request = object(json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"name": "robot"}, "spec": {"audiences": []},
    }));
    let answer = accounts
        .subresource("token")
        .create(&PostParams::default(), &request)
        .await
        .unwrap();
    assert!(
        answer.data["status"]["token"]
            .as_str()
            .is_some_and(|token| !token.is_empty())
    );
    target.clean_up().await;
}
