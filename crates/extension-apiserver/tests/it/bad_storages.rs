//! Misbehaving storages cause clear errors, and do not affect other requests.

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use kube::ResourceExt;
use kubewright_extension_apiserver::{
    Change, ChangeKind, Changes, ExtensionServer, ListQuery, Listing, Storage, Verbs,
};
use kubewright_machinery::Status;
use parking_lot::Mutex;

use crate::sky::{COMETS, Comet, CometSpec, Watch, comet, get, post};

#[derive(Clone, Copy)]
enum Fault {
    Panic,
    OtherName,
    OddVersion,
    NoVersion,
    Teapot,
    Unimplemented,
    EndlessPages,
    UnevenPages,
    NeverReady,
}

struct Faulty(Fault);

fn made(name: &str, version: Option<&str>) -> Comet {
    let spec = CometSpec {
        years: 3,
        colour: None,
        tails: None,
    };
    let mut comet = Comet::new(name, spec);
    comet.metadata.namespace = Some("sky".to_owned());
    comet.metadata.resource_version = version.map(str::to_owned);
    comet
}

#[async_trait]
impl Storage<Comet> for Faulty {
    fn verbs(&self) -> Verbs {
        match self.0 {
            Fault::Unimplemented | Fault::EndlessPages | Fault::UnevenPages => Verbs::ALL,
            _ => Verbs {
                update: true,
                create: true,
                get: true,
                ..Verbs::default()
            },
        }
    }

    async fn get(&self, _: &str, name: &str) -> Result<Option<Comet>, Status> {
        match self.0 {
            Fault::Panic => panic!("a bug of the storage"),
            Fault::OtherName => Ok(Some(made("other", Some("1")))),
            Fault::OddVersion => Ok(Some(made(name, Some("one")))),
            Fault::NoVersion => Ok(Some(made(name, None))),
            Fault::Teapot => Err(Status::failure(418, "Teapot", "short and stout")),
            Fault::Unimplemented | Fault::EndlessPages | Fault::UnevenPages => Ok(None),
            Fault::NeverReady => std::future::pending().await,
        }
    }

    async fn list(&self, _: &ListQuery) -> Result<Listing<Comet>, Status> {
        match self.0 {
            // Every page has the same start of the next page.
            Fault::EndlessPages => Ok(Listing::new(vec![made("a", Some("1"))])
                .version(1)
                .next("a")),
            // Objects that nobody asked for, in no order.
            Fault::UnevenPages => {
                let mut elsewhere = made("b", Some("3"));
                elsewhere.metadata.namespace = Some("earth".to_owned());
                let all = vec![made("c", Some("2")), elsewhere, made("a", Some("1"))];
                Ok(Listing::new(all).version(3))
            }
            _ => Ok(Listing::new(Vec::new()).version(1)),
        }
    }

    async fn create(&self, comet: Comet) -> Result<Comet, Status> {
        match self.0 {
            Fault::OtherName => Ok(made("other", Some("1"))),
            Fault::Teapot => Err(Status::failure(418, "Teapot", "short and stout")),
            Fault::NoVersion => Ok(comet),
            _ => Ok(made(&comet.name_any(), Some("one"))),
        }
    }
}

fn server(fault: Fault) -> ExtensionServer {
    let builder = ExtensionServer::builder().serve::<Comet>(Faulty(fault));
    builder.build().unwrap()
}

#[tokio::test]
async fn invalid_names_and_versions_are_internal_errors() {
    for (fault, text) in [
        (Fault::OtherName, "returned \"sky/other\""),
        (Fault::OddVersion, "which is not a number"),
        (Fault::NoVersion, "without a resourceVersion"),
    ] {
        let (code, error) = post(&server(fault), COMETS, &comet("a", 3)).await;
        let message = error["message"].as_str().unwrap();
        assert_eq!((code, message.contains(text)), (500, true), "{message}");
    }
    let (code, _) = get(&server(Fault::OtherName), &format!("{COMETS}/a")).await;
    assert_eq!(code, 500);
}

