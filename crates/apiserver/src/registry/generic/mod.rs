//! The generic registry: resources whose objects live in a store.
//!
//! It implements the rules that all kinds share: names, uids, generations, optimistic concurrency, finalizers, graceful
//! deletion, selectors, chunks, watches. The rules of one kind are its [`Strategy`]. There is one file for each verb.
//!
//! Invariants: an object is decoded at most once on a write path and not at all on a read path; a write commits only by
//! compare-and-swap on the revision it was computed from.

mod batch;
mod codec;
mod continue_token;
mod create;
mod delete;
mod delete_collection;
mod history;
mod list;
mod metadata;
mod no_op;
mod pool;
mod read;
mod rewrite;
mod size;
mod strategy;
mod update;
mod watch;

use std::sync::Arc;

use kubewright_machinery::{
    Status, go,
    gvk::{GroupKind, GroupResource},
    status,
    validation::names,
};
use kubewright_store::{Failure, FailureKind, Key, ReadError, Store};
use tokio::sync::watch as watch_channel;

pub(crate) use codec::served_bytes;
pub use codec::{Converter, payload};
pub(crate) use metadata::ensure_namespace;
pub use pool::BlockingPool;
pub use rewrite::DryRun;
pub use strategy::{
    Plain, Reservation, Strategy, StrategyOptions, validate_metadata, validate_metadata_update,
};

use super::{handlers::Handlers, resource::Resource, spec::ResourceSpec};
use crate::{
    clock::{SharedClock, SystemClock},
    field_manager::FieldManager,
};

/// The generic registry: a resource whose objects live in a store.
///
/// [`Resource::stored`] makes one, [`Generic::into_resource`] turns it into a [`Resource`] with a handler for every verb.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::registry::{Generic, Plain, ResourceSpec};
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use kubewright_store::MemoryStore;
///
/// let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
/// let spec = ResourceSpec::new(kind, "comets");
/// let comets = Generic::new(spec, Arc::new(MemoryStore::new())).with_strategy(Arc::new(Plain));
/// assert_eq!(&*comets.key("", "halley").collection, "sky.example.com/comets");
///
/// let resource = comets.into_resource();
/// assert!(resource.handlers().watch.is_some());
/// ```
#[derive(Clone)]
pub struct Generic {
    spec: Arc<ResourceSpec>,
    store: Arc<dyn Store>,
    collection: Arc<str>,
    resource: GroupResource,
    kind_in_errors: GroupKind,
    strategy: Arc<dyn Strategy>,
    converter: Option<Arc<dyn Converter>>,
    clock: SharedClock,
    ends: Option<watch_channel::Receiver<()>>,
}

impl Generic {
    /// Returns the generic registry of a resource, with the strategy [`Plain`].
    pub fn new(spec: impl Into<Arc<ResourceSpec>>, store: Arc<dyn Store>) -> Self {
        let spec = spec.into();
        let group = &spec.group_version.group;
        let collection = match group.as_str() {
            "" => spec.plural.as_str().into(),
            group => format!("{group}/{}", spec.plural).into(),
        };
        Self {
            store,
            collection,
            resource: spec.group_resource(),
            kind_in_errors: spec.kind.group_kind(),
            strategy: Arc::new(Plain),
            converter: None,
            clock: Arc::new(SystemClock),
            ends: None,
            spec,
        }
    }

    /// Sets the collection of the store that holds the objects (default: the plural name and the group).
    #[must_use]
    pub fn with_collection(mut self, collection: impl Into<Arc<str>>) -> Self {
        self.collection = collection.into();
        self
    }

    /// Sets the strategy. `status` and similar subresources are clones with another strategy.
    #[must_use]
    pub fn with_strategy(mut self, strategy: Arc<dyn Strategy>) -> Self {
        self.strategy = strategy;
        self
    }

    /// Sets the converter between the stored and the served form of an object (default: they are the same).
    #[must_use]
    pub fn with_converter(mut self, converter: Arc<dyn Converter>) -> Self {
        self.converter = Some(converter);
        self
    }

