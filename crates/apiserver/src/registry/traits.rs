//! One small trait for each verb.
//!
//! A resource implements those that it supports; discovery and 405 answers follow from that. The generic registry
//! ([`super::generic`]) implements all of them over a store.

use std::pin::Pin;

use futures_util::Stream;
use http::{Method, Request, Response};
use kubewright_derive::boxed_async;
use kubewright_ledger::{ObjectFacts, Past};
use kubewright_machinery::Status;
use serde_json::Value;

use crate::{
    body::Body,
    object::Object,
    registry::{Draft, Fingerprint, ObjectList},
    request::{DeleteOptions, GetOptions, ListOptions, RequestContext, WriteOptions},
};

/// An event of a watch.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// The object is new to this watcher.
    Added(Object),
    /// The object changed.
    Modified(Object),
    /// The object was deleted, or is no longer selected.
    Deleted(Object),
    /// The watcher has seen every change up to this resourceVersion. The flag marks the end of the initial events.
    Bookmark(String, bool),
    /// The watch ends with this error.
    Error(Box<Status>),
}

/// A stream of events, in batches.
pub type WatchStream = Pin<Box<dyn Stream<Item = Vec<WatchEvent>> + Send>>;

/// The answer to an update.
pub struct Updated {
    /// The object after the update.
    pub object: Object,
    /// Whether the update created the object.
    pub created: bool,
}

/// The answer to a delete.
pub struct Deleted {
    /// The last state of the object, or its current state while it waits for its finalizers.
    pub object: Object,
    /// Whether the object was removed; otherwise it is marked for deletion.
    pub gone: bool,
}

/// A change of an object. After a conflict it is applied again, to the newer object.
#[boxed_async]
pub trait Change: Send + Sync {
    /// Returns the uid that the object must have.
    fn expected_uid(&self) -> Option<&str> {
        None
    }

    /// Returns whether the change may create a missing object regardless of the strategy, as server-side apply does.
    fn may_create(&self) -> bool {
        false
    }

    /// Returns whether the changed object may have unknown fields. They are validated with it and pruned before it is stored.
    fn leaves_unknown(&self) -> bool {
        false
    }

    /// Returns the form of an object that validating plugins see, if it is not the stored one. Defaults to `None`.
    ///
    /// # Errors
    ///
    /// Fails if the object has no such form.
    fn reviewed(&self, _object: &Value) -> Result<Option<Value>, Status> {
        Ok(None)
    }

    /// Returns the fingerprint of the change, if it depends only on what the fingerprint covers and on the stored object.
    /// Defaults to `None`: every change is computed.
    fn fingerprint(&self) -> Option<Fingerprint> {
        None
    }

    /// Returns the changed object. `old` is `None` if the object does not exist yet.
    async fn apply(&self, cx: &RequestContext, old: Option<&Value>) -> Result<Draft, Status>;
}

