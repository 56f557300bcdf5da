//! [`ObjectClient`]: the verbs on one resource, independent of the type of its objects.
//!
//! The typed, the dynamic and the metadata client are this client in three [forms](Form).
//!
//! | module | contents |
//! |---|---|
//! | `form` | [`Form`]: the representation that is requested, and how a response is decoded |
//! | `read` | get, list, watch |
//! | `write` | create, update, apply, patch, delete |
//! | `listing` | [`Listing`]: the items of a list, decoded while it arrives |
//! | `pager` | [`Pages`]: long lists, page by page |

pub(crate) mod form;
mod listing;
mod pager;
mod read;
mod write;

use std::marker::PhantomData;

pub use form::{Form, MetadataOnly, Typed, Unstructured, Whole};
pub use listing::Listing;
pub use pager::Pages;
pub use write::Deletion;

use http::{HeaderValue, Request, header};
use kube::client::Body;
use kubewright_machinery::gvk::GroupVersionResource;

use crate::{
    error::{Error, Result},
    rest::path,
};

/// A client for one resource: in a namespace, or in the whole cluster.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::{DeleteParams, ListParams, PostParams};
/// use kubewright_client::ClientSet;
///
/// let maps = ClientSet::new(client).namespaced::<ConfigMap>("default");
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// let created = maps.create(&PostParams::default(), &map).await.unwrap();
/// assert_eq!(maps.list(&ListParams::default()).await.unwrap().items, [created]);
/// maps.delete("colours", &DeleteParams::default()).await.unwrap();
/// assert!(maps.get_opt("colours").await.unwrap().is_none());
/// # });
/// ```
pub struct ObjectClient<T, F> {
    client: kube::Client,
    resource: GroupVersionResource,
    namespace: Option<String>,
    subresource: Vec<String>,
    form: PhantomData<fn() -> (T, F)>,
}

impl<T, F> ObjectClient<T, F> {
    pub(crate) fn new(client: kube::Client, resource: GroupVersionResource) -> Self {
        Self {
            client,
            resource,
            namespace: None,
            subresource: Vec::new(),
            form: PhantomData,
        }
    }

    /// Restricts the client to a namespace; all namespaces if it is empty.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into()).filter(|namespace| !namespace.is_empty());
        self
    }

    /// Selects a subresource, such as `status` or `scale`, for get, create, update, patch, apply and delete.
    #[must_use]
    pub fn subresource(mut self, step: impl Into<String>) -> Self {
        self.subresource.push(step.into());
        self
    }

    /// Returns the resource.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.resource
    }

    /// Returns the namespace, if one is set.
    pub fn in_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the underlying client.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    /// Builds requests for the collection.
    fn collection(&self) -> Result<kube::core::Request> {
        let path = path::of_resource(&self.resource, self.namespace.as_deref())?;
        Ok(kube::core::Request::new(path))
    }

    /// Returns the path below the collection: the object's name, and the subresource.
    fn below(&self, name: &str) -> Result<String> {
        if name.is_empty() {
            return Err(Error::Request("name is required".to_owned()));
        }
        let mut below = path::segment("name", name)?;
        for step in &self.subresource {
            below.push('/');
            below.push_str(&path::segment("subresource", step)?);
        }
        Ok(below)
    }
}

impl<T, F> Clone for ObjectClient<T, F> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            subresource: self.subresource.clone(),
            form: PhantomData,
        }
    }
}

/// Finishes a request that kube has built, with its `Accept` header.
fn ready(
    request: std::result::Result<Request<Vec<u8>>, kube::core::request::Error>,
    accept: &'static str,
) -> Result<Request<Body>> {
    let request = request.map_err(|error| Error::Request(error.to_string()))?;
    let mut request = request.map(Body::from);
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
    Ok(request)
}
