//! Objects as Rust types.

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, ResourceExt,
    api::{
        DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, WatchEvent,
        WatchParams,
    },
};
use kubewright_apiserver::request::Verb;
use kubewright_client::{ClientSet, Deletion, Error, TypedClient, retry_on_conflict};
use kubewright_testing::{Fault, Match};
use serde_json::json;

use crate::{
    front::Front,
    target::{Target, map},
};

fn post() -> PostParams {
    PostParams::default()
}

#[tokio::test]
async fn every_verb_works_on_a_type() {
    let target = Target::start().await;
    let set = ClientSet::new(target.client.clone());
    let maps = set.namespaced::<ConfigMap>(&target.namespace);
    let created = maps.create(&post(), &map("a", "1")).await.unwrap();
    assert!(
        maps.create(&post(), &map("a", "1"))
            .await
            .unwrap_err()
            .is_already_exists()
    );

    let mut changed = created.clone();
    changed.data = Some([("value".to_owned(), "2".to_owned())].into());
    let updated = maps.update(&post(), &changed).await.unwrap();
    assert_ne!(updated.resource_version(), created.resource_version());
    assert!(
        maps.update(&post(), &changed)
            .await
            .unwrap_err()
            .is_conflict()
    );
    let at = GetParams::at(&updated.resource_version().unwrap());
    assert_eq!(maps.get_with("a", &at).await.unwrap(), updated);

    let labels = Patch::Merge(json!({"metadata": {"labels": {"colour": "red"}}}));
    maps.patch("a", &PatchParams::default(), &labels)
        .await
        .unwrap();
    let applied = maps
        .apply(&PatchParams::apply("me").force(), &map("b", "1"))
        .await
        .unwrap();
    assert_eq!(applied.managed_fields()[0].manager.as_deref(), Some("me"));

    let red = maps
        .list(&ListParams::default().labels("colour=red"))
        .await
        .unwrap();
    assert_eq!(
        red.items
            .iter()
            .map(ResourceExt::name_any)
            .collect::<Vec<_>>(),
        ["a"]
    );
    assert_eq!(red.types.kind, "ConfigMapList");
    assert!(red.metadata.resource_version.is_some());

    assert_eq!(maps.get_opt("nope").await.unwrap(), None);
    assert!(matches!(
        maps.delete("a", &DeleteParams::default()).await,
        Ok(Deletion::Done(_))
    ));
    maps.delete_collection(
        &DeleteParams::default(),
        &ListParams::default().fields("metadata.name=b"),
    )
    .await
    .unwrap();
    assert_eq!(maps.get_opt("b").await.unwrap(), None);
    target.clean_up().await;
}

#[tokio::test]
async fn a_deletion_that_waits_shows_the_object() {
    let target = Target::start().await;
    let maps = ClientSet::new(target.client.clone()).namespaced::<ConfigMap>(&target.namespace);
    let mut held = map("a", "1");
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    maps.create(&post(), &held).await.unwrap();
    match maps.delete("a", &DeleteParams::default()).await.unwrap() {
        Deletion::Begun(object) => assert!(object.metadata.deletion_timestamp.is_some()),
        done => panic!("{done:?}"),
    }
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("a", &PatchParams::default(), &free)
        .await
        .unwrap();
    assert_eq!(maps.get_opt("a").await.unwrap(), None);
    target.clean_up().await;
}

#[tokio::test]
async fn a_watch_continues_from_a_list() {
    let target = Target::start().await;
    let maps = ClientSet::new(target.client.clone()).namespaced::<ConfigMap>(&target.namespace);
    let list = maps.list(&ListParams::default()).await.unwrap();
    let revision = list.metadata.resource_version.unwrap();
    let only = WatchParams::default().fields("metadata.name=a");
    let mut watch = maps.watch(&only, &revision).await.unwrap();
    maps.create(&post(), &map("a", "1")).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(_)))));
    assert!(
        matches!(watch.next().await, Some(Ok(WatchEvent::Deleted(map))) if map.name_any() == "a")
    );
    target.clean_up().await;
}

