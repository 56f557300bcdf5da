//! Writing the status of an object.

use http_body_util::BodyExt;
use kube::{
    Resource,
    api::PostParams,
    client::Body,
    core::{Request, Status},
};
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
        let request = request.map(Body::from);
        // Every `kube::Client` passes requests through a task of its own, so the one below is used.
        let response = match &self.writes {
            Some(writes) => writes.send(&self.base, request).await?,
            None => self.base.send(request).await?,
        };
        // The body is read to its end, so that the connection can be used again.
        let code = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if code.is_success() {
            return Ok(());
        }
        let status = serde_json::from_slice(&body).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&body);
            Status::failure(&text, "Failed to parse error data").with_code(code.as_u16())
        });
        Err(kube::Error::Api(Box::new(status)))
    }
}
