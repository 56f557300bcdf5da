//! [`Finalizers`]: named finalizers that are added, run and removed.
//!
//! In functions of an object, [`Context::finalize`](crate::Context::finalize) is shorter.
//!
//! A live object gets the finalizers that it lacks. For an object that is being deleted, those that it has are run in
//! the order of registration, and each that succeeds is removed. Failures are collected; failed finalizers stay and run
//! again next time, so a finalizer must be idempotent.
//!
//! Lists of finalizers are written with the resource version that they were computed from. After a conflict the object
//! is read again and the change recomputed, so that nobody's finalizer is lost and none is added to an object that is
//! being deleted.

use std::{fmt, sync::Arc};

use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::Status,
};
use kubewright_client::{BoxError, ErrorExt, is_conflict, is_not_found};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    client::{Client, key_of},
    object::Object,
};

/// The maximum number of attempts after conflicts.
const TRIES: u32 = 5;

/// Cleanup that has to happen before an object is deleted.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{BoxError, finalizer::Finalizer};
///
/// struct Paint;
///
/// #[async_trait::async_trait]
/// impl Finalizer<ConfigMap> for Paint {
///     async fn finalize(&self, map: &ConfigMap) -> Result<(), BoxError> {
///         println!("removing the paint of {:?}", map.metadata.name);
///         Ok(())
///     }
/// }
/// ```
#[async_trait::async_trait]
pub trait Finalizer<K>: Send + Sync {
    /// Cleans up. May be called again for the same object.
    ///
    /// # Errors
    ///
    /// Fails if the cleanup has to be retried; the object then stays.
    async fn finalize(&self, object: &K) -> Result<(), BoxError>;
}

/// Finalizers by name, for objects of one kind. Clones share them.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::{Api, api::{DeleteParams, PostParams}};
/// use kubewright_controller::finalizer::{FinalizerFn, Finalizers};
///
/// let mut finalizers = Finalizers::new();
/// finalizers.register("example.com/sign", FinalizerFn(async |_: ConfigMap| Ok(()))).unwrap();
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("shop".into());
/// let map = maps.create(&PostParams::default(), &map).await.unwrap();
///
/// // In a reconciler, for every object:
/// let done = finalizers.reconcile(&maps, &map).await.unwrap();
/// assert_eq!(done.added, ["example.com/sign"]);
///
/// let map = maps.delete("shop", &DeleteParams::default()).await.unwrap().left().unwrap();
/// let done = finalizers.reconcile(&maps, &map).await.unwrap();
/// assert_eq!(done.removed, ["example.com/sign"]);
/// assert!(done.object.is_none(), "it is gone");
/// # });
/// ```
#[derive(Clone)]
pub struct Finalizers<K>(Vec<(String, Arc<dyn Finalizer<K>>)>);

/// Wraps an async closure as a finalizer.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{BoxError, finalizer::{Finalizer, FinalizerFn}};
///
/// let sign = FinalizerFn(|map: ConfigMap| async move {
///     let name = map.metadata.name.ok_or("the object has no name")?;
///     println!("taking down the sign of {name}");
///     Ok::<(), BoxError>(())
/// });
/// let mut map = ConfigMap::default();
/// assert!(sign.finalize(&map).await.is_err());
/// map.metadata.name = Some("shop".into());
/// assert!(sign.finalize(&map).await.is_ok());
/// # });
/// ```
pub struct FinalizerFn<F>(pub F);

/// The outcome of [`Finalizers::reconcile`].
#[derive(Clone, Debug)]
pub struct Finalized<K> {
    /// The current object; `None` if it is gone.
    pub object: Option<K>,
    /// The finalizers that were added.
    pub added: Vec<String>,
    /// The finalizers that ran and were removed.
    pub removed: Vec<String>,
}

/// A finalizer of that name is registered already.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("finalizer for key {0:?} already registered")]
pub struct AlreadyRegistered(pub String);

/// The error of [`Finalizers::reconcile`].
#[derive(Debug, Error)]
pub enum FinalizeError {
    /// Some finalizers failed. Those that succeeded have been removed.
    #[error(transparent)]
    Failed(FinalizersFailed),
    /// The server rejected a request, or could not be reached.
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

impl ErrorExt for FinalizeError {
    fn api_status(&self) -> Option<&Status> {
        match self {
            Self::Failed(failed) => failed.0.iter().find_map(|it| it.cause.api_status()),
            Self::Kube(error) => error.api_status(),
        }
    }
}

/// A finalizer that failed.
#[derive(Debug, Error)]
#[error("finalizer {name:?} failed: {cause}")]
pub struct FinalizerFailed {
    /// The name of the finalizer.
    pub name: String,
    /// The error.
    #[source]
    pub cause: BoxError,
}

/// The finalizers that failed, at least one. Formatted like an aggregate error in Go.
#[derive(Debug)]
pub struct FinalizersFailed(pub Vec<FinalizerFailed>);

#[async_trait::async_trait]
impl<K, F, R> Finalizer<K> for FinalizerFn<F>
where
    K: Clone + Send + Sync + 'static,
    F: Fn(K) -> R + Send + Sync,
    R: Future<Output = Result<(), BoxError>> + Send,
{
    async fn finalize(&self, object: &K) -> Result<(), BoxError> {
        (self.0)(object.clone()).await
    }
}

impl<K> Finalizers<K>
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug + Sync + 'static,
{
    /// Creates an empty set.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a finalizer under the name that appears in `metadata.finalizers`: `example.com/sign`.
    ///
    /// # Errors
    ///
    /// Fails if there is a finalizer of that name.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        finalizer: impl Finalizer<K> + 'static,
    ) -> Result<(), AlreadyRegistered> {
        let name = name.into();
        if self.0.iter().any(|(taken, _)| *taken == name) {
            return Err(AlreadyRegistered(name));
        }
        self.0.push((name, Arc::new(finalizer)));
        Ok(())
    }

