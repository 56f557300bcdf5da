//! Create, update, apply, patch, delete.

use kube::{
    Resource,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::Status,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    ObjectClient,
    form::{Form, Whole},
    ready,
};
use crate::{
    error::{Error, Result},
    rest::{RestResponse, response},
};

/// The outcome of a delete.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::{DeleteParams, PostParams};
/// use kubewright_client::{ClientSet, Deletion};
///
/// let maps = ClientSet::new(client).namespaced::<ConfigMap>("default");
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// map.metadata.finalizers = Some(vec!["example.com/paint".into()]);
/// maps.create(&PostParams::default(), &map).await.unwrap();
/// match maps.delete("colours", &DeleteParams::default()).await.unwrap() {
///     Deletion::Done(_) => unreachable!("the finalizer keeps the object"),
///     Deletion::Begun(map) => assert!(map.metadata.deletion_timestamp.is_some()),
/// }
/// # });
/// ```
#[derive(Clone, Debug)]
pub enum Deletion<T> {
    /// The deletion has started, and something still holds the object. This is its state.
    Begun(Box<T>),
    /// The object was deleted.
    Done(Box<Status>),
}

impl<T, F> ObjectClient<T, F>
where
    T: DeserializeOwned + Clone + Send + 'static,
    F: Form<T>,
{
    /// Patches an object.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached, or if the patch cannot be encoded.
    pub async fn patch<P: Serialize>(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<T> {
        let request = self.collection()?.patch(&self.below(name)?, params, patch);
        let answer = response::exchange(&self.client, ready(request, F::ONE)?).await?;
        F::settle(answer.object()?, None)
    }

    /// Deletes an object.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached.
    pub async fn delete(&self, name: &str, params: &DeleteParams) -> Result<Deletion<T>> {
        let request = self.collection()?.delete(&self.below(name)?, params);
        let answer = response::exchange(&self.client, ready(request, F::ONE)?).await?;
        deletion::<T, F>(&answer)
    }

    /// Deletes all objects that the list parameters select.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached.
    pub async fn delete_collection(&self, params: &DeleteParams, which: &ListParams) -> Result<()> {
        let request = self.collection()?.delete_collection(params, which);
        response::exchange(&self.client, ready(request, F::LIST)?).await?;
        Ok(())
    }
}

impl<T, F> ObjectClient<T, F>
where
    T: Resource + Serialize + DeserializeOwned + Clone + Send + 'static,
    F: Whole<T>,
{
    /// Creates an object. With a subresource, it is created for the object of that name.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached, for example because the object exists.
    pub async fn create(&self, params: &PostParams, object: &T) -> Result<T> {
        let collection = self.collection()?;
        let at = if self.subresource.is_empty() {
            collection
        } else {
            let below = self.below(name_of(object))?;
            kube::core::Request::new(format!("{}/{below}", collection.url_path))
        };
        let request = at.create(params, encoded(object)?);
        let answer = response::exchange(&self.client, ready(request, F::ONE)?).await?;
        F::settle(answer.object()?, None)
    }

    /// Replaces the object of that name.
    ///
    /// # Errors
    ///
    /// Fails with a [conflict](crate::Error::is_conflict) if the object has a resource version that is not the current
    /// one.
    pub async fn update(&self, params: &PostParams, object: &T) -> Result<T> {
        let below = self.below(name_of(object))?;
        let request = self.collection()?.replace(&below, params, encoded(object)?);
        let answer = response::exchange(&self.client, ready(request, F::ONE)?).await?;
        F::settle(answer.object()?, None)
    }

    /// Replaces the status of the object of that name.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached; with a conflict if the object has changed since it was read.
    pub async fn update_status(&self, params: &PostParams, object: &T) -> Result<T> {
        let status = self.clone().subresource("status");
        status.update(params, object).await
    }

    /// Applies an object by server-side apply: the field manager owns the fields that it contains.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached; with a conflict if another field manager owns a field with another value.
    pub async fn apply(&self, params: &PatchParams, object: &T) -> Result<T> {
        if object
            .meta()
            .managed_fields
            .as_ref()
            .is_some_and(|fields| !fields.is_empty())
        {
            let text = "cannot apply an object with managed fields already set; use an object that \
                        was made for this purpose";
            return Err(Error::Request(text.to_owned()));
        }
        self.patch(name_of(object), params, &Patch::Apply(object))
            .await
    }
}

fn name_of<T: Resource>(object: &T) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}

fn encoded<T: Serialize>(object: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(object)
        .map_err(|error| Error::Request(format!("cannot encode the object: {error}")))
}

fn deletion<T: DeserializeOwned, F: Form<T>>(answer: &RestResponse) -> Result<Deletion<T>> {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(default)]
        kind: String,
    }
    let kind: Kind = answer.object()?;
    if kind.kind == "Status" {
        return Ok(Deletion::Done(answer.object()?));
    }
    Ok(Deletion::Begun(Box::new(F::settle(
        answer.object()?,
        None,
    )?)))
}
