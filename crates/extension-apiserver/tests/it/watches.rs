//! Watches served from a change feed.

use kubewright_extension_apiserver::ExtensionServer;
use serde_json::json;

use crate::sky::{COMETS, Comet, Comets, Watch, comet, delete, first_change, get, post, put};

fn server(comets: &Comets) -> ExtensionServer {
    let builder = ExtensionServer::builder().serve::<Comet>(comets.clone());
    builder.build().unwrap()
}

#[tokio::test]
async fn watches_deliver_the_state_and_then_changes() {
    let server = server(&Comets::default());
    post(&server, COMETS, &comet("a", 3)).await;
    let mut watch = Watch::start(&server, &format!("{COMETS}?watch=true")).await;
    let (ty, object) = watch.next().await.unwrap();
    assert_eq!(
        (ty.as_str(), &object["metadata"]["name"]),
        ("ADDED", &json!("a"))
    );
    assert_eq!(object["spec"]["colour"], "white");
    post(&server, &COMETS.replace("/sky/", "/other/"), &comet("b", 3)).await;
    post(&server, COMETS, &comet("c", 3)).await;
    let (ty, object) = watch.next().await.unwrap();
    assert_eq!(
        (ty.as_str(), &object["metadata"]["name"]),
        ("ADDED", &json!("c"))
    );
    delete(&server, &format!("{COMETS}/a")).await;
    let (ty, object) = watch.next().await.unwrap();
    assert_eq!(
        (ty.as_str(), &object["metadata"]["name"]),
        ("DELETED", &json!("a"))
    );
}

#[tokio::test]
async fn selectors_turn_updates_into_additions_and_deletions() {
    let server = server(&Comets::default());
    let path = format!("{COMETS}?watch=true&fieldSelector=spec.colour=red");
    let mut watch = Watch::start(&server, &path).await;
    let (_, mut a) = post(&server, COMETS, &comet("a", 3)).await;
    for (colour, expected) in [("red", "ADDED"), ("blue", "DELETED"), ("red", "ADDED")] {
        a["spec"]["colour"] = json!(colour);
        a = put(&server, &format!("{COMETS}/a"), &a).await.1;
        assert_eq!(watch.next().await.unwrap().0, expected);
    }
}

#[tokio::test]
async fn a_watch_continues_after_a_list() {
    let server = server(&Comets::default());
    post(&server, COMETS, &comet("a", 3)).await;
    let (_, list) = get(&server, COMETS).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    post(&server, COMETS, &comet("b", 3)).await;
    let path = format!("{COMETS}?watch=true&resourceVersion={version}");
    let mut watch = Watch::start(&server, &path).await;
    assert_eq!(watch.next().await.unwrap().1["metadata"]["name"], "b");
}

#[tokio::test]
async fn a_watch_from_a_dropped_change_is_expired() {
    let comets = Comets::default();
    let server = server(&comets);
    for i in 0..20 {
        post(&server, COMETS, &comet(&format!("c{i}"), 3)).await;
    }
    let path = format!("{COMETS}?watch=true&resourceVersion=2");
    let mut watch = Watch::start(&server, &path).await;
    let (ty, error) = watch.next().await.unwrap();
    assert_eq!((ty.as_str(), &error["code"]), ("ERROR", &json!(410)));
    assert!(watch.next().await.is_none());
    let version = comets.feed.version();
    assert_eq!(first_change(&comets.feed, 2).await.unwrap_err().code, 410);
    assert_eq!(
        first_change(&comets.feed, version - 1).await.unwrap(),
        "c19"
    );
}
