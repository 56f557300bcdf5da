//! Discovery, also from servers that are partly broken.

use std::collections::BTreeSet;

use kubewright_client::{DiscoveryClient, Error, discovery::Discovered};
use kubewright_machinery::gvk::{GroupVersion, GroupVersionResource};
use serde_json::json;

use crate::{
    front::{Front, reply},
    target::Target,
};

fn names(found: &Discovered) -> BTreeSet<String> {
    let lists = found.resources.iter();
    lists
        .flat_map(|list| {
            let resources = list.resources.iter();
            resources.map(|r| {
                format!(
                    "{} {} {} {}",
                    list.group_version, r.name, r.kind, r.namespaced
                )
            })
        })
        .collect()
}

fn versions(found: &Discovered) -> Vec<String> {
    let groups = found.groups.iter();
    groups
        .flat_map(|group| group.versions.iter().map(|v| v.group_version.clone()))
        .collect()
}

#[tokio::test]
async fn both_ways_of_asking_find_the_same() {
    let target = Target::start().await;
    let live = DiscoveryClient::new(target.client.clone());
    let one_go = live.discover().await.unwrap().complete().unwrap();
    let by_parts = live
        .legacy_only()
        .discover()
        .await
        .unwrap()
        .complete()
        .unwrap();
    assert_eq!(one_go.groups[0].name, "");
    assert_eq!(versions(&one_go), versions(&by_parts));
    assert_eq!(names(&one_go), names(&by_parts));
    assert!(names(&one_go).contains("apps/v1 deployments/scale Scale true"));
    target.clean_up().await;
}

#[tokio::test]
async fn a_server_describes_itself() {
    let target = Target::start().await;
    let live = DiscoveryClient::new(target.client.clone());
    assert_eq!(live.server_version().await.unwrap().major, "1");
    let enabled = async |group, version, name| {
        live.is_enabled(&GroupVersionResource::new(group, version, name))
            .await
            .unwrap()
    };
    assert!(enabled("apps", "v1", "deployments").await);
    assert!(!enabled("apps", "v1", "nothings").await);
    assert!(!enabled("nothing", "v1", "deployments").await);
    let paths = live.openapi_v3_paths().await.unwrap();
    assert!(
        paths["apis/apps/v1"].starts_with("/openapi/v3/apis/apps/v1"),
        "{paths:?}"
    );
    let apps = live
        .openapi_v3(&GroupVersion::new("apps", "v1"))
        .await
        .unwrap();
    assert!(apps["components"]["schemas"].is_object());
    target.clean_up().await;
}

/// One pair of requests, where the server can.
#[tokio::test]
async fn aggregated_discovery_takes_two_requests() {
    let front = Front::start().await;
    DiscoveryClient::new(front.client())
        .discover()
        .await
        .unwrap();
    assert_eq!(front.seen(), ["GET /api", "GET /apis"]);
    let accept =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    DiscoveryClient::new(front.client()).groups().await.unwrap();
    assert_eq!(front.last_headers()["accept"], accept);
    DiscoveryClient::new(front.client())
        .no_peer()
        .groups()
        .await
        .unwrap();
    let headers = front.last_headers();
    assert!(
        headers["accept"]
            .to_str()
            .unwrap()
            .contains("profile=nopeer"),
        "{headers:?}"
    );
}

/// Resources count only if both halves have them.
#[tokio::test]
async fn half_an_aggregated_answer_falls_back() {
    let front = Front::start().await;
    let whole = DiscoveryClient::new(front.client())
        .discover()
        .await
        .unwrap();
    front.answer(|request| {
        (request.uri().path() == "/api").then(|| {
            let versions = json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []});
            let reply = http::Response::builder().header("content-type", "application/json");
            reply.body(versions.to_string().into()).unwrap()
        })
    });
    let found = DiscoveryClient::new(front.client())
        .discover()
        .await
        .unwrap();
    assert_eq!(names(&found), names(&whole));
    assert!(front.seen().contains(&"GET /apis/apps/v1".to_owned()));
}

