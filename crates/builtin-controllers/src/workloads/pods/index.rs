//! Pods by controller, and the requests that events of pods cause.

use std::sync::Arc;

use kube::{Resource, core::ApiResource};
use kubewright_controller::{AnyEvent, Client, Handler, Manager, Object, Request, Result};
use kubewright_informer::{Event, IndexError, IndexFn, SharedInformer, Snapshot, StoredObject};
use kubewright_machinery::labels::LabelSelector;

use crate::workloads::objects::Pod;

/// An object of any kind.
type AnyObject = kubewright_informer::Cached<()>;

/// The index of objects by controller.
const CONTROLLER: &str = "controller";

/// The index of owners by namespace.
const NAMESPACE: &str = "namespace";

/// Indexes the objects of a type by their controllers, and those without one by their namespaces.
pub(crate) fn add_index<K: Object>(manager: &Manager) {
    let key = |object: &StoredObject| {
        vec![match object.controller() {
            Some(owner) => owned(&owner.kind, &owner.uid),
            None => orphans(object.namespace().unwrap_or_default()),
        }]
    };
    add_once::<K>(manager, CONTROLLER, IndexFn::new(key));
}

fn add_once<K: Object>(manager: &Manager, name: &str, function: IndexFn) {
    match manager.client().index::<K>(name, function) {
        // Another controller has added the same one.
        Ok(()) | Err(IndexError::Exists(_)) => {}
        Err(error) => tracing::error!(%error, "an index is missing"),
    }
}

/// Indexes the objects of a type by their namespaces.
pub(crate) fn add_namespace_index<K: Object>(manager: &Manager) {
    add_once::<K>(manager, NAMESPACE, IndexFn::namespace());
}

/// Returns the objects of a namespace in a cache.
pub(crate) fn cached_in_namespace<K: Object>(
    objects: &SharedInformer<K>,
    namespace: &str,
) -> Vec<Arc<K>> {
    // Without the index nothing is known.
    let found = objects.lister().list_by_index(NAMESPACE, namespace);
    found.unwrap_or_default()
}

/// The index of pods by node.
const NODE: &str = "node";

/// Indexes pods by the nodes that they are bound to.
pub(crate) fn add_node_index(manager: &Manager) {
    add_once::<Pod>(manager, NODE, IndexFn::field("spec.nodeName"));
}

/// Returns the pods of a node in a cache.
pub(crate) fn cached_on_node(pods: &SharedInformer<()>, node: &str) -> Vec<Arc<StoredObject>> {
    // Without the index nothing is known.
    pods.indexer().by_index(NODE, node).unwrap_or_default()
}

/// Returns the pods of a node from the cache, once it shows this client's writes.
pub(crate) async fn on_node(client: &Client, node: &str) -> Result<Vec<Arc<Pod>>> {
    let informer = client.current_informer::<Pod>().await?;
    let stored = informer.indexer().by_index(NODE, node)?;
    let mut pods = Vec::with_capacity(stored.len());
    for object in stored {
        pods.push(object.decode()?);
    }
    Ok(pods)
}

fn owned(kind: &str, uid: &str) -> String {
    format!("{kind}/{uid}")
}

fn orphans(namespace: &str) -> String {
    format!("/{namespace}")
}

/// Returns the objects of a controller of that kind and UID from the cache, once it shows this client's writes.
pub(crate) async fn owned_by<K: Object>(
    client: &Client,
    kind: &str,
    uid: &str,
) -> Result<Vec<Arc<StoredObject>>> {
    let informer = client.current_informer::<K>().await?;
    let snapshot = informer.indexer().snapshot();
    Ok(snapshot.by_index(CONTROLLER, &owned(kind, uid))?)
}

/// Returns the objects that a controller of that kind and UID has in a snapshot of a cache.
pub(crate) fn cached_children(
    snapshot: &Snapshot,
    kind: &str,
    uid: &str,
) -> Vec<Arc<StoredObject>> {
    // Without the index nothing is known.
    snapshot
        .by_index(CONTROLLER, &owned(kind, uid))
        .unwrap_or_default()
}

/// Returns the objects that an owner controls, and those of its namespace that nothing controls, as the cache has them once
/// it shows one's own writes.
pub(crate) async fn owned_and_orphans<O: Object, K: Object>(
    client: &Client,
    owner: &O,
) -> Result<Vec<Arc<StoredObject>>> {
    let informer = client.current_informer::<K>().await?;
    let snapshot = informer.indexer().snapshot();
    let meta = owner.meta();
    let (uid, namespace) = (meta.uid.as_deref(), meta.namespace.as_deref());
    let owner = owned(&O::kind(&()), uid.unwrap_or_default());
    let mut objects = snapshot.by_index(CONTROLLER, &owner)?;
    objects.extend(snapshot.by_index(CONTROLLER, &orphans(namespace.unwrap_or_default()))?);
    Ok(objects)
}

