use futures_util::StreamExt;
use http::Method;
use kubewright_derive::boxed_async;
use kubewright_machinery::gvk::GroupVersionKind;
use kubewright_store::{MemoryStore, Store};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::{
    admission::AdmissionChain,
    auth::AlwaysAllow,
    registry::{
        Converter, Handlers, Items, List, Resource, ResourceSpec, Watch, WatchEvent, payload,
    },
    request::{Annotations, ListOptions, Query, RequestContext, RequestInfo, Warnings},
};

const MEGABYTE: usize = 1 << 20;

/// Fills objects up to a size, and records how many are converted together.
struct Filling {
    size: usize,
    together: Mutex<Vec<usize>>,
}

#[boxed_async]
impl Converter for Filling {
    async fn to_stored(&self, object: Value) -> Result<Value, Status> {
        Ok(object)
    }

    fn refresh(&self, object: &mut Value) {
        object["text"] = "x".repeat(self.size).into();
    }

    async fn to_served(&self, objects: Vec<Value>) -> Result<Vec<Value>, Status> {
        self.together.lock().push(objects.len());
        Ok(objects)
    }
}

/// A resource with this many stored objects, each of `stored` bytes and served with `served` bytes.
async fn comets(count: usize, stored: usize, served: usize) -> (Generic, Arc<Filling>) {
    let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
    let spec = ResourceSpec::new(kind, "comets");
    let store = Arc::new(MemoryStore::new());
    let filling = Arc::new(Filling {
        size: served,
        together: Mutex::default(),
    });
    let comets = Generic::new(spec, store.clone()).with_converter(filling.clone());
    for i in 0..count {
        let name = format!("c{i:03}");
        let object = json!({
            "kind": "Comet",
            "apiVersion": "sky.example.com/v1",
            "metadata": {"name": name},
            "text": "x".repeat(stored),
        });
        let created = store.create(comets.key("", &name), payload(&object)).await;
        created.expect("a new object");
    }
    (comets, filling)
}

fn context(comets: &Generic) -> RequestContext {
    let query = Query::default();
    let path = "/apis/sky.example.com/v1/comets";
    RequestContext {
        info: Arc::new(RequestInfo::new(&Method::GET, path, &query)),
        query: Arc::new(query),
        user: Arc::default(),
        user_agent: "".into(),
        warnings: Warnings::default(),
        resource: Arc::new(Resource::computed(
            comets.spec().clone(),
            Handlers::default(),
        )),
        admission: AdmissionChain::default(),
        authorizer: Arc::new(AlwaysAllow),
        annotations: Annotations::default(),
        deadline: None,
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("c{i:03}")).collect()
}

fn name(object: &Object) -> String {
    object.summary.name.to_string()
}

#[tokio::test]
async fn a_list_converts_few_large_objects_at_once() {
    // Large when they are stored, and large only when they are read.
    for (stored, served) in [(MEGABYTE, MEGABYTE), (10, MEGABYTE)] {
        let (comets, filling) = comets(9, stored, served).await;
        let (cx, options) = (context(&comets), ListOptions::default());
        let list = comets.list(&cx, &options).await.expect("a list");
        assert!(matches!(list.items, Items::Pages(_)));
        let mut pages = list.items.read();
        let mut found = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.expect("a page");
            assert!((1..=3).contains(&page.len()), "{} objects", page.len());
            found.extend(page.iter().map(name));
        }
        assert_eq!(found, names(9), "in order, each once");
        let together = filling.together.lock();
        assert!(together.iter().all(|n| *n <= 3), "{together:?}");
    }
}

#[tokio::test]
async fn a_list_converts_many_small_objects_at_once() {
    let (comets, filling) = comets(100, 10, 10).await;
    let (cx, options) = (context(&comets), ListOptions::default());
    let list = comets.list(&cx, &options).await.expect("a list");
    let objects = list.items.collect().await;
    let objects = objects.expect("all objects");
    assert_eq!(objects.iter().map(name).collect::<Vec<_>>(), names(100));
    assert_eq!(*filling.together.lock(), [100]);
}

#[tokio::test]
async fn a_chunk_of_large_objects_is_shorter_than_its_limit() {
    let (comets, _) = comets(40, 10, MEGABYTE).await;
    let mut options = ListOptions {
        limit: 1000,
        ..ListOptions::default()
    };
    let (mut found, mut chunks) = (Vec::new(), 0);
    loop {
        let list = comets.list(&context(&comets), &options).await;
        let list = list.expect("a chunk");
        let objects = list.items.collect().await.expect("objects");
        assert!(objects.len() <= 17, "{} objects", objects.len());
        found.extend(objects.iter().map(name));
        chunks += 1;
        options.continue_token = list.continue_token;
        if options.continue_token.is_empty() {
            assert_eq!(list.remaining, None);
            break;
        }
        assert_eq!(list.remaining, Some(40 - found.len() as u64));
    }
    assert_eq!((found, chunks), (names(40), 3));
}

#[tokio::test]
async fn the_first_events_of_a_watch_are_converted_in_small_batches() {
    let (comets, filling) = comets(9, 10, MEGABYTE).await;
    let options = ListOptions {
        watch: true,
        resource_version: "0".into(),
        ..ListOptions::default()
    };
    let events = comets.watch(&context(&comets), &options).await;
    let mut events = events.expect("a watch");
    let mut found = Vec::new();
    while found.len() < 9 {
        for event in events.next().await.expect("events") {
            match event {
                WatchEvent::Added(object) => found.push(name(&object)),
                _ => panic!("another event"),
            }
        }
    }
    assert_eq!(found, names(9));
    let together = filling.together.lock();
    assert!(together.iter().all(|n| *n <= 3), "{together:?}");
}
