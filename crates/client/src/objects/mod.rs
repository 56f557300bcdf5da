//! [`ObjectClient`]: the verbs on one resource, whatever its objects are decoded into.
//!
//! The typed, the dynamic and the metadata client are this one client in three [forms](form).
//!
//! | module | what it holds |
//! |---|---|
//! | [`form`] | [`Form`](form::Form): what is asked for and what is made of the answer |
//! | [`read`] | get, list, watch |
//! | [`write`](mod@write) | create, update, apply, patch, delete |
//! | [`listing`] | [`Listing`]: the items of a list, decoded while it arrives |
//! | [`pager`] | long lists, page by page |

pub mod form;
pub mod listing;
pub mod pager;
pub mod read;
pub mod write;

use std::marker::PhantomData;

pub use listing::Listing;
pub use write::Deletion;

use http::{HeaderValue, Request, header};
use kube::client::Body;
use kubewright_machinery::gvk::GroupVersionResource;

use crate::{
    error::{Error, Result},
    rest::path,
};

/// The verbs on one resource: in a namespace, or in the whole cluster.
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

    /// The objects of a namespace. Of all namespaces, if it is empty.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into()).filter(|namespace| !namespace.is_empty());
        self
    }

    /// A part of the objects, `status` or `scale`: get, create, update, patch, apply and delete are about it.
    #[must_use]
    pub fn subresource(mut self, step: impl Into<String>) -> Self {
        self.subresource.push(step.into());
        self
    }

    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.resource
    }

    /// The namespace, if it is about one.
    pub fn in_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The client underneath.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    /// The path of the collection.
    fn collection(&self) -> Result<kube::core::Request> {
        let path = path::of_resource(&self.resource, self.namespace.as_deref())?;
        Ok(kube::core::Request::new(path))
    }

    /// What follows the collection: the object's name, and the subresource.
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

/// A request that kube has put together, with what it should be answered in.
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
