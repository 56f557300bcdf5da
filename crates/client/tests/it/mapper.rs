//! From kinds to resources, on a server that changes.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use kubewright_client::{DiscoveryClient, DiscoveryRestMapper, Error, discovery::MemoryCache};
use kubewright_machinery::gvk::{GroupKind, GroupVersionResource};
use serde_json::json;

use crate::{front::Front, target::Target};

fn mapper(client: kube::Client) -> DiscoveryRestMapper {
    DiscoveryRestMapper::new(Arc::new(MemoryCache::new(DiscoveryClient::new(client))))
}

fn cart() -> GroupKind {
    GroupKind::new("shop.example.com", "Cart")
}

/// As if somebody had made a CRD.
fn open_the_shop(front: &Front) {
    front.rewrite(|path, mut json| {
        if path == "/apis" {
            json["items"].as_array_mut().unwrap().push(json!({
                "metadata": {"name": "shop.example.com"},
                "versions": [{"version": "v1", "freshness": "Current", "resources": [{
                    "resource": "carts", "scope": "Namespaced", "singularResource": "cart", "shortNames": ["ct"],
                    "responseKind": {"group": "shop.example.com", "version": "v1", "kind": "Cart"},
                }]}],
            }));
        }
        json
    });
}

#[tokio::test]
async fn built_in_kinds_and_resources_are_found() {
    let target = Target::start().await;
    let mapper = mapper(target.client.clone());
    let mapping = mapper
        .mapping(&GroupKind::new("apps", "Deployment"), &["v1"])
        .await
        .unwrap();
    assert_eq!(
        mapping.resource.to_string(),
        "apps/v1, Resource=deployments"
    );
    for (typed, resource) in [
        ("po", "/v1, Resource=pods"),
        ("pod", "/v1, Resource=pods"),
        ("events", "/v1, Resource=events"),
        ("events.events.k8s.io", "events.k8s.io/v1, Resource=events"),
        ("deploy", "apps/v1, Resource=deployments"),
        ("deployments.v1.apps", "apps/v1, Resource=deployments"),
        (
            "hpa.autoscal",
            "autoscaling/v2, Resource=horizontalpodautoscalers",
        ),
        (
            "horizontalpodautoscalers.v1.autoscaling",
            "autoscaling/v1, Resource=horizontalpodautoscalers",
        ),
    ] {
        assert_eq!(
            mapper.find(typed).await.unwrap().resource.to_string(),
            resource,
            "{typed}"
        );
    }
    let all = mapper.category("all").await.unwrap();
    assert!(
        all.iter()
            .any(|member| member.to_string() == "deployments.apps"),
        "{all:?}"
    );
    target.clean_up().await;
}

#[tokio::test]
async fn a_kind_that_appears_is_found() {
    let front = Front::start().await;
    let mapper = mapper(front.client());
    mapper
        .mapping(&GroupKind::new("", "Pod"), &[])
        .await
        .unwrap();
    front.seen();
    open_the_shop(&front);
    // What is known is not asked for.
    mapper
        .mapping(&GroupKind::new("", "Node"), &[])
        .await
        .unwrap();
    assert_eq!(front.seen(), [""; 0]);
    let mapping = mapper.mapping(&cart(), &[]).await.unwrap();
    assert_eq!(
        mapping.resource.to_string(),
        "shop.example.com/v1, Resource=carts"
    );
    assert_eq!(front.seen(), ["GET /api", "GET /apis"]);
    assert_eq!(mapper.find("ct").await.unwrap().kind.kind, "Cart");
    mapper.reset().await;
    front.honest();
    mapper.snapshot().await.unwrap();
    open_the_shop(&front);
    let mapping = mapper.find("cart.v1.shop.example.com").await.unwrap();
    assert_eq!(mapping.kind.kind, "Cart");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_there_does_not_keep_the_server_busy() {
    let front = Front::start().await;
    let mapper = mapper(front.client());
    mapper.snapshot().await.unwrap();
    front.seen();
    for _ in 0..10 {
        let error = mapper.mapping(&cart(), &[]).await.unwrap_err();
        assert!(matches!(error, Error::Mapping(_)), "{error}");
    }
    assert_eq!(front.seen().len(), 2);
    open_the_shop(&front);
    assert!(mapper.mapping(&cart(), &[]).await.is_err());
    tokio::time::advance(Duration::from_secs(11)).await;
    assert!(mapper.mapping(&cart(), &[]).await.is_ok());
    assert_eq!(front.seen().len(), 2);
}

#[tokio::test]
async fn concurrent_callers_share_one_discovery() {
    let front = Front::start().await;
    let mapper = mapper(front.client());
    let pods = GroupVersionResource::new("", "", "pods");
    let found = join_all((0..20).map(|_| mapper.resource_for(&pods))).await;
    assert!(found.iter().all(Result::is_ok));
    assert_eq!(front.seen(), ["GET /api", "GET /apis"]);
    open_the_shop(&front);
    let cart = cart();
    let found = join_all((0..20).map(|_| mapper.mapping(&cart, &[]))).await;
    assert!(found.iter().all(Result::is_ok));
    assert_eq!(front.seen(), ["GET /api", "GET /apis"]);
}

#[tokio::test]
async fn a_group_that_could_not_be_discovered_is_the_reason() {
    let front = Front::start().await;
    front.rewrite(|path, mut json| {
        if path == "/apis" {
            json["items"].as_array_mut().unwrap().push(json!({
                "metadata": {"name": "shop.example.com"},
                "versions": [{"version": "v1", "freshness": "Stale", "resources": []}],
            }));
        }
        json
    });
    let mapper = mapper(front.client());
    // What is known is known.
    assert!(
        mapper
            .mapping(&GroupKind::new("apps", "Deployment"), &[])
            .await
            .is_ok()
    );
    let error = mapper.mapping(&cart(), &[]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "unable to retrieve the complete list of server APIs: shop.example.com/v1: \
         stale GroupVersion discovery: shop.example.com/v1"
    );
}

#[tokio::test]
async fn an_unreachable_server_is_not_a_missing_kind() {
    let front = Front::start().await;
    let mapper = mapper(front.client());
    mapper.snapshot().await.unwrap();
    front.answer(|_| Some(crate::front::reply(503, "away")));
    assert_eq!(
        mapper.mapping(&cart(), &[]).await.unwrap_err().code(),
        Some(503)
    );
    // What is known stays known.
    assert!(
        mapper
            .mapping(&GroupKind::new("", "Pod"), &[])
            .await
            .is_ok()
    );
    mapper.reset().await;
    assert!(
        mapper
            .mapping(&GroupKind::new("", "Pod"), &[])
            .await
            .is_err()
    );
    front.honest();
    assert!(
        mapper
            .mapping(&GroupKind::new("", "Pod"), &[])
            .await
            .is_ok()
    );
}
