//! Writing one event to the server, once, and judging the response.

use std::fmt;

use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams, PostParams},
    core::{NamespaceResourceScope, Request},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use k8s_openapi::api::{core::v1::Event as CoreEvent, events::v1::Event};

/// A write to make.
#[derive(Clone, Debug)]
pub(super) enum Write {
    CreateCore(Box<CoreEvent>),
    PatchCore(Box<CoreEvent>),
    Create(Box<Event>),
    PatchSeries(Box<Event>),
}

/// The outcome of a write.
#[derive(Debug)]
pub(super) enum Sent {
    /// The event was written.
    Done,
    /// The server rejected the event.
    Refused(kube::Error),
    /// The server could not be reached, or is busy.
    Failed(kube::Error),
}

impl Write {
    /// Tries once.
    pub(super) async fn send(&self, client: &Client) -> Sent {
        match self {
            Self::CreateCore(event) => create(client, &**event, false).await,
            Self::Create(event) => create(client, &**event, false).await,
            Self::PatchCore(event) => {
                let changes = json!({
                    "count": event.count,
                    "lastTimestamp": event.last_timestamp,
                    "message": event.message,
                });
                patch(client, &**event, &changes).await
            }
            Self::PatchSeries(event) => {
                patch(client, &**event, &json!({ "series": event.series })).await
            }
        }
    }
}

async fn create<K>(client: &Client, event: &K, after_patch: bool) -> Sent
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Serialize,
{
    match created(client, event).await {
        Ok(()) => Sent::Done,
        Err(kube::Error::Api(status)) if after_patch && status.code == 409 => {
            // The event did not exist when it was patched and exists now: patch it next time.
            Sent::Failed(kube::Error::Api(status))
        }
        Err(e) => outcome(e),
    }
}

/// Creates an event. The response is not decoded.
async fn created<K>(client: &Client, event: &K) -> kube::Result<()>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Serialize,
{
    let body = serde_json::to_vec(event).map_err(kube::Error::SerdeError)?;
    let events = Request::new(K::url_path(&(), Some(namespace(event))));
    let request = events.create(&PostParams::default(), body);
    let request = request.map_err(kube::Error::BuildRequest)?;
    client.request_text(request).await.map(drop)
}

/// Patches an event; one that was deleted is created again.
async fn patch<K>(client: &Client, event: &K, changes: &Value) -> Sent
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + Serialize + DeserializeOwned + fmt::Debug,
{
    let name = event.meta().name.as_deref().unwrap_or_default();
    let params = PatchParams::default();
    let patched = api(client, event)
        .patch(name, &params, &Patch::Strategic(changes))
        .await;
    match patched {
        Ok(_) => Sent::Done,
        Err(kube::Error::Api(status)) if status.code == 404 => create(client, event, true).await,
        Err(e) => outcome(e),
    }
}

fn api<K>(client: &Client, event: &K) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(client.clone(), namespace(event))
}

fn namespace<K: Resource>(event: &K) -> &str {
    event.meta().namespace.as_deref().unwrap_or("default")
}

fn outcome(error: kube::Error) -> Sent {
    match &error {
        kube::Error::Api(status) if status.code == 429 || status.code >= 500 => Sent::Failed(error),
        kube::Error::Api(_) | kube::Error::BuildRequest(_) => Sent::Refused(error),
        _ => Sent::Failed(error),
    }
}
