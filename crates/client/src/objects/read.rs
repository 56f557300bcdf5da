//! Get, list, watch.

use kube::api::{GetParams, ListParams, ObjectList, WatchParams};
use serde::de::DeserializeOwned;

use super::{Listing, ObjectClient, form::Form, ready};
use crate::{
    error::Result,
    rest::{WatchStream, response, watch},
};

impl<T, F> ObjectClient<T, F>
where
    T: DeserializeOwned + Clone + Send + 'static,
    F: Form<T>,
{
    /// Returns the object of that name.
    ///
    /// # Errors
    ///
    /// Fails with a [not found](crate::Error::is_not_found) error if it does not exist.
    pub async fn get(&self, name: &str) -> Result<T> {
        self.get_with(name, &GetParams::default()).await
    }

    /// Returns the object of that name, at a given resource version.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached, or if the object cannot be decoded.
    pub async fn get_with(&self, name: &str, params: &GetParams) -> Result<T> {
        let request = self.collection()?.get(&self.below(name)?, params);
        let answer = response::exchange(&self.client, ready(request, F::ONE)?).await?;
        F::settle(answer.object()?, None)
    }

    /// Returns the object of that name; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails like [`get`](Self::get), except if the object does not exist.
    pub async fn get_opt(&self, name: &str) -> Result<Option<T>> {
        match self.get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the objects that the parameters select. Items are decoded one by one while the list arrives.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached, or if an item cannot be decoded.
    pub async fn list(&self, params: &ListParams) -> Result<ObjectList<T>> {
        self.list_each(params).await?.collect().await
    }

    /// Returns the objects that the parameters select one at a time, so that a long list is never in memory as a whole.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached.
    pub async fn list_each(&self, params: &ListParams) -> Result<Listing<T, F>> {
        let request = self.collection()?.list(params);
        Listing::open(&self.client, ready(request, F::LIST)?).await
    }

    /// Watches the objects that the parameters select, from a resource version on: that of a list, `"0"` for any state
    /// first, or `""` for the newest state first.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached.
    pub async fn watch(
        &self,
        params: &WatchParams,
        resource_version: &str,
    ) -> Result<WatchStream<T>> {
        let request = self.collection()?.watch(params, resource_version);
        watch::open(&self.client, ready(request, F::ONE)?, |object| {
            F::settle(object, None)
        })
        .await
    }
}
