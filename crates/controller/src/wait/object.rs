//! Waiting for an object by watching it.
//!
//! A watch that ends is restarted, and so is a list that fails transiently. Other errors, such as missing permissions
//! and unknown resources, end the wait.

use std::{fmt, pin::pin, time::Duration};

use futures_util::StreamExt;
use kube::{
    Api, Resource, ResourceExt,
    api::{ListParams, WatchEvent, WatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{WaitError, backoff::Backoff};

/// Waits until the object satisfies a condition; `None` means that it does not exist. Returns the object.
///
/// # Errors
///
/// Fails if the time is over, or with an error that is not transient.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::Api;
/// use kubewright_controller::wait::wait_for;
///
/// let namespaces: Api<Namespace> = Api::all(client);
/// let there = wait_for(&namespaces, "default", Duration::from_secs(5), |n| n.is_some()).await;
/// assert!(there.unwrap().is_some());
/// # });
/// ```
pub async fn wait_for<K>(
    api: &Api<K>,
    name: &str,
    limit: Duration,
    mut wanted: impl FnMut(Option<&K>) -> bool,
) -> Result<Option<K>, WaitError<kube::Error>>
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug,
{
    let watching = async {
        let mut pause = Backoff {
            duration: Duration::from_millis(100),
            factor: 2.0,
            jitter: 0.1,
            steps: 32,
            cap: Some(Duration::from_secs(10)),
        };
        loop {
            match look(api, name, &mut wanted).await {
                Ok(Some(object)) => return Ok(object),
                Ok(None) => {}
                Err(e) if passes(&e) => tracing::debug!(name, error = %e, "still waiting"),
                Err(e) => return Err(WaitError::Failed(e)),
            }
            sleep(pause.step()).await;
        }
    };
    timeout(limit, watching)
        .await
        .unwrap_or(Err(WaitError::Timeout))
}

/// Waits until the object is deleted. With a UID, another object of the same name does not count.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// use kubewright_controller::wait::wait_for_deletion;
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// wait_for_deletion(&maps, "colours", None, Duration::from_secs(1)).await.unwrap();
/// # });
/// ```
///
/// # Errors
///
/// Fails like [`wait_for`].
pub async fn wait_for_deletion<K>(
    api: &Api<K>,
    name: &str,
    uid: Option<&str>,
    limit: Duration,
) -> Result<(), WaitError<kube::Error>>
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug,
{
    let gone = |object: Option<&K>| match (object, uid) {
        (None, _) => true,
        (Some(object), Some(uid)) => object.uid().as_deref() != Some(uid),
        (Some(_), None) => false,
    };
    wait_for(api, name, limit, gone).await.map(drop)
}

/// Waits until a condition of the object has that status, for the current generation if the condition names one.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube::Api;
/// use kubewright_controller::wait::{WaitError, wait_for_status_condition};
///
/// let deployments: Api<Deployment> = Api::default_namespaced(client);
/// let limit = Duration::from_millis(50);
/// let available = wait_for_status_condition(&deployments, "web", "Available", "True", limit).await;
/// // Nothing has created it.
/// assert!(matches!(available, Err(WaitError::Timeout)));
/// # });
/// ```
///
/// # Errors
///
/// Fails like [`wait_for`].
pub async fn wait_for_status_condition<K>(
    api: &Api<K>,
    name: &str,
    type_: &str,
    status: &str,
    limit: Duration,
) -> Result<K, WaitError<kube::Error>>
where
    K: Resource + Clone + DeserializeOwned + Serialize + fmt::Debug,
{
    let wanted = |object: Option<&K>| {
        let Some(object) = object else { return false };
        let json = serde_json::to_value(object).unwrap_or_default();
        let conditions = json.pointer("/status/conditions").and_then(Value::as_array);
        let generation = object.meta().generation;
        conditions.into_iter().flatten().any(|condition| {
            let observed = condition.get("observedGeneration").and_then(Value::as_i64);
            condition.get("type").and_then(Value::as_str) == Some(type_)
                && condition.get("status").and_then(Value::as_str) == Some(status)
                && observed.is_none_or(|observed| Some(observed) == generation)
        })
    };
    match wait_for(api, name, limit, wanted).await? {
        Some(object) => Ok(object),
        // The predicate accepts existing objects only.
        None => Err(WaitError::Timeout),
    }
}

/// Lists and watches once. Returns `None` if the watch ended early.
async fn look<K>(
    api: &Api<K>,
    name: &str,
    wanted: &mut impl FnMut(Option<&K>) -> bool,
) -> kube::Result<Option<Option<K>>>
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug,
{
    let field = format!("metadata.name={name}");
    let list = api.list(&ListParams::default().fields(&field)).await?;
    let version = list.metadata.resource_version.unwrap_or_default();
    let object = list.items.into_iter().next();
    if wanted(object.as_ref()) {
        return Ok(Some(object));
    }
    let params = WatchParams::default().fields(&field);
    let stream = api.watch(&params, &version).await?;
    let mut stream = pin!(stream);
    while let Some(event) = stream.next().await {
        let object = match event? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => Some(object),
            WatchEvent::Deleted(_) => None,
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(_) => break,
        };
        if wanted(object.as_ref()) {
            return Ok(Some(object));
        }
    }
    Ok(None)
}

/// Reports whether the error is transient.
fn passes(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code == 410 || status.code >= 500,
        kube::Error::BuildRequest(_) | kube::Error::SerdeError(_) => false,
        _ => true,
    }
}
