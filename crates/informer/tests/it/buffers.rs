//! The buffers of readers that do not keep up, and their metrics.

use std::sync::Arc;
use std::time::Duration;

use kube::core::DynamicObject;
use kubewright_informer::{Buffer, SharedInformer, SubscribeOptions, Subscription};

use crate::history::History;
use crate::simulated::{Server, config, widgets};

const OBJECTS: usize = 4;

/// A reader that has read everything there was at first, and then sleeps while things change.
async fn sleeper(
    server: &Server,
    buffer: Buffer,
) -> (
    SharedInformer<DynamicObject>,
    Subscription<DynamicObject>,
    History,
) {
    for i in 0..OBJECTS {
        server.put(&format!("w{i}"));
    }
    let sources = vec![Arc::new(server.clone()) as _];
    let informer = SharedInformer::new(widgets(), sources, config());
    let options = SubscribeOptions::default().buffer(buffer).name("sleeper");
    let mut reader = informer.subscribe(options);
    informer.start();
    let history = History::default();
    for _ in 0..OBJECTS {
        history.record(&reader.next().await.unwrap());
    }
    (informer, reader, history)
}

fn depth(informer: &SharedInformer<DynamicObject>) -> u64 {
    let metrics = informer.metrics();
    let found = metrics.handlers.iter().find(|(name, _)| name == "sleeper");
    found.expect("the reader").1
}

/// All that waits, and that it leads to where the server is.
async fn wake(reader: &mut Subscription<DynamicObject>, history: &History, server: &Server) -> u64 {
    let mut read = 0;
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_secs(5), reader.next()).await {
        history.record(&event);
        read += 1;
    }
    history.assert_consistent();
    assert_eq!(history.model(), server.model());
    read
}

// Everything waits, and one can see how much.
#[tokio::test(start_paused = true)]
async fn for_an_unbounded_reader_everything_waits() {
    let server = Server::new(3);
    let (informer, mut reader, history) = sleeper(&server, Buffer::Unbounded).await;
    for round in 0..500 {
        server.put(&format!("w{}", round % OBJECTS));
    }
    let version = server.version().to_string();
    informer.wait_for(&version).await.unwrap();
    assert_eq!((depth(&informer), reader.depth()), (500, 500));
    assert_eq!(wake(&mut reader, &history, &server).await, 500);
    assert_eq!(depth(&informer), 0);
}

#[tokio::test(start_paused = true)]
async fn for_a_bounded_reader_the_watch_waits() {
    let server = Server::new(3);
    let (informer, mut reader, history) = sleeper(&server, Buffer::Bounded(5)).await;
    // Another reader that keeps up is held up with it, and loses nothing either.
    let (other, _registration) = History::of(&informer, SubscribeOptions::default());
    for round in 0..5000 {
        server.put(&format!("w{}", round % OBJECTS));
    }
    tokio::time::sleep(Duration::from_secs(30)).await;
    // A batch of at most a thousand is applied as a whole, so the bound is passed by that much once.
    let waiting = depth(&informer);
    assert!((5..=1005).contains(&waiting), "{waiting}");
    assert!(informer.metrics().queued > 0);
    assert_ne!(other.model(), server.model());
    assert_eq!(wake(&mut reader, &history, &server).await, 5000);
    assert_eq!(other.model(), server.model());
    assert_eq!(depth(&informer), 0);
}

#[tokio::test(start_paused = true)]
async fn for_a_coalescing_reader_one_event_an_object_waits() {
    let server = Server::new(3);
    let (informer, mut reader, history) = sleeper(&server, Buffer::Coalesce).await;
    for round in 0..500 {
        server.put(&format!("w{}", round % OBJECTS));
    }
    server.delete("w1");
    server.put("x");
    server.delete("x");
    let version = server.version().to_string();
    informer.wait_for(&version).await.unwrap();
    // Three updates, one deletion; of x there is nothing to tell.
    assert_eq!((depth(&informer), reader.depth()), (4, 4));
    assert_eq!(wake(&mut reader, &history, &server).await, 4);
}

/// A reader that goes away holds nobody up.
#[tokio::test(start_paused = true)]
async fn a_bounded_reader_that_leaves_unblocks_the_watch() {
    let server = Server::new(3);
    let (informer, reader, _history) = sleeper(&server, Buffer::Bounded(1)).await;
    let (other, _registration) = History::of(&informer, SubscribeOptions::default());
    for round in 0..5000 {
        server.put(&format!("w{}", round % OBJECTS));
    }
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_ne!(other.model(), server.model());
    drop(reader);
    let version = server.version().to_string();
    informer.wait_for(&version).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(other.model(), server.model());
}

#[tokio::test(start_paused = true)]
async fn a_coalescing_reader_never_has_more_than_one_event_an_object() {
    let server = Server::new(11);
    (0..5).for_each(|i| server.put(&format!("w{i}")));
    let informer =
        SharedInformer::<DynamicObject>::new(widgets(), vec![Arc::new(server.clone())], config());
    let mut slow = informer.subscribe(SubscribeOptions::default().buffer(Buffer::Coalesce));
    let history = History::default();
    informer.start();
    informer
        .wait_for_sync(Duration::from_secs(5))
        .await
        .unwrap();
    while !slow.has_synced() {
        if let Ok(event) = tokio::time::timeout(Duration::from_secs(1), slow.next()).await {
            history.record(&event.unwrap());
        }
    }
    for round in 0..300 {
        server.put(&format!("w{}", round % 5));
        if round % 7 == 0 {
            server.delete(&format!("w{}", round % 5));
        }
        if round % 11 == 0 {
            server.recreate(&format!("w{}", round % 5));
        }
    }
    informer
        .wait_for(&server.version().to_string())
        .await
        .unwrap();
    assert!(slow.depth() <= 5, "{}", slow.depth());
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_secs(1), slow.next()).await {
        history.record(&event);
    }
    assert_eq!(history.model(), server.model());
    history.assert_consistent();
}
