//! Discovery that is remembered.

use kubewright_client::{DiscoveryClient, discovery::MemoryCache};
use kubewright_machinery::gvk::GroupVersion;

use crate::front::{Front, reply};

fn apps() -> GroupVersion {
    GroupVersion::new("apps", "v1")
}

#[tokio::test]
async fn the_server_is_asked_once() {
    let front = Front::start().await;
    let cache = MemoryCache::new(DiscoveryClient::new(front.client()));
    assert!(!cache.is_fresh());
    let apps = apps();
    let (groups, resources, all) =
        tokio::join!(cache.groups(), cache.resources(&apps), cache.discover());
    assert_eq!(groups.unwrap(), all.unwrap().groups);
    assert!(!resources.unwrap().resources.is_empty());
    assert_eq!(front.seen(), ["GET /api", "GET /apis"]);
    assert!(cache.is_fresh());

    cache.invalidate().await;
    assert!(!cache.is_fresh());
    cache.groups().await.unwrap();
    assert_eq!(front.seen().len(), 2);
}

#[tokio::test]
async fn unknown_groups_are_not_requested() {
    let front = Front::start().await;
    let cache = MemoryCache::new(DiscoveryClient::new(front.client()));
    cache.groups().await.unwrap();
    front.seen();
    let unknown = cache.resources(&GroupVersion::new("shop", "v1")).await;
    assert!(unknown.unwrap_err().is_not_found());
    assert_eq!(front.seen(), [""; 0]);
}

#[tokio::test]
async fn transient_failures_are_retried() {
    let front = Front::start().await;
    front.answer(|request| (request.uri().path() == "/apis/apps/v1").then(|| reply(503, "later")));
    let cache = MemoryCache::new(DiscoveryClient::new(front.client()).legacy_only());
    let found = cache.discover().await.unwrap();
    assert_eq!(found.failures.keys().collect::<Vec<_>>(), [&apps()]);
    front.seen();
    assert!(cache.resources(&apps()).await.unwrap_err().is_transient());
    assert_eq!(front.seen(), ["GET /apis/apps/v1"]);

    front.honest();
    assert!(!cache.resources(&apps()).await.unwrap().resources.is_empty());
    assert!(cache.discover().await.unwrap().failures.is_empty());
    assert_eq!(front.seen(), ["GET /apis/apps/v1"]);
}

#[tokio::test]
async fn permanent_failures_are_cached() {
    let front = Front::start().await;
    front.answer(|request| (request.uri().path() == "/apis/apps/v1").then(|| reply(403, "never")));
    let cache = MemoryCache::new(DiscoveryClient::new(front.client()).legacy_only());
    cache.groups().await.unwrap();
    front.honest();
    front.seen();
    assert!(cache.resources(&apps()).await.unwrap_err().is_forbidden());
    assert_eq!(front.seen(), [""; 0]);
    cache.invalidate().await;
    assert!(cache.resources(&apps()).await.is_ok());
}

#[tokio::test]
async fn a_failed_start_leaves_nothing_behind() {
    let front = Front::start().await;
    front.answer(|_| Some(reply(500, "no")));
    let cache = MemoryCache::new(DiscoveryClient::new(front.client()));
    assert!(cache.groups().await.is_err() && !cache.is_fresh());
    front.honest();
    assert!(cache.groups().await.is_ok() && cache.is_fresh());
}