    /// Sets the clock (default: the system clock).
    #[must_use]
    pub fn with_clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Ends all watches when the sender is dropped, because the resource is no longer served.
    #[must_use]
    pub fn with_watches_until(mut self, ends: watch_channel::Receiver<()>) -> Self {
        self.ends = Some(ends);
        self
    }

    /// Sets the kind that validation errors name (default: the kind of the resource).
    #[must_use]
    pub fn with_kind_in_errors(mut self, kind: GroupKind) -> Self {
        self.kind_in_errors = kind;
        self
    }

    /// Returns the description of the resource.
    pub fn spec(&self) -> &Arc<ResourceSpec> {
        &self.spec
    }

    /// Returns the clock.
    pub fn clock(&self) -> &SharedClock {
        &self.clock
    }

    /// Turns the registry into a resource with a handler for every verb, which tracks managed fields.
    pub fn into_resource(self) -> Resource {
        let (spec, clock) = (self.spec.clone(), self.clock.clone());
        let collection = self.collection.clone();
        let manager = FieldManager::new(&spec.kind, spec.shape, "", &[]);
        Resource::computed(spec, self.handlers())
            .with_field_manager(manager)
            .with_collection(collection)
            .with_clock(clock)
    }

    /// Returns handlers for every verb.
    pub fn handlers(self) -> Handlers {
        let this = Arc::new(self);
        Handlers {
            get: Some(this.clone()),
            list: Some(this.clone()),
            watch: Some(this.clone()),
            create: Some(this.clone()),
            update: Some(this.clone()),
            delete: Some(this.clone()),
            delete_collection: Some(this.clone()),
            history: Some(this),
            connect: None,
        }
    }

    /// Returns handlers for a subresource that is read and updated.
    pub fn subresource_handlers(self) -> Handlers {
        let this = Arc::new(self);
        Handlers {
            get: Some(this.clone()),
            update: Some(this),
            ..Handlers::default()
        }
    }

    /// Returns the key of an object.
    pub fn key(&self, namespace: &str, name: &str) -> Key {
        let path: Arc<str> = if self.spec.namespaced {
            format!("{namespace}/{name}").into()
        } else {
            name.into()
        };
        Key {
            collection: self.collection.clone(),
            path,
        }
    }

    /// Returns the key of an object, or an error if the name cannot be part of a path.
    fn checked_key(&self, namespace: &str, name: &str) -> Result<Key, Status> {
        let wrong = names::is_path_segment_name(name);
        if wrong.is_empty() {
            return Ok(self.key(namespace, name));
        }
        let name = go::quote(name);
        let text = format!("Name parameter invalid: {name}: {}", wrong.join(";"));
        Err(status::bad_request(text))
    }

    fn not_found(&self, name: &str) -> Status {
        status::not_found(&self.resource, name)
    }

    /// Returns the answer to a failure of the store. A store that is an API itself may fail with a [`Status`].
    fn store_failure(error: &(dyn std::error::Error + 'static)) -> Status {
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(own) = error.downcast_ref::<Status>() {
                return own.clone();
            }
            if let Some(failure) = error.downcast_ref::<Failure>() {
                return failed(failure);
            }
            cause = error.source();
        }
        status::internal(error)
    }

    fn read_failure(error: &ReadError) -> Status {
        match error {
            ReadError::Compacted { .. } => {
                status::expired("The resourceVersion for the provided list is too old.")
            }
            ReadError::Future { requested, current } => {
                status::too_large_resource_version(requested.0, current.0)
            }
            ReadError::Backend(_) => Self::store_failure(error),
        }
    }
}

/// Returns the answer to a failure of a backend.
fn failed(failure: &Failure) -> Status {
    let message = failure.message.as_str();
    match failure.kind {
        FailureKind::Unavailable => status::service_unavailable(message).retry_after(1),
        FailureKind::OutcomeUnknown => status::timeout(message, 0),
        FailureKind::Busy => status::too_many_requests(message, 1),
        FailureKind::TooLarge => status::too_large(message),
        _ => status::internal(message),
    }
}

impl From<Generic> for Resource {
    fn from(generic: Generic) -> Self {
        generic.into_resource()
    }
}
