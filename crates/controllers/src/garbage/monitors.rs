//! [`Monitors`]: a watch of metadata for every resource that can be deleted, listed and watched.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use kube::core::ApiResource;
use kubewright_client::{DiscoveryClient, discovery::Discovery};
use kubewright_controller::{
    Action, Context, Controller, Error, Handler, Reconciler, Request, Watch, WatchHandle,
    status::{SourceState, TriggerCause},
};
use kubewright_machinery::gvk::{GroupResource, GroupVersionResource};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{collector::Collector, identity::ObjectKind};
use crate::resources::{Places, collectable};

/// When discovery is looked at again after something happened: a server may be a little late to serve what a definition
/// says. The last goes on for ever, in case something changes without being announced.
const LOOK_AGAIN: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(10),
    Duration::from_secs(300),
];

/// How often the first look is looked after.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) struct Monitors {
    collector: Arc<Collector>,
    controller: Controller,
    first_look: Duration,
    watches: Mutex<BTreeMap<GroupVersionResource, Monitor>>,
    /// How often nothing had happened in a row.
    quiet: AtomicUsize,
}

struct Monitor {
    resource: ApiResource,
    kind: ObjectKind,
    _watch: WatchHandle,
}

impl Monitors {
    /// Watches for that controller. `first_look`: how long it may take at most until everything has been seen once.
    pub(super) fn new(
        collector: Arc<Collector>,
        controller: Controller,
        first_look: Duration,
    ) -> Self {
        Self {
            collector,
            controller,
            first_look,
            watches: Mutex::default(),
            quiet: AtomicUsize::new(0),
        }
    }

    /// Watches these resources and no others.
    fn watch(&self, wanted: BTreeMap<GroupVersionResource, ApiResource>, places: &Places) {
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
        for kind in &new {
            // Dependents may have named objects of it that could not be looked for before.
            self.collector.look_at_all(kind);
        }
        for (id, monitor) in gone {
            let kind = monitor.kind.clone();
            // No event of it comes after this.
            drop(monitor);
            if places.has(&id.group_resource()) {
                // It is watched in another version: some may have gone unseen.
                self.collector.look_at_all(&kind);
            } else {
                self.collector.kind_is_gone(&kind);
            }
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

    /// Waits until everything has been seen once, but not for ever.
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
            "proceeds to collect garbage"
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

#[async_trait::async_trait]
impl Reconciler for Monitors {
    async fn reconcile(&self, context: Context, _: Request) -> Result<Action, Error> {
        let discovery = DiscoveryClient::new(context.client().live());
        let found = discovery.discover().await?;
        let mut wanted = collectable(&found);
        if wanted.is_empty() {
            return Err(Error::message("no resources reported by discovery"));
        }
        let ignored = [
            GroupResource::new("", "events"),
            GroupResource::new("events.k8s.io", "events"),
        ];
        wanted.retain(|id, _| !ignored.contains(&id.group_resource()));
        let mut places = Places::new(&found);
        // Who does not answer at present keeps what it had.
        for (id, monitor) in &*self.watches.lock() {
            if found.failures.contains_key(&id.group_version()) {
                wanted.insert(id.clone(), monitor.resource.clone());
            }
        }
        places.keep(&self.collector.places(), &found);
        let places = Arc::new(places);
        self.collector.set_places(places.clone());
        self.watch(wanted, &places);
        if !self.collector.is_ready() {
            self.first_look(&context).await;
        }
        Ok(Action::requeue_after(self.look_again(&context)))
    }
}
