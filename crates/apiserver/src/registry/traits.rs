//! What a resource can do: one small trait for each verb.
//!
//! A resource implements those it supports; discovery and the 405s follow from that. The generic registry
//! ([`super::generic`]) implements them all over a store; data of your own needs only the ones you want.

use std::pin::Pin;

use async_trait::async_trait;
use futures_util::Stream;
use http::{Method, Request, Response};
use kubewright_machinery::Status;
use serde_json::Value;

use crate::{
    body::Body,
    object::Object,
    request::{DeleteOptions, GetOptions, ListOptions, RequestContext, WriteOptions},
};

/// A list of objects and where it stands.
pub struct ObjectList {
    /// The revision that the list shows.
    pub resource_version: String,
    /// The token for the next chunk, or empty.
    pub continue_token: String,
    /// How many more there are, where that is known.
    pub remaining: Option<u64>,
    /// The objects.
    pub items: Items,
}

/// The objects of a list: at hand, or page by page as they are written out.
pub enum Items {
    /// All at hand.
    All(Vec<Object>),
    /// Pages, read while they are sent. An error breaks the connection off.
    Pages(Pin<Box<dyn Stream<Item = Result<Vec<Object>, Status>> + Send>>),
}

/// What a watcher sees.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// The object is new (to this watcher).
    Added(Object),
    /// The object changed.
    Modified(Object),
    /// The object is gone (for this watcher).
    Deleted(Object),
    /// Nothing happened, up to this revision. The second part says that the initial events end here.
    Bookmark(String, bool),
    /// The watch is over, and why.
    Error(Box<Status>),
}

/// Events in batches, as they come.
pub type WatchStream = Pin<Box<dyn Stream<Item = Vec<WatchEvent>> + Send>>;

/// The answer to an update.
pub struct Updated {
    /// The object as it now is.
    pub object: Object,
    /// It did not exist before.
    pub created: bool,
}

/// The answer to a delete.
pub struct Deleted {
    /// The object as it was last, or as it is while it waits for its finalizers.
    pub object: Object,
    /// It is gone; otherwise it is on its way.
    pub gone: bool,
}

/// How an update changes an object. Called again on the newer object when another writer was faster.
#[async_trait]
pub trait Change: Send + Sync {
    /// The uid that the object must have, if the caller said.
    fn expected_uid(&self) -> Option<&str> {
        None
    }

    /// A missing object may be made by this change, whatever the kind says (server-side apply).
    fn may_create(&self) -> bool {
        false
    }

    /// The object may have fields that its kind does not know. They are judged with it and go before it is stored.
    fn leaves_unknown(&self) -> bool {
        false
    }

    /// The object after the change. `None`: it does not exist yet.
    async fn apply(&self, cx: &RequestContext, old: Option<&Value>) -> Result<Value, Status>;
}

/// `get`
#[async_trait]
pub trait Get: Send + Sync {
    /// One object by name.
    async fn get(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Object, Status>;
}

/// `list`
#[async_trait]
pub trait List: Send + Sync {
    /// The objects of the request's namespace, or all.
    async fn list(&self, cx: &RequestContext, options: &ListOptions) -> Result<ObjectList, Status>;
}

/// `watch`
#[async_trait]
pub trait Watch: Send + Sync {
    /// Changes as they happen. The server ends the stream at the deadline of the options.
    async fn watch(
        &self,
        cx: &RequestContext,
        options: &ListOptions,
    ) -> Result<WatchStream, Status>;
}

/// `create`
#[async_trait]
pub trait Create: Send + Sync {
    /// Makes an object. For subresources `name` is the parent's; otherwise it is empty.
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Object, Status>;
}

/// `update` and `patch`
#[async_trait]
pub trait Update: Send + Sync {
    /// Changes an object.
    async fn update(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
    ) -> Result<Updated, Status>;
}

/// `delete`
#[async_trait]
pub trait Delete: Send + Sync {
    /// Deletes an object, or marks it for deletion.
    async fn delete(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status>;

    /// The answer is the object itself rather than a `Status`.
    fn returns_deleted_object(&self) -> bool {
        false
    }
}

/// `deletecollection`
#[async_trait]
pub trait DeleteCollection: Send + Sync {
    /// Deletes what the options select; answers with what was selected.
    async fn delete_collection(
        &self,
        cx: &RequestContext,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ObjectList, Status>;
}

/// A subresource that is a conversation rather than an object: `log`, `exec`, `proxy`, or one of your own.
#[async_trait]
pub trait Connect: Send + Sync {
    /// The methods it answers.
    fn methods(&self) -> &[Method] {
        &[Method::GET]
    }

    /// Reports whether the path may go on below it: `/proxy/some/page`.
    fn takes_path(&self) -> bool {
        true
    }

    /// Answers the request as it likes: with a stream, or with `101 Switching Protocols` after taking
    /// `hyper::upgrade::on(&mut request)`.
    async fn connect(
        &self,
        cx: &RequestContext,
        name: &str,
        request: Request<Body>,
    ) -> Result<Response<Body>, Status>;
}

/// Columns and cells of `kubectl get`.
pub trait Table: Send + Sync {
    /// The column definitions, as the API has them.
    fn columns(&self) -> Value;

    /// The cells of one object, in column order.
    fn cells(&self, object: &Value) -> Vec<Value>;

    /// The conditions of the row, which clients use to grey it out.
    fn conditions(&self, _object: &Value) -> Option<Value> {
        None
    }

    /// The order of rows, where it is not that of the list.
    fn order(&self, _a: &Value, _b: &Value) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}
