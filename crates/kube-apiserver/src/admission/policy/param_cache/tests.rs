//! Parameters that change, and those that do not.

use std::sync::atomic::{AtomicUsize, Ordering};

use kubewright_apiserver::registry::ResourceSpec;
use kubewright_machinery::gvk::GroupVersionKind;
use kubewright_store::{Key, MemoryStore, Payload};
use serde_json::json;

use super::*;

struct Scene {
    store: Arc<MemoryStore>,
    cache: ParamCache,
    resource: Arc<Resource>,
    reads: AtomicUsize,
}

impl Scene {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        Self {
            cache: ParamCache::new(store.clone()),
            resource: rules(&store),
            reads: AtomicUsize::new(0),
            store,
        }
    }

    async fn write(&self, collection: &str, path: &str) {
        let key = Key::new(collection, path);
        let payload = Payload::plain("{}");
        self.store.create(key, payload).await.expect("it is new");
    }

    async fn delete(&self, path: &str) {
        let key = Key::new("example.com/rules", path);
        let found = self.store.get(&key).await.unwrap().expect("it exists");
        self.store.delete(key, found.revision).await.unwrap();
    }

    /// Asks, and returns how many times the parameters have been read so far.
    async fn ask(&self, path: &str, selector: Option<&str>, bytes: usize) -> usize {
        let question = Question {
            version: "v1".to_owned(),
            path: path.to_owned(),
            selector: selector.map(Arc::from),
        };
        let read = async {
            self.reads.fetch_add(1, Ordering::SeqCst);
            Ok(Answer {
                found: Arc::from([Arc::new(json!(path))]),
                bytes,
            })
        };
        let found = self.cache.get_or_read(&self.resource, question, read).await;
        assert_eq!(*found.unwrap()[0], path);
        self.reads.load(Ordering::SeqCst)
    }
}

fn rules(store: &Arc<MemoryStore>) -> Arc<Resource> {
    let kind = GroupVersionKind::new("example.com", "v1", "Rule");
    let spec = ResourceSpec::new(kind, "rules").namespaced();
    Arc::new(Resource::stored(spec, store.clone()).into_resource())
}

#[tokio::test]
async fn parameters_are_read_again_only_after_they_changed() {
    let scene = Scene::new();
    assert_eq!(scene.ask("a/x", None, 1).await, 1);
    assert_eq!(scene.ask("a/x", None, 1).await, 1);
    scene.write("pods", "a/x").await;
    scene.write("example.com/rules", "a/y").await;
    assert_eq!(scene.ask("a/x", None, 1).await, 1);
    scene.write("example.com/rules", "a/x").await;
    assert_eq!(scene.ask("a/x", None, 1).await, 2);
    scene.delete("a/x").await;
    assert_eq!(scene.ask("a/x", None, 1).await, 3);
    assert_eq!(scene.ask("a/x", None, 1).await, 3);
}

#[tokio::test]
async fn selected_parameters_change_with_their_namespace() {
    let scene = Scene::new();
    assert_eq!(scene.ask("a/", Some("s"), 1).await, 1);
    assert_eq!(scene.ask("a/", Some("t"), 1).await, 2);
    scene.write("example.com/rules", "b/x").await;
    assert_eq!(scene.ask("a/", Some("s"), 1).await, 2);
    scene.write("example.com/rules", "a/x").await;
    assert_eq!(scene.ask("a/", Some("s"), 1).await, 3);
}

#[tokio::test]
async fn another_resource_does_not_get_the_answers_of_the_old_one() {
    let mut scene = Scene::new();
    assert_eq!(scene.ask("a/x", None, 1).await, 1);
    scene.resource = rules(&scene.store);
    assert_eq!(scene.ask("a/x", None, 1).await, 2);
    assert_eq!(scene.ask("a/x", None, 1).await, 2);
}

#[tokio::test]
async fn a_change_while_they_are_read_is_not_missed() {
    let scene = Scene::new();
    let question = Question {
        version: "v1".to_owned(),
        path: "a/x".to_owned(),
        selector: None,
    };
    let read = async {
        // The answer is of the time before the write.
        scene.write("example.com/rules", "a/x").await;
        Ok(Answer {
            found: Arc::from([]),
            bytes: 0,
        })
    };
    let found = scene
        .cache
        .get_or_read(&scene.resource, question, read)
        .await;
    assert!(found.unwrap().is_empty());
    assert_eq!(scene.ask("a/x", None, 1).await, 1);
}

#[tokio::test]
async fn answers_are_bounded() {
    let scene = Scene::new();
    for i in 0..2 * MAX_ANSWERS {
        scene.ask(&format!("a/{i}"), None, 1).await;
    }
    let known = |scene: &Scene| {
        let collections = scene.cache.collections.lock();
        let follower = &collections["example.com/rules"];
        (follower.answers.len(), follower.bytes)
    };
    assert_eq!(known(&scene), (MAX_ANSWERS, MAX_ANSWERS));
    scene.ask("a/huge", None, MAX_BYTES + 1).await;
    assert_eq!(known(&scene), (MAX_ANSWERS, MAX_ANSWERS));
    scene.ask("a/large", None, MAX_BYTES).await;
    assert_eq!(known(&scene), (1, MAX_BYTES));
}
