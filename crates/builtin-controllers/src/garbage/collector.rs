//! [`Collector`]: processes one object at a time, and carries out the consequences of a change of the graph.

use std::sync::Arc;

use futures_util::future::join_all;
use k8s_openapi::{
    api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::core::{PartialObjectMeta, params::PropagationPolicy};
use kubewright_controller::{
    Action, AnyEvent, Context, Enqueue, Reconciler, Request, Result,
    events::{EventType, Recorder},
};
use kubewright_informer::Event;
use kubewright_workqueue::AddOptions;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{
    graph::{Follows, Graph, Node},
    identity::{Deletion, FOREGROUND, Identity, ORPHAN, ObjectKind, OwnerRef, Uid},
    requests::{Server, Trouble},
};
use crate::resources::Places;

pub(super) struct Collector {
    graph: Mutex<Graph>,
    places: Mutex<Arc<Places>>,
    /// True once everything has been listed.
    ready: watch::Sender<bool>,
    enqueue: Mutex<Option<Enqueue>>,
    recorder: Recorder,
}

/// Connects the collector to the queue.
pub(super) struct Worker(pub(super) Arc<Collector>);

/// The owners of an object, by state.
#[derive(Default)]
struct Owners {
    /// Owners that exist and are not being deleted.
    solid: Vec<Uid>,
    /// Owners that do not exist.
    dangling: Vec<Uid>,
    /// Owners that are being deleted and wait for their dependents.
    waiting: Vec<Uid>,
}

impl Collector {
    pub(super) fn new(recorder: Recorder) -> Self {
        Self {
            graph: Mutex::default(),
            places: Mutex::default(),
            ready: watch::Sender::new(false),
            enqueue: Mutex::default(),
            recorder,
        }
    }

    /// Replaces the mapping from kinds to resources.
    pub(super) fn set_places(&self, places: Arc<Places>) {
        *self.places.lock() = places;
    }

    /// Returns the mapping from kinds to resources.
    pub(super) fn places(&self) -> Arc<Places> {
        self.places.lock().clone()
    }

    /// Starts the work.
    pub(super) fn set_ready(&self) {
        self.ready.send_replace(true);
    }

    /// Returns whether the work has started.
    pub(super) fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// Adds consequences to this queue until the guard is dropped.
    pub(super) async fn feed(&self, enqueue: Enqueue) {
        *self.enqueue.lock() = Some(enqueue);
        let _until_dropped = Unfed(self);
        std::future::pending().await
    }

    /// Applies a watch event to the graph, and returns the objects to process.
    pub(super) fn observe(&self, event: &AnyEvent, kind: &ObjectKind) -> Vec<Request> {
        let mut attempt = Vec::new();
        let mut graph = self.graph.lock();
        let mut follows = match event {
            Event::Added { object, .. } => see(&mut graph, object, kind, None),
            Event::Updated {
                old, object: new, ..
            } if old.uid() == new.uid() => see(&mut graph, new, kind, Some(Deletion::of(old))),
            Event::Updated {
                old, object: new, ..
            } => {
                attempt.extend(graph.remove(&Identity::of(old, kind)).attempt);
                see(&mut graph, new, kind, None)
            }
            Event::Deleted { object, .. } => graph.remove(&Identity::of(object, kind)),
        };
        drop(graph);
        attempt.append(&mut follows.attempt);
        self.follow(follows);
        attempt.iter().map(|uid| request(uid)).collect()
    }

    /// Enqueues all objects of a kind.
    pub(super) fn look_at_all(&self, kind: &ObjectKind) {
        let objects = self.graph.lock().of_kind(kind);
        self.follow(Follows {
            attempt: objects.into_iter().map(|object| object.uid).collect(),
            ..Follows::default()
        });
    }

    /// Returns the number of known objects.
    pub(super) fn len(&self) -> usize {
        self.graph.lock().len()
    }

    fn follow(&self, follows: Follows) {
        if follows.is_empty() {
            return;
        }
        for (dependent, owner) in &follows.invalid {
            let note = format!(
                "ownerRef {owner} does not exist in namespace {:?}",
                dependent.namespace
            );
            let regarding = reference_to(dependent);
            let reason = "OwnerRefInvalidNamespace";
            self.recorder
                .event_about(regarding, EventType::Warning, reason, note);
        }
        let enqueue = self.enqueue.lock().clone();
        let Some(enqueue) = enqueue else {
            return;
        };
        for uid in &follows.attempt {
            enqueue.add(request(uid));
        }
        for uid in &follows.later {
            enqueue.add_with(request(uid), AddOptions::new().rate_limited());
        }
    }

    /// Records that the server does not have the object.
    fn is_not_there(&self, identity: &Identity) -> Action {
        let follows = self.graph.lock().remove_unseen(identity);
        self.follow(follows);
        Action::done()
    }

    async fn look_at(&self, server: &Server, node: &Node) -> Result<Action, Trouble> {
        let identity = &node.identity;
        if node.orphaning {
            return self.orphan_dependents(server, identity).await;
        }
        if node.being_deleted && !node.deleting_dependents {
            // Its dependents are processed when it is gone.
            return Ok(Action::done());
        }
        let latest = match server.get(identity).await {
            Err(error) if error.is_not_found() => return Ok(self.is_not_there(identity)),
            latest => latest?,
        };
        if latest.metadata.uid.as_deref() != Some(&identity.uid) {
            return Ok(self.is_not_there(identity));
        }
        if node.deleting_dependents {
            self.wait_for_dependents(server, identity).await?;
        } else {
            self.weigh(server, node, &latest).await?;
        }
        Ok(if node.is_virtual {
            // It stays virtual until a watch shows it, since it may come and go unseen.
            Action::requeue()
        } else {
            Action::done()
        })
    }

    /// Processes an object that must be deleted after its dependents.
    async fn wait_for_dependents(
        &self,
        server: &Server,
        identity: &Identity,
    ) -> Result<(), Trouble> {
        let (blocked, attempt) = {
            let graph = self.graph.lock();
            let blocking = graph.blocking_dependents(&identity.uid);
            let others = blocking.iter().filter(|node| !node.deleting_dependents);
            let attempt = others.map(|node| node.identity.uid.clone()).collect();
            (!blocking.is_empty(), attempt)
        };
        if !blocked {
            return server.remove_finalizer(identity, FOREGROUND).await;
        }
        self.follow(Follows {
            attempt,
            ..Follows::default()
        });
        Ok(())
    }

    /// Processes an object that may have lost its owners.
    async fn weigh(
        &self,
        server: &Server,
        node: &Node,
        latest: &PartialObjectMeta,
    ) -> Result<(), Trouble> {
        let references = latest.metadata.owner_references.as_deref();
        let references = references.unwrap_or_default();
        if references.is_empty() {
            return Ok(());
        }
        let identity = &node.identity;
        let owners = self.classify(server, identity, references).await?;
        if !owners.solid.is_empty() {
            let mut gone = owners.dangling;
            // An owner that waits for its dependents must not wait for one that stays.
            gone.extend(owners.waiting);
            if gone.is_empty() {
                return Ok(());
            }
            return server.remove_owners(identity, &gone).await;
        }
        let (has_dependents, in_a_circle) = {
            let graph = self.graph.lock();
            let dependents = graph.dependents(&identity.uid);
            let waits = dependents.iter().any(|node| node.deleting_dependents);
            (!dependents.is_empty(), waits)
        };
        let policy = if !owners.waiting.is_empty() && has_dependents {
            if in_a_circle {
                let references: Vec<OwnerRef> = references.iter().map(owner_ref).collect();
                server.unblock_owners(identity, &references).await?;
            }
            PropagationPolicy::Foreground
        } else {
            let finalizers = latest.metadata.finalizers.as_deref().unwrap_or_default();
            let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
            if has(ORPHAN) {
                PropagationPolicy::Orphan
            } else if has(FOREGROUND) {
                PropagationPolicy::Foreground
            } else {
                PropagationPolicy::Background
            }
        };
        tracing::debug!(object = %identity, ?policy, "deletes");
        match server.delete(identity, latest, policy).await {
            Err(error) if error.is_not_found() => {
                let _ = self.is_not_there(identity);
                Ok(())
            }
            deleted => deleted,
        }
    }

    async fn classify(
        &self,
        server: &Server,
        dependent: &Identity,
        references: &[OwnerReference],
    ) -> Result<Owners, Trouble> {
        let mut owners = Owners::default();
        for reference in references.iter().map(owner_ref) {
            let uid = reference.uid.clone();
            let Some(owner) = self.find(server, dependent, &reference).await? else {
                owners.dangling.push(uid);
                continue;
            };
            let finalizers = owner.metadata.finalizers.unwrap_or_default();
            let foreground = finalizers.iter().any(|finalizer| finalizer == FOREGROUND);
            if owner.metadata.deletion_timestamp.is_some() && foreground {
                owners.waiting.push(uid);
            } else {
                owners.solid.push(uid);
            }
        }
        Ok(owners)
    }

    /// Looks up an owner on the server.
    async fn find(
        &self,
        server: &Server,
        dependent: &Identity,
        reference: &OwnerRef,
    ) -> Result<Option<PartialObjectMeta>, Trouble> {
        let nowhere: Arc<str> = "".into();
        let mut owner = reference.seen_from(&dependent.namespace);
        {
            let absent = &mut self.graph.lock().absent;
            if absent.has(&reference.seen_from(&nowhere)) || absent.has(&owner) {
                return Ok(None);
            }
        }
        let place = server.place(&reference.api_version, &reference.kind)?;
        if !place.namespaced {
            owner.namespace = nowhere;
        } else if !dependent.is_namespaced() {
            return Err(Trouble::NamespacedOwner);
        }
        let found = match server.get(&owner).await {
            Err(error) if error.is_not_found() => None,
            found => Some(found?),
        };
        let found = found.filter(|found| found.metadata.uid.as_deref() == Some(&owner.uid));
        if found.is_none() {
            self.graph.lock().absent.add(owner);
        }
        Ok(found)
    }

    /// Removes an object from the references of its dependents, then removes its finalizer.
    async fn orphan_dependents(
        &self,
        server: &Server,
        owner: &Identity,
    ) -> Result<Action, Trouble> {
        let dependents: Vec<Identity> = {
            let graph = self.graph.lock();
            let dependents = graph.dependents(&owner.uid);
            dependents.into_iter().map(|n| n.identity.clone()).collect()
        };
        let owners = [owner.uid.clone()];
        let orphaned = dependents
            .iter()
            .map(|dependent| server.remove_owners(dependent, &owners));
        for orphaned in join_all(orphaned).await {
            match orphaned {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        server.remove_finalizer(owner, ORPHAN).await?;
        self.graph.lock().orphaned(&owner.uid);
        Ok(Action::done())
    }
}

impl Reconciler for Worker {
    async fn reconcile(&self, context: Context, request: Request) -> Result<Action> {
        let collector = &self.0;
        let mut ready = collector.ready.subscribe();
        tokio::select! {
            biased;
            () = context.stop().stopping() => return Ok(Action::done()),
            _ = ready.wait_for(|ready| *ready) => {}
        }
        let node = collector.graph.lock().node(request.name()).cloned();
        let Some(node) = node else {
            return Ok(Action::done());
        };
        let server = Server::new(context.client().live(), collector.places());
        match collector.look_at(&server, &node).await {
            // Such a reference can never be resolved.
            Err(Trouble::NamespacedOwner) => Ok(Action::done()),
            Err(unknown @ Trouble::UnknownKind { .. }) => {
                tracing::debug!(object = %node.identity, %unknown, "tries again");
                Ok(Action::requeue())
            }
            looked => Ok(looked?),
        }
    }
}

fn see(
    graph: &mut Graph,
    object: &kubewright_informer::StoredObject,
    kind: &ObjectKind,
    before: Option<Deletion>,
) -> Follows {
    let owners = object.owners().into_iter().map(OwnerRef::from).collect();
    graph.observe(
        Identity::of(object, kind),
        owners,
        Deletion::of(object),
        before,
    )
}

fn request(uid: &str) -> Request {
    Request::cluster_scoped(uid)
}

fn owner_ref(reference: &OwnerReference) -> OwnerRef {
    OwnerRef {
        api_version: reference.api_version.as_str().into(),
        kind: reference.kind.as_str().into(),
        name: reference.name.as_str().into(),
        uid: reference.uid.as_str().into(),
        blocks: reference.block_owner_deletion == Some(true),
    }
}

fn reference_to(object: &Identity) -> ObjectReference {
    ObjectReference {
        api_version: Some(object.api_version.to_string()),
        kind: Some(object.kind.to_string()),
        namespace: Some(object.namespace.to_string()),
        name: Some(object.name.to_string()),
        uid: Some(object.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// Disconnects the queue.
struct Unfed<'a>(&'a Collector);

impl Drop for Unfed<'_> {
    fn drop(&mut self) {
        *self.0.enqueue.lock() = None;
    }
}
