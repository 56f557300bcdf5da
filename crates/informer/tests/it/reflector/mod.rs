//! The requests of a reflector, and its reactions to responses.
//!
//! | module | what it holds |
//! |---|---|
//! | `lists` | lists: at which revision, in which pages, how often |
//! | `watch_lists` | watches that begin with the objects there are |
//! | `watches` | watches that go on from a revision |

mod lists;
mod watch_lists;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use kube::core::{DynamicObject, Status};
use kubewright_informer::replay::{RecordedRequest, Response};
use kubewright_informer::{InformerConfig, SharedInformer, replay::Replay};
use kubewright_informer::{ListRequest, WatchRequest};

use crate::simulated::widgets;

fn object(name: &str, version: u32) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"{version}"}}}}"#)
}

fn page(version: u32, token: &str, names: &[&str]) -> Response {
    let items: Vec<_> = names.iter().map(|name| object(name, version)).collect();
    let text = format!(
        r#"{{"kind":"WidgetList","metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{}]}}"#,
        items.join(",")
    );
    Response::bytes(text)
}

fn event(kind: &str, json: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{json}}}\n")
}

fn bookmark(version: u32, mark: Option<&str>) -> String {
    let annotations = mark
        .map(|mark| format!(r#","annotations":{{"k8s.io/initial-events-end":"{mark}"}}"#))
        .unwrap_or_default();
    event(
        "BOOKMARK",
        &format!(
            r#"{{"kind":"Widget","metadata":{{"resourceVersion":"{version}"{annotations}}}}}"#
        ),
    )
}

fn error(status: &Status) -> String {
    event("ERROR", &serde_json::to_string(status).unwrap())
}

fn start(replay: &Replay, config: InformerConfig) -> SharedInformer<DynamicObject> {
    let informer = SharedInformer::new(widgets(), vec![Arc::new(replay.clone())], config);
    informer.start();
    informer
}

fn names(informer: &SharedInformer<DynamicObject>) -> Vec<String> {
    let mut names: Vec<_> = informer
        .indexer()
        .snapshot()
        .iter()
        .map(|o| o.name().to_owned())
        .collect();
    names.sort();
    names
}

fn list_at(asked: &RecordedRequest) -> Option<(&str, Option<u32>, &str)> {
    match asked {
        RecordedRequest::List(ListRequest {
            resource_version,
            limit,
            continue_token,
        }) => Some((resource_version, *limit, continue_token)),
        RecordedRequest::Watch(_) => None,
    }
}

fn watch_at(asked: &RecordedRequest) -> Option<(&str, bool)> {
    match asked {
        RecordedRequest::Watch(WatchRequest {
            resource_version,
            send_initial_events,
            ..
        }) => Some((resource_version, *send_initial_events)),
        RecordedRequest::List(_) => None,
    }
}

async fn later() {
    tokio::time::sleep(Duration::from_secs(600)).await;
}