#[tokio::test]
async fn a_missing_core_group_is_fine_and_missing_groups_are_not() {
    let front = Front::start().await;
    front.answer(|request| (request.uri().path() == "/api").then(|| reply(404, "no")));
    let found = DiscoveryClient::new(front.client())
        .discover()
        .await
        .unwrap();
    assert!(found.groups.iter().all(|group| !group.name.is_empty()));
    assert!(
        found
            .resources_of(&GroupVersion::new("apps", "v1"))
            .is_some()
    );

    front.answer(|request| (request.uri().path() == "/apis").then(|| reply(404, "no")));
    assert!(
        DiscoveryClient::new(front.client())
            .discover()
            .await
            .unwrap_err()
            .is_not_found()
    );
    front.answer(|request| (request.uri().path() == "/api").then(|| reply(500, "no")));
    assert_eq!(
        DiscoveryClient::new(front.client())
            .discover()
            .await
            .unwrap_err()
            .code(),
        Some(500)
    );
}

/// An aggregated API that is down is marked stale.
#[tokio::test]
async fn a_broken_aggregated_api_is_named_and_the_rest_is_there() {
    let front = Front::start().await;
    front.rewrite(|path, mut json| {
        if path == "/apis" {
            json["items"].as_array_mut().unwrap().push(json!({
                "metadata": {"name": "metrics.k8s.io"},
                "versions": [{"version": "v1beta1", "freshness": "Stale", "resources": []}],
            }));
        }
        json
    });
    let found = DiscoveryClient::new(front.client())
        .discover()
        .await
        .unwrap();
    assert!(
        found
            .resources_of(&GroupVersion::new("apps", "v1"))
            .is_some()
    );
    let metrics = GroupVersion::new("metrics.k8s.io", "v1beta1");
    assert!(matches!(&found.failures[&metrics], Error::Stale(version) if *version == metrics));
    // It was worth a second try.
    assert_eq!(front.seen().len(), 4);
    assert_eq!(
        found.complete().unwrap_err().to_string(),
        "unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: \
         stale GroupVersion discovery: metrics.k8s.io/v1beta1"
    );
}

/// The same, asked version by version.
#[tokio::test]
async fn a_version_that_does_not_answer_is_named_and_the_rest_is_there() {
    let front = Front::start().await;
    front.answer(|request| {
        (request.uri().path() == "/apis/apps/v1").then(|| reply(503, "service unavailable"))
    });
    let found = DiscoveryClient::new(front.client())
        .legacy_only()
        .discover()
        .await
        .unwrap();
    let apps = GroupVersion::new("apps", "v1");
    assert_eq!(found.failures.keys().collect::<Vec<_>>(), [&apps]);
    assert!(found.failures[&apps].is_transient());
    assert!(found.resources_of(&GroupVersion::new("", "v1")).is_some());
    assert!(
        found
            .resources_of(&GroupVersion::new("batch", "v1"))
            .is_some()
    );
    let asked = front
        .seen()
        .iter()
        .filter(|seen| *seen == "GET /apis/apps/v1")
        .count();
    assert_eq!(asked, 2);
}

#[tokio::test]
async fn the_core_version_may_be_empty_and_no_version_is_a_mistake() {
    let front = Front::start().await;
    front.answer(|_| Some(reply(404, "no")));
    let live = DiscoveryClient::new(front.client());
    let core = live.resources(&GroupVersion::new("", "v1")).await.unwrap();
    assert_eq!(
        (core.group_version.as_str(), core.resources.len()),
        ("v1", 0)
    );
    assert!(
        live.resources(&GroupVersion::new("apps", "v1"))
            .await
            .unwrap_err()
            .is_not_found()
    );
    let nothing = live.resources(&GroupVersion::new("", "")).await;
    assert!(matches!(nothing, Err(Error::Request(_))));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up() {
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<kube::client::Body>, std::io::Error>>()
    });
    let live = DiscoveryClient::new(kube::Client::new(silent, "default"));
    let error = live.discover().await.unwrap_err();
    assert!(
        matches!(error, Error::TimedOut(after) if after.as_secs() == 32),
        "{error}"
    );
}

/// Whatever a server sends, there is an answer.
#[tokio::test]
async fn nonsense_is_an_error() {
    let front = Front::start().await;
    for (content_type, body) in [
        (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            "[1]",
        ),
        (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            "",
        ),
        ("application/json", "{\"groups\": 7}"),
        ("text/html", "<html>"),
    ] {
        front.answer(move |request| {
            (request.uri().path() == "/apis").then(|| {
                let reply = http::Response::builder().header("content-type", content_type);
                reply.body(body.into()).unwrap()
            })
        });
        let error = DiscoveryClient::new(front.client())
            .discover()
            .await
            .unwrap_err();
        assert!(
            matches!(error, Error::Decode(_)),
            "{content_type} {body}: {error}"
        );
    }
}