/// Returns a handler of the events of children: requests the controller of a child, before and after an update. A child
/// without a controller concerns all owners whose selectors match it when it appears, or when its labels or controller
/// change; its deletion causes none.
pub(crate) fn events_of_children<O: Object>(
    manager: &Manager,
    selector: fn(&O) -> Option<LabelSelector>,
) -> Handler {
    add_namespace_index::<O>(manager);
    let owners = manager
        .caches()
        .informer(&ApiResource::erase::<O>(&()))
        .cast::<O>();
    Handler::events(move |event| requests(event, &owners, selector))
}

/// Returns a handler of the events of pods: requests all objects whose selectors match the labels that a pod has or had, if
/// a function says that the change concerns them.
pub(crate) fn events_of_selected<O: Object>(
    manager: &Manager,
    selector: fn(&O) -> Option<LabelSelector>,
    concerns: fn(&Pod, &Pod) -> bool,
) -> Handler {
    add_namespace_index::<O>(manager);
    let owners = manager
        .caches()
        .informer(&ApiResource::erase::<O>(&()))
        .cast::<O>();
    Handler::events(move |event| {
        let pod = event.object();
        let Event::Updated { old, .. } = event else {
            return matching(pod, &owners, selector, Empty::Everything);
        };
        let same_labels = old.labels() == pod.labels();
        let decode = |pod: &AnyObject| pod.clone().cast::<Pod>().get();
        let is_concerned = match (decode(old), decode(pod)) {
            (Ok(old), Ok(new)) => concerns(&old, &new),
            _ => true,
        };
        let mut found = match same_labels && !is_concerned {
            true => Vec::new(),
            false => matching(pod, &owners, selector, Empty::Everything),
        };
        if !same_labels {
            found.extend(matching(old, &owners, selector, Empty::Everything));
        }
        found
    })
}

fn requests<O: Object>(
    event: &AnyEvent,
    owners: &SharedInformer<O>,
    selector: fn(&O) -> Option<LabelSelector>,
) -> Vec<Request> {
    let child = event.object();
    let old = match event {
        Event::Updated { old, .. } => Some(old),
        _ => None,
    };
    if old.is_some_and(|old| old.is_same_version(child)) {
        return Vec::new();
    }
    let mut found: Vec<Request> = old.and_then(|old| owner_of::<O>(old)).into_iter().collect();
    if child.controller().is_some() {
        found.extend(owner_of::<O>(child));
        return found;
    }
    let is_gone = matches!(event, Event::Deleted { .. }) || child.deletion_timestamp().is_some();
    let is_unchanged =
        old.is_some_and(|old| old.labels() == child.labels() && old.controller().is_none());
    if !is_gone && !is_unchanged {
        found.extend(matching(child, owners, selector, Empty::Nothing));
    }
    found
}

/// Returns a handler of the events of children that requests their controllers only, before and after an update.
pub(crate) fn events_of_controlled<O: Object>() -> Handler {
    Handler::events(|event| {
        let old = match event {
            Event::Updated { old, object, .. } if old.is_same_version(object) => return Vec::new(),
            Event::Updated { old, .. } => owner_of::<O>(old),
            _ => None,
        };
        let new = owner_of::<O>(event.object());
        old.into_iter().chain(new).collect()
    })
}

/// Returns the owner of that type that controls an object.
fn owner_of<O: Resource<DynamicType = ()>>(child: &StoredObject) -> Option<Request> {
    let owner = child.controller()?;
    let group = owner
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let is_it = owner.kind == O::kind(&()) && group == O::group(&());
    is_it.then(|| Request::new(child.namespace().unwrap_or_default(), &owner.name))
}

/// The meaning of an empty selector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Empty {
    Nothing,
    Everything,
}

/// Returns the owners in the namespace of an object whose selectors match it.
fn matching<O: Object>(
    child: &StoredObject,
    owners: &SharedInformer<O>,
    selector: fn(&O) -> Option<LabelSelector>,
    empty: Empty,
) -> Vec<Request> {
    let namespace = child.namespace().unwrap_or_default();
    let Ok(owners) = owners.lister().list_by_index(NAMESPACE, namespace) else {
        return Vec::new();
    };
    let labels = child.labels();
    let label = |name: &str| {
        let label = labels.iter().find(|(key, _)| *key == name);
        label.map(|(_, value)| &**value)
    };
    let matches = |owner: &&Arc<O>| {
        selector(owner).is_some_and(|selector| {
            (empty == Empty::Everything || !selector.is_empty()) && selector.matches(label)
        })
    };
    owners
        .iter()
        .filter(matches)
        .map(|owner| Request::of(&**owner))
        .collect()
}

/// Returns a handler of the events of the objects themselves that ignores repetitions.
pub(crate) fn events_of_objects() -> Handler {
    Handler::events(|event| match event {
        Event::Updated { old, object, .. } if old.is_same_version(object) => Vec::new(),
        event => vec![Request::from(&**event.object())],
    })
}

/// Returns a handler of objects that are only read, and whose changes cause no requests.
pub(crate) fn no_events() -> Handler {
    Handler::events(|_| Vec::new())
}