#[tokio::test]
async fn errors_of_the_storage_are_returned_to_the_client() {
    let server = server(Fault::Teapot);
    for (code, error) in [
        get(&server, &format!("{COMETS}/a")).await,
        post(&server, COMETS, &comet("a", 3)).await,
    ] {
        assert_eq!(code, 418);
        assert_eq!(error["message"], "short and stout");
    }
}

#[tokio::test]
async fn a_panic_ends_only_its_request() {
    let server = server(Fault::Panic);
    let (code, _) = get(&server, &format!("{COMETS}/a")).await;
    assert_eq!(code, 500);
    assert_eq!(get(&server, "/apis/sky.example.com/v1").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn unresponsive_storages_are_timeouts() {
    let server = server(Fault::NeverReady);
    let (code, error) = get(&server, &format!("{COMETS}/a?timeout=5s")).await;
    assert_eq!(
        (code, &error["reason"]),
        (504, &"Timeout".into()),
        "{error}"
    );
    // Without a timeout of the client, a write may take 34 seconds, as in kube-apiserver.
    let began = tokio::time::Instant::now();
    let change = comet("a", 4);
    let (code, _) = crate::sky::put(&server, &format!("{COMETS}/a"), &change).await;
    assert_eq!(code, 504);
    let took = began.elapsed().as_secs();
    assert!((34..60).contains(&took), "{took} s");
    // Other requests are not affected.
    assert_eq!(get(&server, "/apis/sky.example.com/v1").await.0, 200);
}

#[tokio::test]
async fn verbs_without_a_method_are_errors() {
    let server = server(Fault::Unimplemented);
    let mut watch = Watch::start(&server, &format!("{COMETS}?watch=true")).await;
    let (ty, error) = watch.next().await.unwrap();
    let message = error["message"].as_str().unwrap();
    assert_eq!(
        (ty.as_str(), message.contains("the verb watch")),
        ("ERROR", true)
    );
}

#[tokio::test]
async fn endless_pages_are_an_error() {
    let server = server(Fault::EndlessPages);
    let (code, error) = crate::sky::delete(&server, COMETS).await;
    let message = error["message"].as_str().unwrap();
    assert_eq!(
        (code, message.contains("pages without an end")),
        (500, true),
        "{message}"
    );
    assert_eq!(get(&server, "/apis/sky.example.com/v1").await.0, 200);
}

/// Lists nothing, and has a feed that panics.
struct PanickingFeed;

#[async_trait]
impl Storage<Comet> for PanickingFeed {
    fn verbs(&self) -> Verbs {
        Verbs {
            list: true,
            watch: true,
            ..Verbs::default()
        }
    }

    async fn list(&self, _: &ListQuery) -> Result<Listing<Comet>, Status> {
        Ok(Listing::new(Vec::new()).version(1))
    }

    async fn watch(&self, _: u64) -> Result<Changes<Comet>, Status> {
        Ok(Box::pin(stream::poll_fn(|_| panic!("a bug of the feed"))))
    }
}

#[tokio::test]
async fn a_panic_of_a_feed_ends_only_its_watch() {
    let builder = ExtensionServer::builder().serve::<Comet>(PanickingFeed);
    let server = builder.build().unwrap();
    let mut watch = Watch::start(&server, &format!("{COMETS}?watch=true")).await;
    let (ty, error) = watch.next().await.unwrap();
    assert_eq!((ty.as_str(), &error["code"]), ("ERROR", &500.into()));
    assert!(watch.next().await.is_none());
    assert_eq!(get(&server, COMETS).await.0, 200);
}

#[tokio::test]
async fn objects_of_other_namespaces_are_not_shown() {
    let server = server(Fault::UnevenPages);
    let (code, list) = get(&server, COMETS).await;
    let items = list["items"].as_array().unwrap().iter();
    let names: Vec<&str> = items
        .filter_map(|c| c["metadata"]["name"].as_str())
        .collect();
    assert_eq!((code, names), (200, vec!["c", "a"]));
    let path = COMETS.replace("/sky/", "/earth/");
    let (_, list) = get(&server, &format!("{path}?fieldSelector=metadata.name=c")).await;
    assert_eq!(list["items"], serde_json::json!([]));
}

/// Lists nothing, and has a feed with these versions.
struct Jumping(Vec<u64>);

#[async_trait]
impl Storage<Comet> for Jumping {
    fn verbs(&self) -> Verbs {
        Verbs {
            list: true,
            watch: true,
            ..Verbs::default()
        }
    }

    async fn list(&self, _: &ListQuery) -> Result<Listing<Comet>, Status> {
        Ok(Listing::new(Vec::new()).version(4))
    }

    async fn watch(&self, _: u64) -> Result<Changes<Comet>, Status> {
        let changes = self.0.clone().into_iter().map(|version| {
            Ok(Change {
                kind: ChangeKind::Created,
                object: made(&format!("c{version}"), Some(&version.to_string())),
                previous: None,
            })
        });
        Ok(Box::pin(stream::iter(changes).chain(stream::pending())))
    }
}

#[tokio::test]
async fn versions_of_a_feed_that_do_not_grow_end_the_watch() {
    for (versions, good, text) in [
        (vec![5, 7, 6], 2, "6 after 7"),
        (vec![5, 5], 1, "5 after 5"),
        // Older than the start of the watch.
        (vec![3], 0, "3 after 4"),
    ] {
        let builder = ExtensionServer::builder().serve::<Comet>(Jumping(versions));
        let server = builder.build().unwrap();
        let path = format!("{COMETS}?watch=true&resourceVersion=4");
        let mut watch = Watch::start(&server, &path).await;
        for _ in 0..good {
            assert_eq!(watch.next().await.unwrap().0, "ADDED");
        }
        let (ty, error) = watch.next().await.unwrap();
        let message = error["message"].as_str().unwrap();
        assert_eq!(
            (ty.as_str(), message.contains(text)),
            ("ERROR", true),
            "{message}"
        );
        assert!(watch.next().await.is_none());
    }
}

/// Blocks the thread of each request until the test allows it to continue.
struct Blocking {
    began: std::sync::mpsc::Sender<()>,
    allowed: Mutex<std::sync::mpsc::Receiver<()>>,
}

#[async_trait]
impl Storage<Comet> for Blocking {
    fn verbs(&self) -> Verbs {
        Verbs {
            get: true,
            ..Verbs::default()
        }
    }

    async fn get(&self, _: &str, name: &str) -> Result<Option<Comet>, Status> {
        self.began.send(()).expect("the test listens");
        self.allowed.lock().recv().expect("the test allows it");
        Ok(Some(made(name, Some("1"))))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storage_that_blocks_its_thread_delays_only_its_requests() {
    let (began, waiting) = std::sync::mpsc::channel();
    let (allow, allowed) = std::sync::mpsc::channel();
    let blocking = Blocking {
        began,
        allowed: Mutex::new(allowed),
    };
    let server = ExtensionServer::builder().serve::<Comet>(blocking);
    let server = server.build().unwrap();
    let blocked = server.clone();
    let blocked = tokio::spawn(async move { get(&blocked, &format!("{COMETS}/a")).await });
    tokio::task::block_in_place(|| waiting.recv()).unwrap();
    for path in ["/apis/sky.example.com/v1", "/readyz", "/openapi/v2"] {
        assert_eq!(get(&server, path).await.0, 200, "{path}");
    }
    assert!(!blocked.is_finished());
    allow.send(()).unwrap();
    assert_eq!(blocked.await.unwrap().0, 200);
}
