//! [`ScaleClient`]: the number of replicas of anything with a `scale` subresource.

mod convert;

use std::{collections::HashMap, sync::Arc};

use k8s_openapi::{
    api::autoscaling::v1::Scale, apimachinery::pkg::apis::meta::v1::APIResourceList,
};
use kube::api::{Patch, PatchParams, PostParams};
use kubewright_machinery::gvk::{
    GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource,
};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

use crate::{
    discovery::{Discovery, DiscoveryClient, MemoryCache},
    error::{Error, Result},
    rest::{path, response},
    rest_mapper::DiscoveryRestMapper,
};

/// Reads and sets the number of replicas of built-in and custom resources, in whichever version of `Scale` they have.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// # use kube::api::{Api, DynamicObject, PatchParams};
/// # let web: DynamicObject = serde_json::from_value(serde_json::json!({
/// #     "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
/// #     "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
/// #         "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}},
/// # })).unwrap();
/// # let dynamic = kubewright_client::DynamicClient::new(client.clone());
/// # dynamic.for_object(&web).await.unwrap().apply(&PatchParams::apply("me"), &web).await.unwrap();
/// use kubewright_client::ScaleClient;
/// use kubewright_machinery::gvk::GroupResource;
///
/// let scales = ScaleClient::new(client);
/// let deployments = GroupResource::new("apps", "deployments");
/// let mut scale = scales.get("default", &deployments, "web").await.unwrap();
/// scale.spec.get_or_insert_default().replicas = Some(5);
/// let scale = scales.update("default", &deployments, &scale).await.unwrap();
/// assert_eq!(scale.spec.unwrap().replicas, Some(5));
/// # });
/// ```
#[derive(Clone)]
pub struct ScaleClient {
    client: kube::Client,
    mapper: DiscoveryRestMapper,
    discovery: Arc<dyn Discovery>,
    /// The kind of `Scale` of each resource, which does not change.
    kinds: Arc<Mutex<HashMap<GroupVersionResource, GroupVersionKind>>>,
}

impl ScaleClient {
    /// Creates a client that discovers resources on demand.
    pub fn new(client: kube::Client) -> Self {
        let live = DiscoveryClient::new(client.clone());
        let discovery: Arc<dyn Discovery> = Arc::new(MemoryCache::new(live));
        let mapper = DiscoveryRestMapper::new(discovery.clone());
        Self::with_mapper(client, mapper, discovery)
    }

    /// Creates a client that uses this mapper and discovery.
    pub fn with_mapper(
        client: kube::Client,
        mapper: DiscoveryRestMapper,
        discovery: Arc<dyn Discovery>,
    ) -> Self {
        Self {
            client,
            mapper,
            discovery,
            kinds: Arc::default(),
        }
    }

    /// Returns the scale of an object.
    ///
    /// # Errors
    ///
    /// Fails if the resource has no scale, or if the server rejects the request or cannot be reached.
    pub async fn get(&self, namespace: &str, of: &GroupResource, name: &str) -> Result<Scale> {
        let resource = self.resource(of).await?;
        let at = at(&resource, namespace, name)?;
        let request = kube::core::Request::new(at.0).get(&at.1, &Default::default());
        self.send(request).await
    }

    /// Sets the scale of the object of that name.
    ///
    /// # Errors
    ///
    /// Fails if the resource has no scale, or if the server rejects the request or cannot be reached.
    pub async fn update(
        &self,
        namespace: &str,
        of: &GroupResource,
        scale: &Scale,
    ) -> Result<Scale> {
        let resource = self.resource(of).await?;
        let kind = self.kind(&resource).await?;
        let name = scale.metadata.name.as_deref().unwrap_or_default();
        let at = at(&resource, namespace, name)?;
        let body = convert::from_v1(scale, &kind)?;
        let body = serde_json::to_vec(&body).map_err(|error| Error::Request(error.to_string()))?;
        let request = kube::core::Request::new(at.0).replace(&at.1, &PostParams::default(), body);
        self.send(request).await
    }