#[tokio::test]
async fn a_long_list_comes_in_pages_and_item_by_item() {
    let target = Target::start().await;
    let maps = ClientSet::new(target.client.clone()).namespaced::<ConfigMap>(&target.namespace);
    let labelled = |name: String| {
        let mut map = map(&name, "1");
        map.metadata.labels = Some([("mine".to_owned(), "yes".to_owned())].into());
        map
    };
    for i in 0..5 {
        let map = labelled(format!("m{i}"));
        maps.create(&post(), &map).await.unwrap();
    }
    let mine = ListParams::default().labels("mine=yes").limit(2);
    let whole = maps.list_paged(&mine).await.unwrap();
    assert_eq!((whole.items.len(), whole.metadata.continue_), (5, None));

    let mut pages = maps.pages(&mine);
    let first = pages.next().await.unwrap().unwrap();
    // The pages are of one moment, and this is after it.
    let late = labelled("m9".to_owned());
    maps.create(&post(), &late).await.unwrap();
    let mut sizes = vec![first.items.len()];
    while let Some(page) = pages.next().await.unwrap() {
        assert_eq!(
            page.metadata.resource_version,
            first.metadata.resource_version
        );
        sizes.push(page.items.len());
    }
    assert_eq!(sizes, [2, 2, 1]);
    maps.delete("m9", &DeleteParams::default()).await.unwrap();

    let mut each = maps
        .list_each(&ListParams::default().labels("mine=yes"))
        .await
        .unwrap();
    let mut names = Vec::new();
    while let Some(map) = each.next().await.unwrap() {
        names.push(map.name_any());
    }
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4"]);
    assert_eq!(each.finish().unwrap().kind, "ConfigMapList");
    target.clean_up().await;
}

#[tokio::test]
async fn a_watch_that_breaks_off_is_an_error_and_ends() {
    let front = Front::start().await;
    let maps = ClientSet::new(front.client()).namespaced::<ConfigMap>("default");
    let on = Match::verb(Verb::Watch).resource("configmaps");
    front
        .cluster()
        .faults()
        .inject(Fault::DropWatch { after: 1 }, on, 1);
    let revision = front.cluster().revision().await.to_string();
    let mut watch = maps
        .watch(&WatchParams::default(), &revision)
        .await
        .unwrap();
    maps.create(&post(), &map("a", "1")).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(_)))));
    assert!(matches!(watch.next().await, Some(Err(Error::Transport(_)))));
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_watch_that_ends_within_an_event_is_an_error() {
    let front = Front::start().await;
    let maps = ClientSet::new(front.client()).namespaced::<ConfigMap>("default");
    front.answer(|_| {
        let event = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
        Some(http::Response::new(
            format!("{event}\n{}", &event[..20]).into(),
        ))
    });
    let mut watch = maps.watch(&WatchParams::default(), "0").await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(_)))));
    assert!(matches!(watch.next().await, Some(Err(Error::Decode(_)))));
    assert!(watch.next().await.is_none());
    // The server's own word that it is over is an event.
    front.answer(|_| {
        let gone = r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,"reason":"Expired"}}"#;
        Some(http::Response::new(gone.into()))
    });
    let mut watch = maps.watch(&WatchParams::default(), "1").await.unwrap();
    assert!(
        matches!(watch.next().await, Some(Ok(WatchEvent::Error(status))) if status.code == 410)
    );
}

#[tokio::test]
async fn pages_that_expire_end_in_one_whole_list() {
    let front = Front::start().await;
    let maps = ClientSet::new(front.client()).namespaced::<ConfigMap>("default");
    for i in 0..5 {
        maps.create(&post(), &map(&format!("m{i}"), "1"))
            .await
            .unwrap();
    }
    front.seen();
    let gone = || {
        front.answer(|request| {
            let later = request.uri().query().is_some_and(|query| query.contains("continue="));
            later.then(|| {
                let status = json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"});
                http::Response::builder().status(410).body(status.to_string().into()).unwrap()
            })
        });
    };
    gone();
    let params = ListParams::default().limit(2);
    assert_eq!(maps.list_paged(&params).await.unwrap().items.len(), 5);
    let seen = front.seen();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert!(
        seen[1].contains("continue=") && !seen[2].contains("continue="),
        "{seen:?}"
    );
    // The caller is notified of every page.
    let mut pages = maps.pages(&params);
    assert!(pages.next().await.unwrap().is_some());
    assert!(pages.next().await.unwrap_err().is_expired());
    assert!(pages.next().await.unwrap().is_none());
}

