//! REST by path.

use std::time::Duration;

use futures_util::StreamExt;
use http::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::WatchEvent;
use kubewright_client::{Error, RestClient};
use kubewright_machinery::gvk::GroupVersion;
use serde_json::{Value, json};

use crate::{
    front::{Front, reply},
    target::{Target, map},
};

fn core(target: &Target) -> RestClient {
    RestClient::new(target.client.clone()).group_version(&GroupVersion::new("", "v1"))
}

#[tokio::test]
async fn every_verb_goes_by_path() {
    let target = Target::start().await;
    let rest = core(&target);
    let maps = |request: kubewright_client::RestRequest| {
        request.namespace(&target.namespace).resource("configmaps")
    };

    let made = maps(rest.post()).json(&map("a", "1")).send().await.unwrap();
    assert!(made.was_created());
    let mut object: Value = made.object().unwrap();
    let got: Value = maps(rest.get())
        .name("a")
        .send()
        .await
        .unwrap()
        .object()
        .unwrap();
    assert_eq!(got["metadata"]["uid"], object["metadata"]["uid"]);

    object["data"]["value"] = "2".into();
    let put = maps(rest.put())
        .name("a")
        .json(&object)
        .send()
        .await
        .unwrap();
    assert!(!put.was_created());
    let patch = json!({"metadata": {"labels": {"colour": "red"}}});
    let patched = maps(rest.patch())
        .name("a")
        .json_as("application/merge-patch+json", &patch);
    let patched: Value = patched.send().await.unwrap().object().unwrap();
    assert_eq!(
        (
            &patched["data"]["value"],
            &patched["metadata"]["labels"]["colour"]
        ),
        (&json!("2"), &json!("red"))
    );

    let none = maps(rest.get()).param("labelSelector", "colour=blue, a!=b");
    let none: Value = none.send().await.unwrap().object().unwrap();
    assert_eq!(none["items"], json!([]));

    maps(rest.delete()).name("a").send().await.unwrap();
    let error = maps(rest.get()).name("a").send().await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (Some(404), r#"configmaps "a" not found"#)
    );
    target.clean_up().await;
}

#[tokio::test]
async fn subresources_and_other_paths_are_reached() {
    let target = Target::start().await;
    let rest = core(&target);
    let status = rest
        .get()
        .resource("namespaces")
        .name("default")
        .subresource(["status"]);
    let status: Value = status.send().await.unwrap().object().unwrap();
    assert_eq!(status["status"]["phase"], "Active");
    let ready = rest.get().abs_path("/readyz").send().await.unwrap();
    assert_eq!(ready.text().unwrap(), "ok");
    target.clean_up().await;
}

#[tokio::test]
async fn a_watch_is_decoded_while_it_arrives() {
    let target = Target::start().await;
    let rest = core(&target);
    let maps = || {
        rest.get()
            .namespace(&target.namespace)
            .resource("configmaps")
    };
    let list: Value = maps().send().await.unwrap().object().unwrap();
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = maps()
        .param("resourceVersion", revision)
        .param("fieldSelector", "metadata.name=a");
    let mut watch = watch.watch::<ConfigMap>().await.unwrap();
    let post = rest
        .post()
        .namespace(&target.namespace)
        .resource("configmaps");
    post.json(&map("a", "1")).send().await.unwrap();
    rest.delete()
        .namespace(&target.namespace)
        .resource("configmaps")
        .name("a")
        .send()
        .await
        .unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(map))) if map.data.is_some()));
    assert!(matches!(
        watch.next().await,
        Some(Ok(WatchEvent::Deleted(_)))
    ));
    target.clean_up().await;
}

#[tokio::test]
async fn an_answer_can_be_read_in_chunks() {
    let target = Target::start().await;
    let chunks = core(&target)
        .get()
        .resource("namespaces")
        .stream()
        .await
        .unwrap();
    let chunks: Vec<_> = chunks.collect().await;
    let bytes: Vec<u8> = chunks
        .into_iter()
        .flat_map(|chunk| chunk.unwrap())
        .collect();
    let list: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(list["kind"], "NamespaceList");
    let refused = core(&target).get().resource("nothings").stream().await;
    assert!(refused.err().unwrap().is_not_found());
    target.clean_up().await;
}