/// `get`
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use http::Request;
/// use kubewright_apiserver::{
///     ApiServer, Body, Object,
///     registry::{Get, Handlers, RegistryBuilder, Resource, ResourceSpec},
///     request::{GetOptions, RequestContext},
/// };
/// use kubewright_machinery::{Status, gvk::GroupVersionKind, status};
/// use serde_json::json;
///
/// struct Planets;
///
/// #[boxed_async]
/// impl Get for Planets {
///     async fn get(&self, cx: &RequestContext, name: &str, _: &GetOptions) -> Result<Object, Status> {
///         if name != "mars" {
///             return Err(status::not_found(&cx.resource.spec().group_resource(), name));
///         }
///         let mars = json!({"kind": "Planet", "apiVersion": "sky.example.com/v1", "metadata": {"name": name}});
///         Ok(Object::from_value(&mars))
///     }
/// }
///
/// let kind = GroupVersionKind::new("sky.example.com", "v1", "Planet");
/// let handlers = Handlers { get: Some(Arc::new(Planets)), ..Handlers::default() };
/// let mut registry = RegistryBuilder::default();
/// registry.add(Resource::computed(ResourceSpec::new(kind, "planets"), handlers));
/// let server = ApiServer::builder(registry.build()).build();
/// for (name, code) in [("mars", 200), ("pluto", 404)] {
///     let request = Request::get(format!("/apis/sky.example.com/v1/planets/{name}"));
///     assert_eq!(server.handle(request.body(Body::empty()).unwrap()).await.status(), code);
/// }
/// # });
/// ```
#[boxed_async]
pub trait Get: Send + Sync {
    /// Returns an object by name.
    async fn get(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Object, Status>;
}

/// `list`
///
/// ```
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{
///     Object,
///     registry::{Items, List, ObjectList},
///     request::{ListOptions, RequestContext},
/// };
/// use kubewright_machinery::Status;
/// use serde_json::json;
///
/// struct Planets;
///
/// #[boxed_async]
/// impl List for Planets {
///     async fn list(&self, _: &RequestContext, _: &ListOptions) -> Result<ObjectList, Status> {
///         let planet = |name| Object::from_value(&json!({"kind": "Planet", "metadata": {"name": name}}));
///         Ok(ObjectList {
///             resource_version: "1".into(),
///             continue_token: String::new(),
///             remaining: None,
///             items: Items::All(vec![planet("mars"), planet("venus")]),
///         })
///     }
/// }
/// ```
#[boxed_async]
pub trait List: Send + Sync {
    /// Returns the objects of the request's namespace, or of all namespaces.
    async fn list(&self, cx: &RequestContext, options: &ListOptions) -> Result<ObjectList, Status>;
}

/// `watch`
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{
///     Object,
///     registry::{Handlers, Watch, WatchEvent, WatchStream},
///     request::{ListOptions, RequestContext},
/// };
/// use kubewright_machinery::Status;
/// use serde_json::json;
///
/// struct Planets;
///
/// #[boxed_async]
/// impl Watch for Planets {
///     async fn watch(&self, _: &RequestContext, _: &ListOptions) -> Result<WatchStream, Status> {
///         let mars = Object::from_value(&json!({"kind": "Planet", "metadata": {"name": "mars"}}));
///         Ok(Box::pin(futures_util::stream::iter([vec![WatchEvent::Added(mars)]])))
///     }
/// }
///
/// let handlers = Handlers { watch: Some(Arc::new(Planets)), ..Handlers::default() };
/// assert_eq!(handlers.verbs(), ["watch"]);
/// ```
#[boxed_async]
pub trait Watch: Send + Sync {
    /// Returns a stream of changes. The server ends it at the timeout of the options.
    async fn watch(
        &self,
        cx: &RequestContext,
        options: &ListOptions,
    ) -> Result<WatchStream, Status>;
}

/// `create`
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{
///     Object,
///     registry::{Create, Draft, Handlers},
///     request::{RequestContext, WriteOptions},
/// };
/// use kubewright_machinery::Status;
///
/// /// Answers with the object and keeps nothing, as reviews do.
/// struct Reviews;
///
/// #[boxed_async]
/// impl Create for Reviews {
///     async fn create(
///         &self,
///         _: &RequestContext,
///         _: &str,
///         draft: Draft,
///         _: &WriteOptions,
///     ) -> Result<Object, Status> {
///         let mut review = draft.into_value();
///         review["status"]["allowed"] = true.into();
///         Ok(Object::from_value(&review))
///     }
/// }
///
/// let handlers = Handlers { create: Some(Arc::new(Reviews)), ..Handlers::default() };
/// assert_eq!(handlers.verbs(), ["create"]);
/// ```
#[boxed_async]
pub trait Create: Send + Sync {
    /// Creates an object. For subresources `name` is the name of the parent; otherwise it is empty.
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        draft: Draft,
        options: &WriteOptions,
    ) -> Result<Object, Status>;
}

/// `update` and `patch`
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{
///     Object,
///     registry::{Change, Handlers, Update, Updated},
///     request::{RequestContext, WriteOptions},
/// };
/// use kubewright_machinery::Status;
/// use serde_json::json;
///
/// struct Planets;
///
/// #[boxed_async]
/// impl Update for Planets {
///     async fn update(
///         &self,
///         cx: &RequestContext,
///         name: &str,
///         change: &dyn Change,
///         _: &WriteOptions,
///     ) -> Result<Updated, Status> {
///         let old = json!({"kind": "Planet", "metadata": {"name": name}});
///         let new = change.apply(cx, Some(&old)).await?.into_value();
///         Ok(Updated { object: Object::from_value(&new), created: false })
///     }
/// }
///
/// let handlers = Handlers { update: Some(Arc::new(Planets)), ..Handlers::default() };
/// assert_eq!(handlers.verbs(), ["patch", "update"]);
/// ```
#[boxed_async]
pub trait Update: Send + Sync {
    /// Changes an object.
    async fn update(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
    ) -> Result<Updated, Status>;

    /// Returns the object if it is known that this change leaves it as it is, without warnings. Defaults to `None`: every change
    /// is computed.
    async fn unchanged_by(
        &self,
        _cx: &RequestContext,
        _name: &str,
        _change: Fingerprint,
    ) -> Option<Object> {
        None
    }
}

/// `delete`
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{
///     Object,
///     registry::{Delete, Deleted, Handlers},
///     request::{DeleteOptions, RequestContext},
/// };
/// use kubewright_machinery::Status;
/// use serde_json::json;
///
/// struct Planets;
///
/// #[boxed_async]
/// impl Delete for Planets {
///     async fn delete(
///         &self,
///         _: &RequestContext,
///         name: &str,
///         _: &DeleteOptions,
///     ) -> Result<Deleted, Status> {
///         let last = json!({"kind": "Planet", "metadata": {"name": name}});
///         Ok(Deleted { object: Object::from_value(&last), gone: true })
///     }
/// }
///
/// assert!(!Planets.returns_deleted_object());
/// let handlers = Handlers { delete: Some(Arc::new(Planets)), ..Handlers::default() };
/// assert_eq!(handlers.verbs(), ["delete"]);
/// ```
#[boxed_async]
pub trait Delete: Send + Sync {
    /// Deletes an object, or marks it for deletion.
    async fn delete(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status>;

    /// Returns whether the answer is the object instead of a `Status`.
    fn returns_deleted_object(&self) -> bool {
        false
    }
}

/// `deletecollection`
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{
///     registry::{DeleteCollection, Handlers, Items, ObjectList},
///     request::{DeleteOptions, ListOptions, RequestContext},
/// };
/// use kubewright_machinery::Status;
///
/// /// A collection that is always empty.
/// struct Unicorns;
///
/// #[boxed_async]
/// impl DeleteCollection for Unicorns {
///     async fn delete_collection(
///         &self,
///         _: &RequestContext,
///         _: &DeleteOptions,
///         _: &ListOptions,
///     ) -> Result<ObjectList, Status> {
///         Ok(ObjectList {
///             resource_version: "1".into(),
///             continue_token: String::new(),
///             remaining: None,
///             items: Items::All(Vec::new()),
///         })
///     }
/// }
///
/// let handlers = Handlers { delete_collection: Some(Arc::new(Unicorns)), ..Handlers::default() };
/// assert_eq!(handlers.verbs(), ["deletecollection"]);
/// ```
#[boxed_async]
pub trait DeleteCollection: Send + Sync {
    /// Deletes the selected objects and returns them.
    async fn delete_collection(
        &self,
        cx: &RequestContext,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ObjectList, Status>;
}

/// The past of objects, which the ledger shows.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use kubewright_apiserver::registry::{Resource, ResourceSpec};
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use kubewright_store::{Key, MemoryStore, Payload, Store};
///
/// let spec = ResourceSpec::new(GroupVersionKind::new("sky.example.com", "v1", "Comet"), "comets");
/// let store = Arc::new(MemoryStore::new());
/// store.create(Key::new("sky.example.com/comets", "halley"), Payload::plain("{}")).await.unwrap();
///
/// let comets = Resource::from(Resource::stored(spec, store));
/// let history = comets.handlers().history.as_ref().unwrap();
/// assert_eq!(history.history("", "halley", None).await.unwrap().versions.len(), 1);
/// # });
/// ```
#[boxed_async]
pub trait History: Send + Sync {
    /// Returns the newest revision of the store, and the oldest whose state can be read.
    async fn revisions(&self) -> Result<(u64, u64), Status>;

    /// Returns the known changes of an object up to a revision, at most the newest 1000.
    async fn history(
        &self,
        namespace: &str,
        name: &str,
        until: Option<u64>,
    ) -> Result<Past, Status>;

    /// Returns an object as it was at a revision, and the revision of its last write then.
    async fn object_at(
        &self,
        namespace: &str,
        name: &str,
        at: Option<u64>,
    ) -> Result<Option<(u64, Value)>, Status>;

    /// Returns facts about at most `most` objects, and whether these are all.
    async fn facts(&self, at: Option<u64>, most: usize)
    -> Result<(Vec<ObjectFacts>, bool), Status>;
}

/// A streaming subresource, such as `log`, `exec` or `proxy`.
///
/// ```
/// use kubewright_apiserver::boxed_async;
/// use http::{Request, Response};
/// use kubewright_apiserver::{Body, registry::Connect, request::RequestContext};
/// use kubewright_machinery::Status;
///
/// struct Log;
///
/// #[boxed_async]
/// impl Connect for Log {
///     async fn connect(
///         &self,
///         _cx: &RequestContext,
///         name: &str,
///         _request: Request<Body>,
///     ) -> Result<Response<Body>, Status> {
///         Ok(Response::new(Body::from(format!("log of {name}\n"))))
///     }
/// }
/// ```
#[boxed_async]
pub trait Connect: Send + Sync {
    /// Returns the methods that it handles.
    fn methods(&self) -> &[Method] {
        &[Method::GET]
    }

    /// Returns whether the path may continue below it: `/proxy/some/page`.
    fn takes_path(&self) -> bool {
        true
    }

    /// Returns the options of a request as an object of the kind of the subresource, which admission sees; `null` without any.
    fn options(&self, _cx: &RequestContext) -> Value {
        Value::Null
    }

    /// Returns whether admission decides about requests. It does not about those that only read.
    fn is_admitted(&self) -> bool {
        true
    }

    /// Handles the request with any response: a stream, or `101 Switching Protocols` after
    /// `hyper::upgrade::on(&mut request)`.
    async fn connect(
        &self,
        cx: &RequestContext,
        name: &str,
        request: Request<Body>,
    ) -> Result<Response<Body>, Status>;
}