#[tokio::test]
async fn half_a_list_is_an_error() {
    let front = Front::start().await;
    front.answer(|_| {
        let body = r#"{"kind":"ConfigMapList","metadata":{},"items":[{"metadata":{"name":"a"}}"#;
        Some(http::Response::new(body.into()))
    });
    let maps = ClientSet::new(front.client()).namespaced::<ConfigMap>("default");
    let error = maps.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(error, Error::Decode(_)), "{error}");
    front.answer(|_| {
        Some(http::Response::new(
            r#"{"items":[{"metadata":{}},{"metadata":7}]}"#.into(),
        ))
    });
    let error = maps.list(&ListParams::default()).await.unwrap_err();
    assert!(error.to_string().contains("items[1]"), "{error}");
}

#[tokio::test]
async fn kube_api_and_the_typed_client_see_the_same() {
    let target = Target::start().await;
    let set = ClientSet::new(target.client.clone());
    let api: Api<ConfigMap> = set.api_namespaced(&target.namespace);
    api.create(&post(), &map("a", "1")).await.unwrap();
    let maps = TypedClient::from(api);
    assert_eq!(maps.in_namespace(), Some(target.namespace.as_str()));
    assert!(maps.get("a").await.is_ok());
    let namespaces = set.cluster::<Namespace>();
    assert!(namespaces.get(&target.namespace).await.is_ok());
    let everywhere = set.all::<ConfigMap>();
    let found = everywhere
        .list(&ListParams::default().fields("metadata.name=a"))
        .await
        .unwrap();
    assert!(
        found
            .items
            .iter()
            .any(|map| map.namespace().as_deref() == Some(&*target.namespace))
    );
    target.clean_up().await;
}

#[tokio::test]
async fn the_status_is_written_by_itself() {
    let target = Target::start().await;
    let namespaces = ClientSet::new(target.client.clone()).cluster::<Namespace>();
    let mut namespace = namespaces.get(&target.namespace).await.unwrap();
    namespace
        .metadata
        .labels
        .get_or_insert_default()
        .insert("a".into(), "b".into());
    let condition = serde_json::from_value(json!({"type": "Tested", "status": "True"})).unwrap();
    namespace.status.get_or_insert_default().conditions = Some(vec![condition]);
    let updated = namespaces.update_status(&post(), &namespace).await.unwrap();
    assert_eq!(
        updated.status.unwrap().conditions.unwrap()[0].type_,
        "Tested"
    );
    let of_status = namespaces.clone().subresource("status");
    assert!(
        of_status
            .get(&target.namespace)
            .await
            .unwrap()
            .status
            .is_some()
    );
    target.clean_up().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_is_made_again_after_a_conflict() {
    let front = Front::start().await;
    let maps = ClientSet::new(front.client()).namespaced::<ConfigMap>("default");
    maps.create(&post(), &map("a", "1")).await.unwrap();
    let on = Match::verb(Verb::Update).resource("configmaps");
    front.cluster().faults().inject(Fault::Conflict, on, 2);
    let changed = retry_on_conflict(async || {
        let mut map = maps.get("a").await?;
        map.data = None;
        maps.update(&post(), &map).await
    });
    assert_eq!(changed.await.unwrap().data, None);
    assert_eq!(front.cluster().faults().pending(), 0);
}

#[tokio::test]
async fn objects_that_were_read_cannot_be_applied() {
    let target = Target::start().await;
    let maps = ClientSet::new(target.client.clone()).namespaced::<ConfigMap>(&target.namespace);
    let read = maps.create(&post(), &map("a", "1")).await.unwrap();
    let error = maps
        .apply(&PatchParams::apply("me"), &read)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Request(_)), "{error}");
    target.clean_up().await;
}
