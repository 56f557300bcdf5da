//! [`Handler`]: maps events to reconcile requests.

use std::{any::TypeId, fmt, future::Future, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use kube::{
    Resource,
    core::{ApiResource, ClusterResourceScope, NamespaceResourceScope},
};
use kubewright_informer::{Cached, Cause, Event, StoredObject};
use serde::de::DeserializeOwned;

use crate::{
    client::Client,
    predicate::AnyEvent,
    reconcile::{Request, Result},
};

/// The priority of objects that existed at startup and of resyncs.
pub const LOW_PRIORITY: i32 = -100;

/// Maps events to reconcile requests. Cheap to clone.
///
/// A function of an object is called with the old and with the new state of an update, and each request counts once.
///
/// [`map_async`](Self::map_async) reads other objects; [`events`](Self::events) gives access to the events themselves.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_controller::{Handler, Request};
///
/// // Reconciles the node of every pod.
/// let handler = Handler::map(|pod: &Pod| {
///     let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
///     node.map(Request::cluster_scoped).into_iter().collect()
/// });
/// # let _ = handler;
/// ```
#[derive(Clone)]
pub struct Handler(Mapping);

#[derive(Clone)]
enum Mapping {
    Events(Arc<EventMap>),
    Objects(Arc<AsyncMap>),
}

type EventMap = dyn Fn(&AnyEvent) -> Vec<Request> + Send + Sync;

type AsyncMap =
    dyn Fn(Client, Cached<()>) -> BoxFuture<'static, Result<Vec<Request>>> + Send + Sync;

/// The wait after a map function has failed; doubled with each failure.
const RETRY: Duration = Duration::from_millis(100);

/// The maximum wait after a map function has failed.
const MAX_RETRY: Duration = Duration::from_secs(30);

/// The owners of an object that are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owners {
    /// The owner that is the controller.
    #[default]
    Controller,
    /// All owners of the kind.
    Every,
}

/// The scope of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindScope {
    /// Objects live in a namespace.
    Namespaced,
    /// Objects are cluster-scoped.
    Cluster,
}

impl Handler {
    /// Requests the object itself.
    pub fn for_object() -> Self {
        Self::map_object(|object| vec![Request::from(object)])
    }

    /// Requests the object's owners of a type.
    pub fn for_owner<K>(owners: Owners) -> Self
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        let scope = KindScope::of::<K>().unwrap_or(KindScope::Namespaced);
        Self::for_owner_of_kind(&ApiResource::erase::<K>(&()), scope, owners)
    }

    /// Requests the object's owners of a kind that is known at run time.
    pub fn for_owner_of_kind(resource: &ApiResource, scope: KindScope, owners: Owners) -> Self {
        let (group, kind) = (resource.group.clone(), resource.kind.clone());
        Self::map_object(move |object| {
            let namespace = match scope {
                KindScope::Namespaced => object.namespace().unwrap_or_default(),
                KindScope::Cluster => "",
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

    /// Requests what a function returns for the object's metadata.
    pub fn map_object(
        requests: impl Fn(&StoredObject) -> Vec<Request> + Send + Sync + 'static,
    ) -> Self {
        Self::states(move |object| requests(object))
    }

    /// Requests what a function returns for the decoded object. An object that cannot be decoded is reported and leads
    /// to nothing.
    pub fn map<K>(requests: impl Fn(&K) -> Vec<Request> + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        Self::states(move |object| {
            let object = object.clone().cast::<K>();
            object
                .get()
                .map_or_else(|_| Vec::new(), |object| requests(&object))
        })
    }

    /// Requests what a function returns for the event. It is called once for each event, in order.
    pub fn events(requests: impl Fn(&AnyEvent) -> Vec<Request> + Send + Sync + 'static) -> Self {
        Self(Mapping::Events(Arc::new(requests)))
    }

    /// Requests what an async function returns for the decoded object. The function gets a client to find out who is
    /// concerned, for example by an index. If it fails, it is called again after a while.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::{Pod, Secret};
    /// use kube::ResourceExt;
    /// use kubewright_controller::{Client, Filter, Handler, Request, Result};
    ///
    /// // The index `secret` has for each pod the names of the Secrets that it mounts.
    /// async fn pods_of(client: Client, secret: Arc<Secret>) -> Result<Vec<Request>> {
    ///     let namespace = secret.namespace().unwrap_or_default();
    ///     let users = Filter::new().namespace(namespace).index("secret", secret.name_any());
    ///     let pods = client.list::<Pod>(&users).await?;
    ///     Ok(pods.iter().map(|pod| Request::of(&**pod)).collect())
    /// }
    ///
    /// let handler = Handler::map_async(pods_of);
    /// # let _ = handler;
    /// ```
    pub fn map_async<K, F, R>(requests: F) -> Self
    where
        K: DeserializeOwned + Send + Sync + 'static,
        F: Fn(Client, Arc<K>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<Request>>> + Send + 'static,
    {
        Self(Mapping::Objects(Arc::new(move |client, object| {
            // One that cannot be decoded is reported by the informer.
            match object.cast::<K>().get() {
                Ok(object) => Box::pin(requests(client, object)),
                Err(_) => Box::pin(std::future::ready(Ok(Vec::new()))),
            }
        })))
    }

    /// Requests what a function returns for the states of an event: the new one, and the old one if it differs.
    fn states(requests: impl Fn(&Cached<()>) -> Vec<Request> + Send + Sync + 'static) -> Self {
        Self::events(move |event| {
            let mut found = requests(event.object());
            if let Event::Updated {
                old, object: new, ..
            } = event
                && !old.is_same_version(new)
            {
                found.extend(requests(old));
            }
            found
        })
    }

    /// Returns the requests of an event, each once.
    pub async fn requests(&self, event: &AnyEvent, client: &Client) -> Vec<Request> {
        let mut requests = match &self.0 {
            Mapping::Events(requests) => requests(event),
            Mapping::Objects(map) => {
                let mut found = call(map, client, event.object()).await;
                if let Event::Updated {
                    old, object: new, ..
                } = event
                    && !old.is_same_version(new)
                {
                    found.extend(call(map, client, old).await);
                }
                found
            }
        };
        if requests.len() > 1 {
            let mut seen = std::collections::HashSet::with_capacity(requests.len());
            requests.retain(|request| seen.insert(request.clone()));
        }
        requests
    }
}

/// Calls a map function until it succeeds.
async fn call(map: &Arc<AsyncMap>, client: &Client, object: &Cached<()>) -> Vec<Request> {
    let mut wait = RETRY;
    loop {
        match map(client.clone(), object.clone()).await {
            Ok(requests) => return requests,
            Err(error) => {
                tracing::warn!(%error, object = %object.key(), retry_in = ?wait, "map function failed");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(MAX_RETRY);
            }
        }
    }
}

/// Returns the default priority of an event's requests.
pub(crate) fn priority_of(event: &AnyEvent) -> i32 {
    match event {
        Event::Added { initial: true, .. } => LOW_PRIORITY,
        Event::Updated {
            cause: Cause::Relist | Cause::Resync,
            ..
        } => LOW_PRIORITY,
        Event::Updated {
            old, object: new, ..
        } if old.resource_version() == new.resource_version() => LOW_PRIORITY,
        _ => 0,
    }
}

impl KindScope {
    /// Returns the scope of a type; `None` if the type does not determine it.
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
