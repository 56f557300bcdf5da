//! Writing the status of an object.

use kube::{Resource, api::PostParams, core::Request};
use serde::Serialize;

use super::Client;

impl Client {
    /// Writes the status of an object and nothing else.
    ///
    /// The response is not decoded; the next read through this client waits for the new version. To get the response at
    /// once, use [`api`](Self::api) and `replace_status`.
    ///
    /// # Errors
    ///
    /// Fails with a conflict if the object has changed since it was read.
    pub async fn update_status<K>(&self, object: &K) -> Result<(), kube::Error>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let metadata = object.meta();
        let url = K::url_path(&(), metadata.namespace.as_deref());
        let name = metadata.name.as_deref().unwrap_or_default();
        let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
        let request = Request::new(url)
            .replace_subresource("status", name, &PostParams::default(), body)
            .map_err(kube::Error::BuildRequest)?;
        self.live.request_text(request).await?;
        Ok(())
    }
}