    /// Adds missing finalizers to a live object; runs and removes them once the object is being deleted.
    ///
    /// If [`Finalized::object`] has a deletion timestamp, or is `None`, there is nothing left to reconcile.
    ///
    /// # Errors
    ///
    /// Fails if a finalizer fails or a write is rejected.
    pub async fn reconcile(&self, api: &Api<K>, object: &K) -> Result<Finalized<K>, FinalizeError> {
        if object.meta().deletion_timestamp.is_none() {
            self.add(api, object).await
        } else {
            self.run(api, object).await
        }
    }

    async fn add(&self, api: &Api<K>, object: &K) -> Result<Finalized<K>, FinalizeError> {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        let mut added = Vec::new();
        let object = change_finalizers(api, object, |object| {
            added.clear();
            if object.meta().deletion_timestamp.is_some() {
                return None;
            }
            let mut all = object.finalizers().to_vec();
            for name in &names {
                if !all.iter().any(|present| present == name) {
                    all.push((*name).to_owned());
                    added.push((*name).to_owned());
                }
            }
            (!added.is_empty()).then_some(all)
        })
        .await?;
        Ok(Finalized {
            object,
            added,
            removed: Vec::new(),
        })
    }

    async fn run(&self, api: &Api<K>, object: &K) -> Result<Finalized<K>, FinalizeError> {
        let (mut removed, mut failed) = (Vec::new(), Vec::new());
        for (name, finalizer) in &self.0 {
            if !object.finalizers().contains(name) {
                continue;
            }
            match finalizer.finalize(object).await {
                Ok(()) => removed.push(name.clone()),
                Err(cause) => failed.push(FinalizerFailed {
                    name: name.clone(),
                    cause,
                }),
            }
        }
        let object = change_finalizers(api, object, |object| {
            let mut all = object.finalizers().to_vec();
            let before = all.len();
            all.retain(|name| !removed.contains(name));
            (all.len() != before).then_some(all)
        })
        .await?;
        if !failed.is_empty() {
            return Err(FinalizeError::Failed(FinalizersFailed(failed)));
        }
        Ok(Finalized {
            object,
            added: Vec::new(),
            removed,
        })
    }
}

/// Writes the list of finalizers that a closure computes from the object, recomputing it after conflicts. Returns
/// `None` if the object is gone or was replaced.
pub(crate) async fn change_finalizers<K>(
    server: &impl Objects<K>,
    object: &K,
    mut list: impl FnMut(&K) -> Option<Vec<String>>,
) -> Result<Option<K>, kube::Error>
where
    K: Resource + Clone,
{
    let mut current = object.clone();
    let mut tries = TRIES;
    loop {
        let Some(finalizers) = list(&current) else {
            return Ok(Some(current));
        };
        let patch = json!({
            "metadata": {
                "resourceVersion": current.resource_version(),
                "uid": current.uid(),
                "finalizers": finalizers,
            }
        });
        let patched = server.merge(&current, patch).await;
        tries -= 1;
        match patched {
            // Removing the last finalizer of an object that is being deleted deletes it; the response shows its last
            // state.
            Ok(left)
                if left.meta().deletion_timestamp.is_some() && left.finalizers().is_empty() =>
            {
                return Ok(None);
            }
            Ok(written) => return Ok(Some(written)),
            Err(e) if is_not_found(&e) => return Ok(None),
            Err(e) if is_conflict(&e) && tries > 0 => {}
            Err(e) => return Err(e),
        }
        match server.read(object).await? {
            Some(fresh) if fresh.uid() == object.uid() => current = fresh,
            _ => return Ok(None),
        }
    }
}

/// The objects of a kind on the server.
pub(crate) trait Objects<K>: Sync {
    /// Sends a merge patch.
    fn merge(
        &self,
        object: &K,
        patch: Value,
    ) -> impl Future<Output = Result<K, kube::Error>> + Send;

    /// Reads the object as it is now.
    fn read(&self, object: &K) -> impl Future<Output = Result<Option<K>, kube::Error>> + Send;
}

impl<K> Objects<K> for Api<K>
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug + Sync + 'static,
{
    async fn merge(&self, object: &K, patch: Value) -> Result<K, kube::Error> {
        let patch = Patch::Merge(patch);
        self.patch(&object.name_any(), &PatchParams::default(), &patch)
            .await
    }

    async fn read(&self, object: &K) -> Result<Option<K>, kube::Error> {
        self.get_opt(&object.name_any()).await
    }
}

impl<K: Object> Objects<K> for Client {
    async fn merge(&self, object: &K, patch: Value) -> Result<K, kube::Error> {
        Ok(self.patch(object, &Patch::Merge(patch)).await?)
    }

    async fn read(&self, object: &K) -> Result<Option<K>, kube::Error> {
        Ok(self.get_live(&key_of(object)).await?)
    }
}

impl<K> fmt::Debug for Finalizers<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

impl<K> Default for Finalizers<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl std::error::Error for FinalizersFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let first = self.0.first()?;
        Some(first)
    }
}

impl fmt::Display for FinalizersFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            [one] => write!(f, "{one}"),
            many => {
                f.write_str("[")?;
                for (i, error) in many.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{error}")?;
                }
                f.write_str("]")
            }
        }
    }
}
