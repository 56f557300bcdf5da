//! Creating or updating an object.
//!
//! The closure changes the existing object, or the new one if it does not exist, so that it sets the desired fields and
//! touches nothing else. It may return nothing or a `Result`. Nothing is sent if it changes nothing.

use std::fmt;

use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    core::Status,
};
use kubewright_client::{BoxError, ErrorExt};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use thiserror::Error;

/// The outcome of [`create_or_update`] and [`create_or_patch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationResult {
    /// The object was as desired.
    Unchanged,
    /// The object was created.
    Created,
    /// The object was updated or patched.
    Updated,
    /// The object and its status were patched.
    UpdatedStatus,
    /// Only the status was patched.
    UpdatedStatusOnly,
}

/// The error of [`create_or_update`] and [`create_or_patch`].
#[derive(Debug, Error)]
pub enum CreateOrError {
    /// The server rejected a request, or could not be reached.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// The closure failed.
    #[error(transparent)]
    Mutate(BoxError),
    /// The closure changed the name or the namespace.
    #[error("MutateFn cannot mutate object name and/or object namespace")]
    Renamed,
    /// The object has no name.
    #[error("the object has no name")]
    NoName,
    /// The object cannot be encoded, or no patch can express the change.
    #[error("cannot compare the object with its previous state: {0}")]
    Compare(#[source] BoxError),
}

impl ErrorExt for CreateOrError {
    fn api_status(&self) -> Option<&Status> {
        match self {
            Self::Kube(error) => error.api_status(),
            Self::Mutate(error) | Self::Compare(error) => error.api_status(),
            Self::Renamed | Self::NoName => None,
        }
    }
}

/// The return value of a closure that changes an object: nothing, or a `Result`.
///
/// ```
/// use std::num::ParseIntError;
/// use kubewright_controller::{BoxError, Mutation};
///
/// fn changed<M: Mutation>(mutate: impl FnOnce(&mut u32) -> M) -> Result<u32, BoxError> {
///     let mut apples = 3;
///     mutate(&mut apples).into_result()?;
///     Ok(apples)
/// }
///
/// assert_eq!(changed(|apples| *apples += 1).unwrap(), 4);
/// let failed = changed(|apples| -> Result<(), ParseIntError> {
///     *apples = "many".parse()?;
///     Ok(())
/// });
/// assert!(failed.is_err());
/// ```
pub trait Mutation {
    /// Converts into a result.
    fn into_result(self) -> Result<(), BoxError>;
}

/// Creates the object, or updates the one of its name.
///
/// # Errors
///
/// Fails with a conflict if the object has changed since it was read, and with the error of the closure.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// use kubewright_controller::{OperationResult, create_or_update};
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("stock".into());
/// let set = |map: &mut ConfigMap| {
///     map.data.get_or_insert_default().insert("apples".into(), "3".into());
/// };
/// let (_, result) = create_or_update(&maps, map.clone(), set).await.unwrap();
/// assert_eq!(result, OperationResult::Created);
/// let (_, result) = create_or_update(&maps, map, set).await.unwrap();
/// assert_eq!(result, OperationResult::Unchanged);
/// # });
/// ```
pub async fn create_or_update<K, M>(
    api: &Api<K>,
    object: K,
    mutate: impl FnOnce(&mut K) -> M,
) -> Result<(K, OperationResult), CreateOrError>
where
    K: Resource + Clone + Serialize + DeserializeOwned + fmt::Debug,
    M: Mutation,
{
    let name = name_of(&object)?;
    let Some(existing) = api.get_opt(&name).await? else {
        return create(api, object, mutate).await;
    };
    let mut wanted = existing.clone();
    change(&mut wanted, mutate)?;
    if json(&existing)? == json(&wanted)? {
        return Ok((existing, OperationResult::Unchanged));
    }
    let updated = api.replace(&name, &PostParams::default(), &wanted).await?;
    Ok((updated, OperationResult::Updated))
}

/// Creates the object, or patches the one of its name: changes of the status go to the subresource, everything else to
/// the object.
///
/// Only the differences are sent, as merge patches without a resource version, so that they do not conflict with
/// changes of other fields. Lists are replaced as a whole.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// use kubewright_controller::{OperationResult, create_or_patch};
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// let paint = |map: &mut ConfigMap| {
///     map.data.get_or_insert_default().insert("sky".into(), "blue".into());
/// };
/// let (_, result) = create_or_patch(&maps, map.clone(), paint).await.unwrap();
/// assert_eq!(result, OperationResult::Created);
/// let (_, result) = create_or_patch(&maps, map, paint).await.unwrap();
/// assert_eq!(result, OperationResult::Unchanged);
/// # });
/// ```
///
/// # Errors
///
/// Fails if the server rejects a request, and with the error of the closure.
pub async fn create_or_patch<K, M>(
    api: &Api<K>,
    object: K,
    mutate: impl FnOnce(&mut K) -> M,
) -> Result<(K, OperationResult), CreateOrError>
where
    K: Resource + Clone + Serialize + DeserializeOwned + fmt::Debug,
    M: Mutation,
{
    let name = name_of(&object)?;
    let Some(existing) = api.get_opt(&name).await? else {
        return create(api, object, mutate).await;
    };
    let mut wanted = existing.clone();
    change(&mut wanted, mutate)?;
    let (mut before, mut after) = (json(&existing)?, json(&wanted)?);
    let (status_before, status_after) = (take_status(&mut before), take_status(&mut after));
    let params = PatchParams::default();
    let mut result = OperationResult::Unchanged;
    let mut current = existing;
    if before != after {
        let patch = Patch::Merge(difference(&before, &after)?);
        current = api.patch(&name, &params, &patch).await?;
        result = OperationResult::Updated;
    }
    if status_before != status_after {
        let wrap = |status: Option<Value>| match status {
            Some(status) => serde_json::json!({ "status": status }),
            None => serde_json::json!({}),
        };
        let patch = Patch::Merge(difference(&wrap(status_before), &wrap(status_after))?);
        current = api.patch_status(&name, &params, &patch).await?;
        result = match result {
            OperationResult::Updated => OperationResult::UpdatedStatus,
            _ => OperationResult::UpdatedStatusOnly,
        };
    }
    Ok((current, result))
}

async fn create<K, M>(
    api: &Api<K>,
    mut object: K,
    mutate: impl FnOnce(&mut K) -> M,
) -> Result<(K, OperationResult), CreateOrError>
where
    K: Resource + Clone + Serialize + DeserializeOwned + fmt::Debug,
    M: Mutation,
{
    change(&mut object, mutate)?;
    let created = api.create(&PostParams::default(), &object).await?;
    Ok((created, OperationResult::Created))
}

fn change<K: Resource, M: Mutation>(
    object: &mut K,
    mutate: impl FnOnce(&mut K) -> M,
) -> Result<(), CreateOrError> {
    let before = (object.meta().name.clone(), object.namespace());
    mutate(object)
        .into_result()
        .map_err(CreateOrError::Mutate)?;
    if before != (object.meta().name.clone(), object.namespace()) {
        return Err(CreateOrError::Renamed);
    }
    Ok(())
}

fn name_of<K: Resource>(object: &K) -> Result<String, CreateOrError> {
    let name = object.meta().name.clone();
    name.filter(|name| !name.is_empty())
        .ok_or(CreateOrError::NoName)
}

fn json<K: Serialize>(object: &K) -> Result<Value, CreateOrError> {
    serde_json::to_value(object).map_err(|e| CreateOrError::Compare(e.into()))
}

fn take_status(object: &mut Value) -> Option<Value> {
    object.as_object_mut()?.remove("status")
}

fn difference(before: &Value, after: &Value) -> Result<Value, CreateOrError> {
    kubewright_machinery::merge_patch::diff(before, after)
        .map_err(|e| CreateOrError::Compare(e.to_string().into()))
}

impl Mutation for () {
    fn into_result(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<E: Into<BoxError>> Mutation for Result<(), E> {
    fn into_result(self) -> Result<(), BoxError> {
        self.map_err(Into::into)
    }
}

impl fmt::Display for OperationResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unchanged => "unchanged",
            Self::Created => "created",
            Self::Updated => "updated",
            Self::UpdatedStatus => "updatedStatus",
            Self::UpdatedStatusOnly => "updatedStatusOnly",
        })
    }
}
