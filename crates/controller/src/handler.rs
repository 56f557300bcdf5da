//! [`Handler`]: which requests an event leads to.

use std::{any::TypeId, fmt, sync::Arc};

use kube::{
    Resource,
    core::{ApiResource, ClusterResourceScope, NamespaceResourceScope},
};
use kubewright_informer::{Cached, Cause, Event, StoredObject};
use serde::de::DeserializeOwned;

use crate::{predicate::AnyEvent, reconcile::Request};

/// The priority of what is not news: objects that were there at the beginning, and those that are shown again.
pub const LOW_PRIORITY: i32 = -100;

/// Which requests an event leads to. Cheap to clone.
///
/// An update leads to the requests of the old and of the new state, each once; [`events`](Handler::events) sees events as
/// they are.
#[derive(Clone)]
pub struct Handler(Arc<Requests>);

type Requests = dyn Fn(&AnyEvent) -> Vec<Request> + Send + Sync;

/// Which of an object's owners are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owners {
    /// The one that is its controller.
    #[default]
    Controller,
    /// All of the kind.
    Every,
}

/// Whether the owners of a kind have a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerScope {
    /// That of the object.
    Namespaced,
    /// None.
    Cluster,
}

impl Handler {
    /// The object itself.
    pub fn for_object() -> Self {
        Self::map_object(|object| vec![Request::from(object)])
    }

    /// The object's owners of a type.
    pub fn for_owner<K>(owners: Owners) -> Self
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        let scope = OwnerScope::of::<K>().unwrap_or(OwnerScope::Namespaced);
        Self::owner(&ApiResource::erase::<K>(&()), scope, owners)
    }

    /// The object's owners of a kind that is known at run time. `namespaced`: whether that kind has namespaces.
    pub fn for_owner_of_kind(resource: &ApiResource, namespaced: bool, owners: Owners) -> Self {
        let scope = if namespaced {
            OwnerScope::Namespaced
        } else {
            OwnerScope::Cluster
        };
        Self::owner(resource, scope, owners)
    }

    pub(crate) fn owner(resource: &ApiResource, scope: OwnerScope, owners: Owners) -> Self {
        let (group, kind) = (resource.group.clone(), resource.kind.clone());
        Self::map_object(move |object| {
            let namespace = match scope {
                OwnerScope::Namespaced => object.namespace().unwrap_or_default(),
                OwnerScope::Cluster => "",
            };
            object
                .owners()
                .iter()
                .filter(|owner| owners == Owners::Every || owner.controller)
                .filter(|owner| owner.kind == kind && group_of(&owner.api_version) == group)
                .map(|owner| Request::new(namespace, &owner.name))
                .collect()
        })
    }

    /// What a function says of the object's metadata.
    pub fn map_object(
        requests: impl Fn(&StoredObject) -> Vec<Request> + Send + Sync + 'static,
    ) -> Self {
        Self::states(move |object| requests(object))
    }

    /// What a function says of the object's value. One that cannot be decoded is reported and leads to nothing.
    pub fn map<K>(requests: impl Fn(&K) -> Vec<Request> + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        Self::states(move |object| {
            let object = object.clone().seen_as::<K>();
            object
                .get()
                .map_or_else(|_| Vec::new(), |object| requests(&object))
        })
    }

    /// What a function says of the event. It is called once for each, in the order of the watch.
    pub fn events(requests: impl Fn(&AnyEvent) -> Vec<Request> + Send + Sync + 'static) -> Self {
        Self(Arc::new(requests))
    }

    /// What a function says of an event's states: the new one, and the old one if it is another.
    fn states(requests: impl Fn(&Cached<()>) -> Vec<Request> + Send + Sync + 'static) -> Self {
        Self::events(move |event| {
            let mut found = requests(event.object());
            if let Event::Updated { old, new, .. } = event
                && !old.is_same_version(new)
            {
                found.extend(requests(old));
            }
            found
        })
    }

    /// The requests of an event, each once.
    pub fn requests(&self, event: &AnyEvent) -> Vec<Request> {
        let mut requests = (self.0)(event);
        if requests.len() > 1 {
            let mut seen = std::collections::HashSet::with_capacity(requests.len());
            requests.retain(|request| seen.insert(request.clone()));
        }
        requests
    }
}

/// The priority of an event's requests, unless said otherwise.
pub fn priority_of(event: &AnyEvent) -> i32 {
    match event {
        Event::Added { initial: true, .. } => LOW_PRIORITY,
        Event::Updated {
            cause: Cause::Relist | Cause::Resync,
            ..
        } => LOW_PRIORITY,
        Event::Updated { old, new, .. } if old.resource_version() == new.resource_version() => {
            LOW_PRIORITY
        }
        _ => 0,
    }
}

impl OwnerScope {
    /// `None` where the type does not say.
    pub(crate) fn of<K: Resource>() -> Option<Self>
    where
        K::Scope: 'static,
    {
        let scope = TypeId::of::<K::Scope>();
        if scope == TypeId::of::<ClusterResourceScope>() {
            Some(Self::Cluster)
        } else if scope == TypeId::of::<NamespaceResourceScope>() {
            Some(Self::Namespaced)
        } else {
            None
        }
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
