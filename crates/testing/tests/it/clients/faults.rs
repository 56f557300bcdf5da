//! Injected faults: each affects the selected requests, as often as requested, and no others.

use std::time::Duration;

use futures_util::StreamExt;
use http::Request;
use http_body_util::BodyExt;
use kube::{
    ResourceExt,
    api::{DeleteParams, PostParams, WatchEvent, WatchParams},
};
use kubewright_apiserver::{Body, request::Verb};
use kubewright_machinery::status;
use kubewright_testing::{Fault, Match, TestCluster};
use serde_json::Value;
use tower::Service;

use super::{code, create, map, maps, over_tls};

#[tokio::test]
async fn a_conflict_is_injected_as_often_as_requested() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    create(&maps, "a").await;
    cluster.faults().inject(
        Fault::Conflict,
        Match::verb(Verb::Update).resource("configmaps").name("a"),
        2,
    );
    assert_eq!(cluster.faults().pending(), 2);
    let before = cluster.revision().await;
    for _ in 0..2 {
        assert_eq!(
            code(
                maps.replace("a", &PostParams::default(), &map("a", "2"))
                    .await
            ),
            409
        );
    }
    assert_eq!(
        (cluster.faults().pending(), cluster.revision().await),
        (0, before)
    );
    maps.replace("a", &PostParams::default(), &map("a", "2"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_fault_affects_only_matching_requests() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    create(&maps, "a").await;
    create(&maps, "b").await;
    cluster
        .faults()
        .inject(Fault::Conflict, Match::verb(Verb::Update).name("b"), 1);
    maps.replace("a", &PostParams::default(), &map("a", "2"))
        .await
        .unwrap();
    maps.get("b").await.unwrap();
    assert_eq!(cluster.faults().pending(), 1);
    assert_eq!(
        code(
            maps.replace("b", &PostParams::default(), &map("b", "2"))
                .await
        ),
        409
    );
    cluster
        .faults()
        .inject(Fault::Conflict, Match::default(), 5);
    cluster.faults().clear();
    maps.delete("b", &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn faults_affect_requests_over_tls() {
    let cluster = TestCluster::start().await;
    let endpoint = cluster.listen().await.unwrap();
    let outside = maps(&over_tls(&endpoint).await);
    cluster
        .faults()
        .inject(Fault::Conflict, Match::verb(Verb::Create), 1);
    assert_eq!(
        code(outside.create(&PostParams::default(), &map("a", "1")).await),
        409
    );
    create(&outside, "a").await;
}

#[tokio::test]
async fn gone_is_seen_by_lists_and_watches() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    cluster
        .faults()
        .inject(Fault::Gone, Match::verb(Verb::List), 1);
    cluster
        .faults()
        .inject(Fault::Gone, Match::verb(Verb::Watch), 1);
    assert_eq!(code(maps.list(&Default::default()).await), 410);
    assert_eq!(
        code(maps.watch(&WatchParams::default(), "0").await.map(|_| ())),
        410
    );
    maps.list(&Default::default()).await.unwrap();
    assert_eq!(cluster.faults().pending(), 0);
}

#[tokio::test]
async fn too_many_requests_carry_retry_after() {
    let cluster = TestCluster::start().await;
    cluster.faults().inject(
        Fault::TooManyRequests { retry_after: 7 },
        Match::verb(Verb::Get),
        1,
    );
    let get = async || {
        let request = Request::get("/api/v1/namespaces/default/configmaps/a");
        let request = request.body(Body::empty()).expect("a request");
        let Ok(response) = cluster.service().call(request).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        let status: Value = serde_json::from_slice(&body).expect("a status");
        (head, status)
    };
    let (head, status) = get().await;
    assert_eq!(head.status, 429);
    assert_eq!(status["reason"], "TooManyRequests");
    assert_eq!(status["details"]["retryAfterSeconds"], 7);
    assert_eq!(head.headers["retry-after"], "7");
    assert_eq!(get().await.0.status, 404);
}

#[tokio::test]
async fn an_overloaded_server_rejects_as_priority_and_fairness_does() {
    let cluster = TestCluster::start().await;
    let overloaded = Fault::Overloaded { retry_after: 2 };
    cluster
        .faults()
        .inject(overloaded, Match::verb(Verb::Get), 1);
    let audit = cluster.audit();
    let maps = maps(&cluster.client());
    let error = maps.get("a").await.expect_err("the server is overloaded");
    let kube::Error::Api(status) = error else {
        panic!("{error}")
    };
    assert_eq!(status.code, 429);
    assert!(
        status
            .message
            .contains("Too many requests, please try again later."),
        "{status:?}"
    );
    assert_eq!(audit.events().last().map(|event| event.code()), Some(429));
    assert!(maps.get_opt("a").await.expect("an answer").is_none());
}

#[tokio::test]
async fn any_error_status_can_be_injected() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    let refusal = status::internal("the disk is on fire");
    cluster.faults().inject(
        Fault::Refuse(Box::new(refusal)),
        Match::verb(Verb::Create),
        1,
    );
    match maps.create(&PostParams::default(), &map("a", "1")).await {
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, 500);
            assert!(
                status.message.contains("the disk is on fire"),
                "{}",
                status.message
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_dropped_watch_breaks_off() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    cluster
        .faults()
        .inject(Fault::DropWatch { after: 2 }, Match::verb(Verb::Watch), 1);
    let revision = cluster.revision().await.to_string();
    let watch = maps.watch(&WatchParams::default(), &revision).await;
    let mut events = Box::pin(watch.unwrap());
    for name in ["a", "b"] {
        create(&maps, name).await;
        let event = events.next().await.unwrap().unwrap();
        assert!(
            matches!(&event, WatchEvent::Added(map) if map.name_any() == name),
            "{event:?}"
        );
    }
    create(&maps, "c").await;
    // A break is an error, not an end.
    assert!(events.next().await.is_some_and(|event| event.is_err()));
    // Other watches are not affected.
    assert_eq!(cluster.faults().pending(), 0);
    let mut whole = Box::pin(maps.watch(&WatchParams::default(), "0").await.unwrap());
    for _ in 0..3 {
        assert!(matches!(whole.next().await, Some(Ok(WatchEvent::Added(_)))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_watch_is_delayed_and_complete() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    let delay = Duration::from_secs(5);
    cluster
        .faults()
        .inject(Fault::SlowWatch { delay }, Match::verb(Verb::Watch), 1);
    let began = tokio::time::Instant::now();
    let revision = cluster.revision().await.to_string();
    let watch = maps.watch(&WatchParams::default(), &revision).await;
    let mut events = Box::pin(watch.unwrap());
    create(&maps, "a").await;
    create(&maps, "b").await;
    for name in ["a", "b"] {
        let event = events.next().await.unwrap().unwrap();
        assert!(
            matches!(&event, WatchEvent::Added(map) if map.name_any() == name),
            "{event:?}"
        );
    }
    assert!(began.elapsed() >= delay);
}

#[tokio::test]
async fn faults_need_only_types_of_this_crate() {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kubewright_testing::{Status, Verb};

    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    create(&maps, "a").await;
    let refused = Status::failure(403, "Forbidden", "no maps today");
    let on = Match::kind::<ConfigMap>()
        .with_verb(Verb::Create)
        .namespace("default");
    let faults = cluster.faults();
    faults.inject(Fault::Refuse(Box::new(refused)), on, 1);
    let status = Match::kind::<ConfigMap>().subresource("status");
    faults.inject(Fault::refuse(500, "InternalError", "no"), status, 1);
    let elsewhere = Match::kind::<ConfigMap>().namespace("kube-system");
    faults.inject(Fault::Conflict, elsewhere, 1);
    let of_another_group = Match::kind::<k8s_openapi::api::apps::v1::Deployment>();
    faults.inject(Fault::Conflict, of_another_group, 1);

    let created = maps.create(&PostParams::default(), &map("b", "1")).await;
    assert_eq!(code(created), 403);
    create(&maps, "b").await;
    assert_eq!(faults.pending(), 3);
}