    /// Patches the scale of an object. The patch is in the server's version of `Scale`.
    ///
    /// # Errors
    ///
    /// Fails if the resource has no scale, or if the server rejects the request or cannot be reached.
    pub async fn patch<P: Serialize>(
        &self,
        namespace: &str,
        of: &GroupResource,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<Scale> {
        let resource = self.resource(of).await?;
        let at = at(&resource, namespace, name)?;
        let request = kube::core::Request::new(at.0).patch(&at.1, params, patch);
        self.send(request).await
    }

    async fn resource(&self, of: &GroupResource) -> Result<GroupVersionResource> {
        let partial = GroupVersionResource::new(&of.group, "", &of.resource);
        self.mapper.resource_for(&partial).await
    }

    async fn kind(&self, resource: &GroupVersionResource) -> Result<GroupVersionKind> {
        if let Some(kind) = self.kinds.lock().get(resource) {
            return Ok(kind.clone());
        }
        let version = resource.group_version();
        let list = self.discovery.resources(&version).await?;
        let kind = scale_kind(&list, &version, &resource.resource)?;
        self.kinds.lock().insert(resource.clone(), kind.clone());
        Ok(kind)
    }

    async fn send(
        &self,
        request: std::result::Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Scale> {
        let request = request.map_err(|error| Error::Request(error.to_string()))?;
        let request = request.map(kube::client::Body::from);
        let answer = response::exchange(&self.client, request).await?;
        convert::to_v1(answer.object::<Value>()?)
    }
}

/// Returns the path of the collection, and the rest of the path.
fn at(resource: &GroupVersionResource, namespace: &str, name: &str) -> Result<(String, String)> {
    if name.is_empty() {
        return Err(Error::Request("name is required".to_owned()));
    }
    let collection = path::of_resource(resource, Some(namespace))?;
    Ok((
        collection,
        format!("{}/scale", path::segment("name", name)?),
    ))
}

/// Returns the kind of a resource's `scale` subresource: that of its discovery entry, or of its parent's group version.
fn scale_kind(
    list: &APIResourceList,
    version: &GroupVersion,
    resource: &str,
) -> Result<GroupVersionKind> {
    let name = format!("{resource}/scale");
    let entry = list.resources.iter().find(|entry| entry.name == name);
    let Some(entry) = entry else {
        let text = format!(
            "could not find scale subresource for {version}, Resource={resource} in discovery"
        );
        return Err(Error::Request(text));
    };
    let part = |part: &Option<String>| part.clone().filter(|part| !part.is_empty());
    let version = match (part(&entry.group), part(&entry.version)) {
        (Some(group), Some(version)) => GroupVersion::new(group, version),
        _ => version.clone(),
    };
    Ok(version.with_kind(&entry.kind))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;

    use super::*;

    #[test]
    fn the_entry_says_which_scale_it_takes_or_its_parent_does() {
        let entry = |name: &str, group: Option<&str>, version: Option<&str>| APIResource {
            name: name.to_owned(),
            kind: "Scale".to_owned(),
            group: group.map(str::to_owned),
            version: version.map(str::to_owned),
            ..APIResource::default()
        };
        let list = APIResourceList {
            group_version: "apps/v1".to_owned(),
            resources: vec![
                entry("a/scale", Some("autoscaling"), Some("v1")),
                entry("b/scale", None, None),
                entry("c/scale", Some("extensions"), None),
                entry("d", None, None),
            ],
        };
        let kind = |name: &str| {
            scale_kind(&list, &GroupVersion::new("apps", "v1"), name).map(|kind| kind.to_string())
        };
        assert_eq!(kind("a").unwrap(), "autoscaling/v1, Kind=Scale");
        assert_eq!(kind("b").unwrap(), "apps/v1, Kind=Scale");
        assert_eq!(kind("c").unwrap(), "apps/v1, Kind=Scale");
        assert!(kind("d").is_err());
    }
}
