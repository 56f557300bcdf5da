//! Create an object, or bring it up to date.
//!
//! The closure changes what exists, or the new object if nothing does, so that it says what shall be and touches nothing
//! else. It may return nothing or a `Result`. Nothing is sent if it changes nothing.

use std::fmt;

use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use thiserror::Error;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationResult {
    /// Nothing: it was as it shall be.
    Unchanged,
    /// It was created.
    Created,
    /// It was updated or patched.
    Updated,
    /// It and its status were patched.
    UpdatedStatus,
    /// Its status alone was patched.
    UpdatedStatusOnly,
}

/// Why it could not be done.
#[derive(Debug, Error)]
pub enum Error {
    /// The server refused, or could not be reached.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// The closure failed.
    #[error(transparent)]
    Mutate(BoxError),
    /// The closure made it another object.
    #[error("MutateFn cannot mutate object name and/or object namespace")]
    Renamed,
    /// The object has no name.
    #[error("the object has no name")]
    NoName,
    /// The object cannot be written as JSON, or no patch leads there.
    #[error("cannot compare the object with what it was: {0}")]
    Compare(#[source] BoxError),
}

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a closure that changes an object may return: nothing, or a `Result`.
pub trait Mutation {
    /// Whether it failed.
    fn into_result(self) -> Result<(), BoxError>;
}

/// Creates the object, or updates the one of its name.
///
/// The update carries the resourceVersion that was read: if somebody else was quicker, it is a conflict.
pub async fn create_or_update<K, M>(
    api: &Api<K>,
    object: K,
    mutate: impl FnOnce(&mut K) -> M,
) -> Result<(K, OperationResult), Error>
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

/// Creates the object, or patches the one of its name: what the closure changes in the status goes to the subresource, the
/// rest to the object.
///
/// Only the differences are sent, as merge patches without a resourceVersion, so that it does not conflict with others who
/// change other fields. Lists are replaced as a whole.
pub async fn create_or_patch<K, M>(
    api: &Api<K>,
    object: K,
    mutate: impl FnOnce(&mut K) -> M,
) -> Result<(K, OperationResult), Error>
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
) -> Result<(K, OperationResult), Error>
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
) -> Result<(), Error> {
    let before = (object.meta().name.clone(), object.namespace());
    mutate(object).into_result().map_err(Error::Mutate)?;
    if before != (object.meta().name.clone(), object.namespace()) {
        return Err(Error::Renamed);
    }
    Ok(())
}

fn name_of<K: Resource>(object: &K) -> Result<String, Error> {
    let name = object.meta().name.clone();
    name.filter(|name| !name.is_empty()).ok_or(Error::NoName)
}

fn json<K: Serialize>(object: &K) -> Result<Value, Error> {
    serde_json::to_value(object).map_err(|e| Error::Compare(e.into()))
}

fn take_status(object: &mut Value) -> Option<Value> {
    object.as_object_mut()?.remove("status")
}

fn difference(before: &Value, after: &Value) -> Result<Value, Error> {
    kubewright_machinery::merge_patch::diff(before, after)
        .map_err(|e| Error::Compare(e.to_string().into()))
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
