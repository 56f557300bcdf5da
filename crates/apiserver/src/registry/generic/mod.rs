//! The generic registry: a resource whose objects live in a store.
//!
//! It knows the rules every kind shares (names, uids, generations, optimistic concurrency, finalizers, graceful deletion,
//! selectors, chunks, watches); what a kind does differently is its [`Strategy`]. One file for each thing it does, in the order
//! of a request's life: [`create`](self), update, delete, read, watch.
//!
//! Invariants: an object is decoded at most once on a write path and not at all on a read path; a write commits only by
//! compare-and-swap on the revision it was computed from.

mod codec;
mod continue_token;
mod create;
mod delete;
mod delete_collection;
mod list;
mod metadata;
mod read;
mod rewrite;
mod strategy;
mod update;
mod watch;

use std::sync::Arc;

use kubewright_machinery::{
    Status, go,
    gvk::{GroupKind, GroupResource, GroupVersionKind},
    status,
    validation::names,
};
use kubewright_store::{Key, ReadError, Store};
use tokio::sync::watch as watch_channel;

pub use codec::{Converter, payload};
pub(crate) use metadata::ensure_namespace;
pub use strategy::{GarbageCollection, Plain, Reservation, Strategy};

use super::resource::{Handlers, Shape};
use crate::{clock::SharedClock, object::Selectable};

/// A resource whose objects live in a store.
#[derive(Clone)]
pub struct Generic {
    store: Arc<dyn Store>,
    collection: Arc<str>,
    resource: GroupResource,
    kind: GroupVersionKind,
    kind_in_errors: GroupKind,
    namespaced: bool,
    shape: Shape,
    selectable: Arc<Selectable>,
    strategy: Arc<dyn Strategy>,
    converter: Option<Arc<dyn Converter>>,
    clock: SharedClock,
    ends: Option<watch_channel::Receiver<()>>,
}

/// What a [`Generic`] is made of.
pub struct GenericOptions {
    /// Where the objects live.
    pub store: Arc<dyn Store>,
    /// Under which collection.
    pub collection: Arc<str>,
    /// The resource as error messages name it.
    pub resource: GroupResource,
    /// The kind as it is served.
    pub kind: GroupVersionKind,
    /// Whether the objects live in namespaces.
    pub namespaced: bool,
    /// What is known about the fields.
    pub shape: Shape,
    /// The fields that selectors may name.
    pub selectable: Arc<Selectable>,
    /// What the kind does differently.
    pub strategy: Arc<dyn Strategy>,
    /// Between the stored form and the served one, where they differ.
    pub converter: Option<Arc<dyn Converter>>,
    /// The time.
    pub clock: SharedClock,
}

impl Generic {
    /// From its parts.
    pub fn new(options: GenericOptions) -> Self {
        let GenericOptions {
            store,
            collection,
            resource,
            kind,
            ..
        } = options;
        Self {
            store,
            collection,
            resource,
            kind_in_errors: kind.group_kind(),
            kind,
            namespaced: options.namespaced,
            shape: options.shape,
            selectable: options.selectable,
            strategy: options.strategy,
            converter: options.converter,
            clock: options.clock,
            ends: None,
        }
    }

    /// Watches end when the sender is gone: how a resource goes that is no longer served.
    #[must_use]
    pub fn until(self, ends: watch_channel::Receiver<()>) -> Self {
        Self {
            ends: Some(ends),
            ..self
        }
    }

    /// The same objects under other rules: how `status` and its like are made.
    #[must_use]
    pub fn with_strategy(&self, strategy: Arc<dyn Strategy>) -> Self {
        Self {
            strategy,
            ..self.clone()
        }
    }

    /// The same, but what is invalid is said of another kind.
    #[must_use]
    pub fn named_in_errors(self, kind: GroupKind) -> Self {
        Self {
            kind_in_errors: kind,
            ..self
        }
    }

    /// The clock it goes by.
    pub fn clock(&self) -> &SharedClock {
        &self.clock
    }

    /// Handlers for every verb.
    pub fn handlers(self) -> Handlers {
        let this = Arc::new(self);
        Handlers {
            get: Some(this.clone()),
            list: Some(this.clone()),
            watch: Some(this.clone()),
            create: Some(this.clone()),
            update: Some(this.clone()),
            delete: Some(this.clone()),
            delete_collection: Some(this),
            connect: None,
        }
    }

    /// Handlers for a subresource that is read and replaced.
    pub fn subresource_handlers(self) -> Handlers {
        let this = Arc::new(self);
        Handlers {
            get: Some(this.clone()),
            update: Some(this),
            ..Handlers::default()
        }
    }

    /// Where an object lives.
    pub fn key(&self, namespace: &str, name: &str) -> Key {
        let path: Arc<str> = if self.namespaced {
            format!("{namespace}/{name}").into()
        } else {
            name.into()
        };
        Key {
            collection: self.collection.clone(),
            path,
        }
    }

    /// Where an object lives, if its name can be part of a path.
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

    /// A failure of the store that the client can do nothing about.
    fn store_failure(error: &(dyn std::error::Error + 'static)) -> Status {
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
