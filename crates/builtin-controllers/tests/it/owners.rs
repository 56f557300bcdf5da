//! Dependents whose owners are deleted.

use k8s_openapi::api::core::v1::Event;
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams, PropagationPolicy},
};
use kubewright_builtin_controllers::Controllers;
use kubewright_controller::wait::{wait_for, wait_for_deletion};
use kubewright_testing::TestCluster;
use serde_json::json;

use crate::fixture::{Fixture, LONG, blocked_owner, owner, owners_of};

const GC: &str = "garbagecollector";

#[tokio::test(flavor = "multi_thread")]
async fn in_the_background_the_owner_goes_first_and_its_dependents_follow() {
    let f = Fixture::start(GC).await;
    let parent = f.map("parent", &[]).await;
    let child = f.map("child", &[owner(&parent)]).await;
    f.map("grandchild", &[owner(&child)]).await;
    f.map("stranger", &[]).await;
    f.delete("parent", PropagationPolicy::Background).await;
    assert!(f.find("parent").await.is_none());
    f.gone("child").await;
    f.gone("grandchild").await;
    assert!(f.find("stranger").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_foreground_the_owner_waits_for_the_dependents_that_block_it() {
    let f = Fixture::start(GC).await;
    let parent = f.map("parent", &[]).await;
    f.map("blocks", &[blocked_owner(&parent)]).await;
    f.finalizers("blocks", &["shop/hold"]).await;
    f.settled().await;
    f.delete("parent", PropagationPolicy::Foreground).await;
    f.until("blocks", |map| map.metadata.deletion_timestamp.is_some())
        .await;
    f.settled().await;
    let parent = f.find("parent").await.expect("it waits");
    assert_eq!(parent.finalizers(), ["foregroundDeletion"]);
    f.finalizers("blocks", &[]).await;
    f.gone("blocks").await;
    f.gone("parent").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_foreground_the_owner_does_not_wait_for_dependents_that_do_not_block_it() {
    let f = Fixture::start(GC).await;
    let parent = f.map("parent", &[]).await;
    f.map("child", &[owner(&parent)]).await;
    f.finalizers("child", &["shop/hold"]).await;
    f.settled().await;
    f.delete("parent", PropagationPolicy::Foreground).await;
    f.gone("parent").await;
    f.until("child", |map| map.metadata.deletion_timestamp.is_some())
        .await;
    f.finalizers("child", &[]).await;
    f.gone("child").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_that_no_longer_blocks_lets_its_owner_go() {
    let f = Fixture::start(GC).await;
    let parent = f.map("parent", &[]).await;
    f.map("child", &[blocked_owner(&parent)]).await;
    f.finalizers("child", &["shop/hold"]).await;
    f.settled().await;
    f.delete("parent", PropagationPolicy::Foreground).await;
    f.until("child", |map| map.metadata.deletion_timestamp.is_some())
        .await;
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [owner(&parent)]}}));
    let maps = f.maps("default");
    maps.patch("child", &PatchParams::default(), &patch)
        .await
        .unwrap();
    f.gone("parent").await;
    assert!(f.find("child").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deep_tree_goes_in_the_foreground_from_its_leaves() {
    let f = Fixture::start(GC).await;
    let root = f.map("root", &[]).await;
    let branch = f.map("branch", &[blocked_owner(&root)]).await;
    f.map("leaf", &[blocked_owner(&branch)]).await;
    f.finalizers("leaf", &["shop/hold"]).await;
    f.settled().await;
    f.delete("root", PropagationPolicy::Foreground).await;
    f.until("leaf", |map| map.metadata.deletion_timestamp.is_some())
        .await;
    f.settled().await;
    for waiting in ["root", "branch"] {
        let waiting = f.find(waiting).await.expect("it waits");
        assert_eq!(waiting.finalizers(), ["foregroundDeletion"]);
    }
    f.finalizers("leaf", &[]).await;
    for name in ["leaf", "branch", "root"] {
        f.gone(name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_stay_without_their_owner() {
    let f = Fixture::start(GC).await;
    let parent = f.map("parent", &[]).await;
    let other = f.map("other", &[]).await;
    f.map("only", &[owner(&parent)]).await;
    f.map("both", &[owner(&parent), owner(&other)]).await;
    f.settled().await;
    f.delete("parent", PropagationPolicy::Orphan).await;
    f.gone("parent").await;
    f.settled().await;
    assert!(owners_of(&f.find("only").await.unwrap()).is_empty());
    assert_eq!(owners_of(&f.find("both").await.unwrap()), ["other"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_to_an_owner_that_is_gone_is_removed_while_another_is_there() {
    let f = Fixture::start(GC).await;
    let one = f.map("one", &[]).await;
    let two = f.map("two", &[]).await;
    f.map("child", &[owner(&one), owner(&two)]).await;
    f.settled().await;
    f.delete("one", PropagationPolicy::Background).await;
    let child = f.until("child", |map| owners_of(map).len() == 1).await;
    assert_eq!(owners_of(&child), ["two"]);
    f.delete("two", PropagationPolicy::Background).await;
    f.gone("child").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_that_another_keeps_does_not_hold_up_an_owner_in_the_foreground() {
    let f = Fixture::start(GC).await;
    let one = f.map("one", &[]).await;
    let two = f.map("two", &[]).await;
    f.map("child", &[blocked_owner(&one), blocked_owner(&two)])
        .await;
    f.settled().await;
    f.delete("one", PropagationPolicy::Foreground).await;
    f.gone("one").await;
    let child = f.find("child").await.expect("the other owner keeps it");
    assert_eq!(owners_of(&child), ["two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_never_was_is_as_good_as_gone() {
    let f = Fixture::start(GC).await;
    let ghost = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "none"});
    f.map("child", std::slice::from_ref(&ghost)).await;
    f.gone("child").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_is_known_by_its_uid_not_by_its_name() {
    let f = Fixture::start(GC).await;
    let parent = f.map("parent", &[]).await;
    let mut former = owner(&parent);
    former["uid"] = "another".into();
    f.map("child", &[former]).await;
    f.gone("child").await;
    assert!(f.find("parent").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_circle_goes_as_a_whole() {
    for policy in [PropagationPolicy::Background, PropagationPolicy::Foreground] {
        let f = Fixture::start(GC).await;
        let first = f.map("first", &[]).await;
        let second = f.map("second", &[blocked_owner(&first)]).await;
        let third = f.map("third", &[blocked_owner(&second)]).await;
        let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [blocked_owner(&third)]}}));
        let maps = f.maps("default");
        maps.patch("first", &PatchParams::default(), &patch)
            .await
            .unwrap();
        f.settled().await;
        f.delete("first", policy).await;
        for name in ["first", "second", "third"] {
            f.gone(name).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_in_another_namespace_does_not_count_and_is_reported() {
    let f = Fixture::start(GC).await;
    f.namespace("other").await;
    let parent = f.map("parent", &[]).await;
    f.settled().await;
    f.map_in("other", "child", &[owner(&parent)]).await;
    wait_for_deletion(&f.maps("other"), "child", None, LONG)
        .await
        .unwrap();
    assert!(f.find("parent").await.is_some());
    let events: Api<Event> = Api::namespaced(f.client(), "other");
    let name = loop {
        let events = events.list(&ListParams::default()).await.unwrap();
        if let Some(event) = events.items.first() {
            break event.name_any();
        }
        tokio::task::yield_now().await;
    };
    let event = wait_for(&events, &name, LONG, |event| event.is_some())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.reason.as_deref(), Some("OwnerRefInvalidNamespace"));
    let component = event.source.and_then(|source| source.component);
    assert_eq!(component.as_deref(), Some("garbage-collector-controller"));
    let uid = parent.uid().unwrap();
    assert_eq!(
        event.message.unwrap(),
        format!(
            "ownerRef [v1/ConfigMap, namespace: other, name: parent, uid: {uid}] does not exist in namespace \"other\""
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_without_a_namespace_keeps_an_owner_that_has_one() {
    let f = Fixture::start(GC).await;
    let parent = f.map("parent", &[]).await;
    let class = |name: &str, owners: &[serde_json::Value]| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "ownerReferences": owners},
            "value": 1,
        })
    };
    f.create(class("wrong", &[owner(&parent)])).await;
    f.delete("parent", PropagationPolicy::Background).await;
    f.settled().await;
    let classes: Api<k8s_openapi::api::scheduling::v1::PriorityClass> = Api::all(f.client());
    assert!(classes.get_opt("wrong").await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_without_a_namespace_owns_everywhere() {
    let f = Fixture::start(GC).await;
    let class = f
        .create(json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "owner"},
            "value": 1,
        }))
        .await;
    let owner = json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "name": "owner",
        "uid": class.uid().unwrap(),
    });
    f.map("child", std::slice::from_ref(&owner)).await;
    f.settled().await;
    assert!(f.find("child").await.is_some());
    let classes: Api<k8s_openapi::api::scheduling::v1::PriorityClass> = Api::all(f.client());
    classes.delete("owner", &Default::default()).await.unwrap();
    f.gone("child").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_behind_before_the_start_is_collected() {
    let f = Fixture::without(TestCluster::start().await);
    let parent = f.map("parent", &[]).await;
    f.map("child", &[owner(&parent)]).await;
    f.map("orphan", &[]).await;
    let waits = f.map("waits", &[]).await;
    f.map("blocks", &[blocked_owner(&waits)]).await;
    f.delete("parent", PropagationPolicy::Background).await;
    f.delete("waits", PropagationPolicy::Foreground).await;
    f.delete("orphan", PropagationPolicy::Orphan).await;
    let f = f.with(&Controllers::parse(GC).unwrap());
    for name in ["child", "blocks", "waits", "orphan"] {
        f.gone(name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_dependents_go_with_their_owner() {
    let f = Fixture::start(GC).await;
    let parent = f.map("parent", &[]).await;
    for number in 0..500 {
        f.map(&format!("child-{number}"), &[blocked_owner(&parent)])
            .await;
    }
    f.delete("parent", PropagationPolicy::Foreground).await;
    f.gone("parent").await;
    let left = f.maps("default").list(&ListParams::default()).await;
    assert!(left.unwrap().items.is_empty());
}