#[tokio::test]
async fn invalid_requests_are_not_sent() {
    let front = Front::start().await;
    let rest = RestClient::new(front.client()).group_version(&GroupVersion::new("", "v1"));
    for (request, why) in [
        (
            rest.post().namespace("").resource("pods"),
            "an empty namespace may not be set during creation",
        ),
        (
            rest.get().namespace("").resource("pods").name("a"),
            "an empty namespace may not be set when a resource name is provided",
        ),
        (rest.get().name("a").name("b"), "name already set"),
        (
            rest.get().resource("a").resource("b"),
            "resource already set",
        ),
        (
            rest.get().namespace("a").namespace("b"),
            "namespace already set",
        ),
        (
            rest.get().subresource(["a"]).subresource(["b"]),
            "subresource already set",
        ),
        (
            rest.get().resource("pods").name(""),
            "resource name may not be empty",
        ),
        (rest.get().resource("pods").name(".."), "invalid name"),
        (
            rest.get().namespace("a/b").resource("pods"),
            "invalid namespace",
        ),
        (
            rest.get().resource("pods").name("a").subresource(["%2f"]),
            "invalid subresource",
        ),
        (rest.get().header("a b", "c"), "invalid header"),
    ] {
        let error = request.send().await.unwrap_err();
        assert!(
            matches!(&error, Error::Request(text) if text.contains(why)),
            "{error}"
        );
    }
    assert_eq!(front.seen(), [""; 0]);
    // An empty namespace is all of them, for what works on all.
    rest.get()
        .namespace("")
        .resource("pods")
        .send()
        .await
        .unwrap();
    assert_eq!(front.seen(), ["GET /api/v1/pods"]);
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_holds_and_is_sent_to_the_server() {
    let front = Front::start().await;
    let rest = RestClient::new(front.client());
    rest.get()
        .abs_path("/version")
        .timeout(Duration::from_millis(1500))
        .send()
        .await
        .unwrap();
    assert_eq!(front.seen(), ["GET /version?timeout=1%2E5s"]);

    // A client without layers still keeps to the limit of its request.
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<kube::client::Body>, std::io::Error>>()
    });
    let rest = RestClient::new(kube::Client::new(silent, "default"));
    let limit = Duration::from_secs(3);
    let error = rest
        .verb(Method::OPTIONS)
        .abs_path("/")
        .timeout(limit)
        .send()
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::TimedOut(after) if after == limit),
        "{error}"
    );
}

#[tokio::test]
async fn a_failure_without_a_status_becomes_one() {
    let front = Front::start().await;
    front.answer(|_| Some(reply(503, "upstream is away")));
    let error = RestClient::new(front.client())
        .get()
        .abs_path("/x")
        .send()
        .await
        .unwrap_err();
    let status = error.status().unwrap();
    assert_eq!(
        (status.code, status.reason.as_str()),
        (503, "ServiceUnavailable")
    );
    assert!(error.is_transient());
    front.answer(|_| Some(reply(302, "")));
    let error = RestClient::new(front.client())
        .get()
        .abs_path("/x")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(302));
}

#[tokio::test]
async fn a_connection_that_breaks_before_a_watch_is_a_watch_that_ended() {
    let broken = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::from(
            std::io::ErrorKind::UnexpectedEof,
        ))
    });
    let rest = RestClient::new(kube::Client::new(broken, "default"));
    let mut watch = rest
        .get()
        .abs_path("/api/v1/pods")
        .watch::<ConfigMap>()
        .await
        .unwrap();
    assert!(watch.next().await.is_none());
    // Any other request is an error.
    let error = rest
        .get()
        .abs_path("/api/v1/pods")
        .send()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Transport(_)) && error.is_transient());
}
