//! [`Monitors`]: a metadata watch for every resource that can be deleted, listed and watched.
//!
//! A CustomResourceDefinition is written a moment before its kind is served, and removed a moment before the kind is
//! gone. Discovery is therefore repeated until it agrees with the definitions, but not for long, since a definition may
//! never be served.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use kube::core::ApiResource;
use kubewright_client::{DiscoveryClient, discovery::Discovered};
use kubewright_controller::{
    Action, Context, Controller, Handler, Reconciler, Request, Result, Watch, WatchHandle,
    status::{SourceState, TriggerCause},
};
use kubewright_informer::SharedInformer;
use kubewright_machinery::gvk::{GroupResource, GroupVersionResource};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{collector::Collector, identity::ObjectKind};
use crate::resources::{Places, collectable};

/// The delays until discovery is repeated after a change, since a server may be a little late to serve a new kind. The
/// last one repeats forever, in case something changes without a notification.
const LOOK_AGAIN: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(10),
    Duration::from_secs(300),
];

/// The delays while waiting for discovery to agree with the definitions.
const LAG: [Duration; 8] = [
    Duration::from_millis(2),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
];

/// The interval at which the initial listing is checked.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) struct Monitors {
    collector: Arc<Collector>,
    controller: Controller,
    definitions: SharedInformer<()>,
    /// The kinds that were defined at the last discovery.
    defined: Mutex<BTreeSet<GroupResource>>,
    first_look: Duration,
    watches: Mutex<BTreeMap<GroupVersionResource, Monitor>>,
    /// The number of discoveries in a row without a change.
    quiet: AtomicUsize,
}

struct Monitor {
    resource: ApiResource,
    kind: ObjectKind,
    _watch: WatchHandle,
}

impl Monitors {
    /// Creates the watches of a controller. `definitions` is the metadata cache of CustomResourceDefinitions;
    /// `first_look` is the time limit of the initial listing.
    pub(super) fn new(
        collector: Arc<Collector>,
        controller: Controller,
        definitions: SharedInformer<()>,
        first_look: Duration,
    ) -> Self {
        Self {
            collector,
            controller,
            definitions,
            defined: Mutex::default(),
            first_look,
            watches: Mutex::default(),
            quiet: AtomicUsize::new(0),
        }
    }

    /// Discovers the resources of the server, once discovery agrees with the definitions.
    async fn discover(&self, context: &Context) -> Result<Discovered> {
        let discovery = DiscoveryClient::new(context.client().live());
        let mut found = discovery.discover().await?;
        let asked = context.trigger().map(|trigger| trigger.cause);
        if asked != Some(TriggerCause::Requeue) {
            for pause in LAG {
                if self.agrees(&found) || context.stop().is_stopping() {
                    break;
                }
                tokio::time::sleep(pause).await;
                found = discovery.discover().await?;
            }
        }
        *self.defined.lock() = self.defined_now().into_keys().collect();
        Ok(found)
    }

    /// Returns whether all defined kinds are served, and no removed ones.
    fn agrees(&self, found: &Discovered) -> bool {
        let places = Places::new(found);
        let now = self.defined_now();
        let served = |(resource, stays): (&GroupResource, &bool)| !*stays || places.has(resource);
        let before = self.defined.lock();
        let mut removed = before.iter().filter(|resource| !now.contains_key(resource));
        now.iter().all(served) && !removed.any(|resource| places.has(resource))
    }

    /// Returns the defined kinds, and whether each definition is not being deleted.
    fn defined_now(&self) -> BTreeMap<GroupResource, bool> {
        let definitions = self.definitions.indexer().snapshot();
        let named = definitions.iter().filter_map(|definition| {
            let (plural, group) = definition.name().split_once('.')?;
            let stays = definition.deletion_timestamp().is_none();
            Some((GroupResource::new(group, plural), stays))
        });
        named.collect()
    }

    /// Watches these resources and no others.
    fn watch(&self, wanted: BTreeMap<GroupVersionResource, ApiResource>) {
        let mut watches = self.watches.lock();
        let (mut kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut *watches)
            .into_iter()
            .partition(|(id, _)| wanted.contains_key(id));
        let mut new = Vec::new();
        for (id, resource) in wanted {
            kept.entry(id).or_insert_with(|| {
                let monitor = self.monitor(resource);
                new.push(monitor.kind.clone());
                monitor
            });
        }
        *watches = kept;
        drop(watches);
        // Owners of a new kind could not be looked up before. Objects of a kind that is gone, or that is now watched in
        // another version, may have been deleted unseen.
        new.extend(gone.into_values().map(|monitor| monitor.kind));
        for kind in &new {
            self.collector.look_at_all(kind);
        }
    }

    fn monitor(&self, resource: ApiResource) -> Monitor {
        let kind = ObjectKind {
            api_version: resource.api_version.as_str().into(),
            kind: resource.kind.as_str().into(),
        };
        let (collector, of_kind) = (self.collector.clone(), kind.clone());
        let handler = Handler::events(move |event| collector.observe(event, &of_kind));
        let watch = Watch::kind(&resource, handler).metadata_only();
        Monitor {
            _watch: self.controller.watch(watch),
            resource,
            kind,
        }
    }

    /// Waits for the initial listing, within the time limit.
    async fn first_look(&self, context: &Context) {
        let deadline = Instant::now() + self.first_look;
        let seen = || {
            let sources = self.controller.status().sources;
            sources
                .iter()
                .all(|source| !matches!(source.state, SourceState::New | SourceState::Syncing))
        };
        while !seen() && Instant::now() < deadline && !context.stop().is_stopping() {
            tokio::time::sleep(PAUSE).await;
        }
        tracing::info!(
            objects = self.collector.len(),
            complete = seen(),
            "starting garbage collection"
        );
        self.collector.set_ready();
    }

    fn look_again(&self, context: &Context) -> Duration {
        let asked = context.trigger().map(|trigger| trigger.cause);
        let quiet = if asked == Some(TriggerCause::Requeue) {
            self.quiet.fetch_add(1, Ordering::Relaxed) + 1
        } else {
            self.quiet.store(0, Ordering::Relaxed);
            0
        };
        LOOK_AGAIN[quiet.min(LOOK_AGAIN.len() - 1)]
    }
}

impl Reconciler for Monitors {
    async fn reconcile(&self, context: Context, _: Request) -> Result<Action> {
        let found = self.discover(&context).await?;
        let mut wanted = collectable(&found);
        if wanted.is_empty() {
            return Err("no resources reported by discovery".into());
        }
        let ignored = [
            GroupResource::new("", "events"),
            GroupResource::new("events.k8s.io", "events"),
        ];
        wanted.retain(|id, _| !ignored.contains(&id.group_resource()));
        let mut places = Places::new(&found);
        // A group that does not respond keeps its resources.
        for (id, monitor) in &*self.watches.lock() {
            if found.failures.contains_key(&id.group_version()) {
                wanted.insert(id.clone(), monitor.resource.clone());
            }
        }
        places.keep(&self.collector.places(), &found);
        self.collector.set_places(Arc::new(places));
        self.watch(wanted);
        if !self.collector.is_ready() {
            self.first_look(&context).await;
        }
        Ok(Action::requeue_after(self.look_again(&context)))
    }
}
