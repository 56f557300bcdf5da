//! The requests of lists and watches through a client.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request, Response, header};
use kube::client::Body;
use kubewright_informer::{
    KubeListerWatcher, ListRequest, ListerWatcher, Projection, Selection, WatchRequest,
};
use parking_lot::Mutex;

use crate::simulated::widgets;

type RecordedRequest = Arc<Mutex<Vec<(String, HeaderMap)>>>;

/// A client whose server notes what it is asked, and answers with nothing.
fn noted() -> (kube::Client, RecordedRequest) {
    let asked = RecordedRequest::default();
    let noted = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let line = (request.uri().to_string(), request.headers().clone());
        noted.lock().push(line);
        async { Ok::<_, Infallible>(Response::new(Body::empty())) }
    });
    (kube::Client::new(service, "default"), asked)
}

#[tokio::test]
async fn requests_have_the_requested_options() {
    let (client, asked) = noted();
    let selection = Selection {
        labels: Some("a in (b,c)".to_owned()),
        fields: Some("metadata.name!=x".to_owned()),
        projection: Projection::Metadata,
    };
    let source = KubeListerWatcher::new(client.clone(), &widgets(), Some("ns"), selection);
    let page = ListRequest {
        resource_version: "7".to_owned(),
        limit: Some(500),
        continue_token: "t/+".to_owned(),
    };
    assert!(source.list(page).await.is_ok());
    let begin = WatchRequest {
        resource_version: "9".to_owned(),
        send_initial_events: true,
        timeout: Duration::from_secs(301),
    };
    assert!(source.watch(begin).await.is_ok());
    let all = KubeListerWatcher::new(client, &widgets(), None, Selection::default());
    let resume = WatchRequest {
        resource_version: "10".to_owned(),
        send_initial_events: false,
        timeout: Duration::from_secs(302),
    };
    assert!(all.watch(resume).await.is_ok());
    let asked = asked.lock();
    let paths: Vec<_> = asked.iter().map(|(path, _)| path.as_str()).collect();
    let selectors = "labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=metadata.name%21%3Dx";
    let widgets = "/apis/example.com/v1/namespaces/ns/widgets";
    assert_eq!(
        paths,
        [
            format!("{widgets}?resourceVersion=7&limit=500&continue=t%2F%2B&{selectors}"),
            format!(
                "{widgets}?watch=true&allowWatchBookmarks=true&resourceVersion=9&timeoutSeconds=301\
                 &sendInitialEvents=true&resourceVersionMatch=NotOlderThan&{selectors}"
            ),
            "/apis/example.com/v1/widgets?watch=true&allowWatchBookmarks=true&resourceVersion=10\
             &timeoutSeconds=302"
                .to_owned(),
        ]
    );
    let header = |i: usize, name: header::HeaderName| {
        let value = asked[i].1.get(name);
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    let metadata = |kind| format!("application/json;as={kind};g=meta.k8s.io;v=v1");
    let accepts = |i| header(i, header::ACCEPT).unwrap();
    assert_eq!(accepts(0), metadata("PartialObjectMetadataList"));
    assert_eq!(accepts(1), metadata("PartialObjectMetadata"));
    assert_eq!(accepts(2), "application/json");
    // A watch that is compressed event by event would end with its first.
    assert_eq!(header(0, header::ACCEPT_ENCODING), None);
    let encoding = header(2, header::ACCEPT_ENCODING);
    assert_eq!(encoding.as_deref(), Some("identity"));
}
