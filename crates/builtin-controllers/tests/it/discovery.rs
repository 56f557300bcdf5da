//! Servers with incomplete discovery.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use kubewright_builtin_controllers::Controllers;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tower::service_fn;

use crate::{
    fixture::Fixture,
    namespaces::{condition, delete, gone, until},
};

/// Discovery with an aggregated API server that does not respond.
const STALE: u8 = 1;

/// A client of the cluster whose discovery can be made incomplete.
fn client(cluster: &TestCluster, trouble: Arc<AtomicU8>) -> kube::Client {
    let server = cluster.client();
    let service = service_fn(move |request: Request<Body>| {
        let (server, trouble) = (server.clone(), trouble.clone());
        async move {
            let is_discovery = request.uri().path() == "/apis";
            let response = server.send(request).await?;
            if !is_discovery || trouble.load(Ordering::SeqCst) != STALE {
                return Ok::<_, kube::Error>(response);
            }
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let mut document: Value = serde_json::from_slice(&bytes).unwrap();
            let stale = json!({
                "metadata": {"name": "metrics.example"},
                "versions": [{"version": "v1", "freshness": "Stale"}],
            });
            document["items"].as_array_mut().unwrap().push(stale);
            let body = Body::from(document.to_string().into_bytes());
            let mut response = Response::from_parts(parts, body);
            response.headers_mut().remove("content-length");
            Ok(response)
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_does_not_answer_is_reported_and_holds_up_namespaces() {
    let cluster = TestCluster::start().await;
    let trouble = Arc::new(AtomicU8::new(STALE));
    let troubled = client(&cluster, trouble.clone());
    let f = Fixture::without(cluster);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        Controllers::default().run(troubled, stopped).await
    });
    f.namespace("shop").await;
    f.map_in("shop", "map", &[]).await;
    delete(&f, "shop").await;
    let namespace = until(&f, "shop", "NamespaceDeletionDiscoveryFailure", "True").await;
    let failure = condition(&namespace, "NamespaceDeletionDiscoveryFailure").unwrap();
    assert_eq!(failure.reason.as_deref(), Some("DiscoveryFailed"));
    assert_eq!(
        failure.message.as_deref(),
        Some(
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: metrics.example/v1: stale GroupVersion discovery: metrics.example/v1"
        )
    );
    // Known resources are deleted all the same.
    assert!(f.maps("shop").get_opt("map").await.unwrap().is_none());
    trouble.store(0, Ordering::SeqCst);
    gone(&f, "shop").await;
    drop(stop);
    running.await.unwrap().unwrap();
}
