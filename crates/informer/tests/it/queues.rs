//! The queue between a reflector and a cache.

use std::sync::Arc;
use std::time::Duration;

use kubewright_informer::{Compression, Ingest, ObjectKind};
use kubewright_informer::{Delta, DeltaQueue, StoredObject};

use crate::simulated::widgets;

fn object(name: &str, version: u32) -> Arc<StoredObject> {
    let kind = ObjectKind::new(widgets(), Compression::None);
    let json = format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}"#);
    Ingest::new(kind).object(json.as_bytes()).unwrap()
}

fn show(delta: &Delta) -> String {
    let one = |mark, o: &StoredObject| format!("{mark}{}@{}", o.name(), o.resource_version());
    match delta {
        Delta::Added(o) => one("+", o),
        Delta::Updated(o) => one("~", o),
        Delta::Deleted(o) => one("-", o),
        Delta::Replaced {
            objects,
            resource_version,
        } => format!("={}@{resource_version}", objects.len()),
        Delta::Bookmark { resource_version } => format!("!{resource_version}"),
        Delta::Sync { .. } => "sync".to_owned(),
    }
}

async fn all(queue: &DeltaQueue) -> Vec<String> {
    queue.close();
    let mut shown = Vec::new();
    while let Some(deltas) = queue.pop(3).await {
        shown.extend(deltas.iter().map(|d| show(&d.delta)));
    }
    shown
}

fn deltas() -> Vec<Delta> {
    vec![
        Delta::Added(object("a", 1)),
        Delta::Added(object("b", 2)),
        Delta::Updated(object("a", 3)),
        Delta::Bookmark {
            resource_version: "4".to_owned(),
        },
        Delta::Deleted(object("b", 5)),
        Delta::Added(object("b", 6)),
        Delta::Replaced {
            objects: vec![object("a", 7)],
            resource_version: "7".to_owned(),
        },
        Delta::Updated(object("a", 8)),
        Delta::Sync {
            subscribers: vec![],
        },
        Delta::Updated(object("a", 9)),
    ]
}

#[tokio::test(start_paused = true)]
async fn everything_keeps_its_order_and_a_relist_is_one_step() {
    let queue = DeltaQueue::new(100);
    queue.push_all(0, &mut deltas()).await;
    let expected = [
        "+a@1", "+b@2", "~a@3", "!4", "-b@5", "+b@6", "=1@7", "~a@8", "sync", "~a@9",
    ];
    assert_eq!(all(&queue).await, expected);
}

#[tokio::test(start_paused = true)]
async fn coalescing_keeps_the_newest_of_each_object_and_nothing_passes_a_relist() {
    let queue = DeltaQueue::coalescing(100);
    queue.push_all(0, &mut deltas()).await;
    assert_eq!(
        all(&queue).await,
        ["+a@3", "!4", "~b@6", "=1@7", "~a@8", "sync", "~a@9"]
    );
}

#[tokio::test(start_paused = true)]
async fn popped_deltas_are_not_merged_into() {
    let queue = DeltaQueue::coalescing(100);
    queue.push(0, Delta::Added(object("a", 1))).await;
    queue.push(0, Delta::Added(object("b", 2))).await;
    assert_eq!(queue.pop(1).await.unwrap().len(), 1);
    queue.push(0, Delta::Updated(object("a", 3))).await;
    queue.push(0, Delta::Updated(object("b", 4))).await;
    // The same name in another stream is another object.
    queue.push(1, Delta::Updated(object("b", 5))).await;
    assert_eq!(all(&queue).await, ["~a@3", "+b@4", "~b@5"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_makes_its_writer_wait() {
    let queue = DeltaQueue::new(4);
    let writer = {
        let queue = queue.clone();
        tokio::spawn(async move { queue.push_all(0, &mut deltas()).await })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(queue.len(), 4);
    assert!(!writer.is_finished());
    let mut taken = 0;
    while taken < deltas().len() {
        taken += queue.pop(3).await.unwrap().len();
    }
    writer.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_gives_what_it_has_and_then_nothing() {
    let queue = DeltaQueue::new(10);
    queue.push(0, Delta::Added(object("a", 1))).await;
    let reader = {
        let queue = queue.clone();
        tokio::spawn(async move {
            let first = queue.pop(10).await.map(|d| d.len());
            (first, queue.pop(10).await.is_none())
        })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    queue.close();
    assert_eq!(reader.await.unwrap(), (Some(1), true));
    queue.push(0, Delta::Added(object("b", 2))).await;
    assert!(queue.pop(1).await.is_none());
}
