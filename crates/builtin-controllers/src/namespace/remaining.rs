//! [`Remaining`]: notifications when objects that block a namespace are gone.
//!
//! The resources of which a namespace has objects left are watched, metadata only, as long as there is such a
//! namespace. A namespace is processed once more when the watch is established, so deletions in between are not missed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kube::core::ApiResource;
use kubewright_controller::{Caches, Enqueue, Request};
use kubewright_informer::{Event, SharedInformer, SubscribeOptions, Subscription};
use kubewright_machinery::gvk::GroupVersionResource;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

pub(super) struct Remaining {
    caches: Caches,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    enqueue: Option<Enqueue>,
    watched: BTreeMap<GroupVersionResource, Watched>,
}

struct Watched {
    namespaces: Arc<Mutex<BTreeSet<String>>>,
    informer: SharedInformer<()>,
    task: AbortHandle,
}

impl Remaining {
    pub(super) fn new(caches: Caches) -> Self {
        Self {
            caches,
            state: Mutex::default(),
        }
    }

    /// Connects this queue until the guard is dropped.
    pub(super) async fn connect(&self, enqueue: Enqueue) {
        self.state.lock().enqueue = Some(enqueue);
        let _until_dropped = Connected(self);
        std::future::pending().await
    }

    /// Sets the resources of which the namespace has objects left.
    pub(super) fn watch(&self, namespace: &str, resources: Vec<ApiResource>) {
        let mut state = self.state.lock();
        let Some(enqueue) = state.enqueue.clone() else {
            return;
        };
        let mut wanted: BTreeMap<_, _> = resources
            .into_iter()
            .map(|resource| (id(&resource), resource))
            .collect();
        state.watched.retain(|resource, watched| {
            let mut namespaces = watched.namespaces.lock();
            match wanted.remove(resource) {
                None => {
                    namespaces.remove(namespace);
                }
                Some(_) if namespaces.insert(namespace.to_owned()) => {
                    let informer = watched.informer.clone();
                    look_again(informer, enqueue.clone(), namespace.to_owned());
                }
                Some(_) => {}
            }
            !namespaces.is_empty()
        });
        for (resource, api) in wanted {
            let informer = self.caches.metadata(&api);
            let namespaces = Arc::new(Mutex::new(BTreeSet::from([namespace.to_owned()])));
            let options = SubscribeOptions::default().name("remaining content");
            let events = informer.subscribe(options);
            let enqueuing = enqueue_waiting(events, enqueue.clone(), namespaces.clone());
            let task = tokio::spawn(enqueuing).abort_handle();
            look_again(informer.clone(), enqueue.clone(), namespace.to_owned());
            let watched = Watched {
                namespaces,
                informer,
                task,
            };
            state.watched.insert(resource, watched);
        }
    }

    /// Removes the namespace.
    pub(super) fn forget(&self, namespace: &str) {
        self.watch(namespace, Vec::new());
    }
}

/// Enqueues the namespace of every deleted object, if it is waiting.
async fn enqueue_waiting(
    mut events: Subscription<()>,
    enqueue: Enqueue,
    namespaces: Arc<Mutex<BTreeSet<String>>>,
) {
    while let Some(event) = events.next().await {
        if let Event::Deleted { object, .. } = &event
            && let Some(namespace) = object.namespace()
            && namespaces.lock().contains(namespace)
        {
            enqueue.add(Request::cluster_scoped(namespace));
        }
    }
}

/// Enqueues the namespace when the watch is established.
fn look_again(informer: SharedInformer<()>, enqueue: Enqueue, namespace: String) {
    tokio::spawn(async move {
        informer.start();
        if informer.sync_or_error().await.is_ok() {
            enqueue.add(Request::cluster_scoped(&namespace));
        }
    });
}

fn id(resource: &ApiResource) -> GroupVersionResource {
    GroupVersionResource::new(&resource.group, &resource.version, &resource.plural)
}

/// Clears everything when the queue is gone.
struct Connected<'a>(&'a Remaining);

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        *self.0.state.lock() = State::default();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}
