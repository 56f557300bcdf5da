//! [`Subresource`]: an endpoint below an object, with typed bodies.

use std::{marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use kubewright_apiserver::{
    Object,
    registry::{self, Create, Draft, Get, Handlers, Shape},
    request::{GetOptions, RequestContext, WriteOptions},
};
use kubewright_machinery::{Status, gvk::GroupVersionKind, status};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::storage::ServedKind;

/// The methods that a [`Subresource`] supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// [`Subresource::get`]
    Get,
    /// [`Subresource::create`], as for `pods/binding`.
    Create,
    /// Both.
    GetAndCreate,
}

/// A subresource: `GET` computes an object from its parent, `POST` runs an action on it.
///
/// ```
/// use async_trait::async_trait;
/// # extern crate kubewright_resource as kubewright;
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Planet")]
/// # pub struct PlanetSpec { days: u32 }
/// use kubewright_apiserver::request::RequestContext;
/// use kubewright_extension_apiserver::{Access, Subresource};
/// use kubewright_machinery::{Status, gvk::GroupVersionKind};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Season {
///     day: u32,
///     #[serde(default)]
///     name: String,
/// }
///
/// struct Seasons;
///
/// #[async_trait]
/// impl Subresource<Planet> for Seasons {
///     type Object = Season;
///
///     fn kind(&self) -> GroupVersionKind {
///         GroupVersionKind::new("sky.example.com", "v1", "Season")
///     }
///
///     fn access(&self) -> Access {
///         Access::Create
///     }
///
///     async fn create(&self, _: &RequestContext, planet: Planet, asked: Season) -> Result<Season, Status> {
///         let winter = asked.day % planet.spec.days < planet.spec.days / 2;
///         Ok(Season { name: if winter { "winter" } else { "summer" }.into(), ..asked })
///     }
/// }
/// ```
#[async_trait]
pub trait Subresource<K: ServedKind>: Send + Sync + 'static {
    /// The object of requests and answers. `kind` and `apiVersion` are added to the answer.
    type Object: Serialize + DeserializeOwned + Send;

    /// Returns the kind of [`Self::Object`].
    fn kind(&self) -> GroupVersionKind;

    /// Returns the supported methods.
    fn access(&self) -> Access;

    /// Returns the object for a `GET`.
    ///
    /// # Errors
    ///
    /// The error is the answer to the client, here and in the other method.
    async fn get(&self, _cx: &RequestContext, _parent: K) -> Result<Self::Object, Status> {
        Err(unsupported("get"))
    }

    /// Handles a `POST`.
    async fn create(
        &self,
        _cx: &RequestContext,
        _parent: K,
        _object: Self::Object,
    ) -> Result<Self::Object, Status> {
        Err(unsupported("create"))
    }
}

fn unsupported(method: &str) -> Status {
    status::internal(format!(
        "the subresource lists the method {method}, but does not implement it"
    ))
}

/// Returns a subresource of the server framework. `parents` reads the parent in the version of `K`.
pub(crate) fn subresource<K: ServedKind, S: Subresource<K>>(
    name: &str,
    subresource: &Arc<S>,
    parents: &Arc<dyn Get>,
) -> registry::Subresource {
    let access = subresource.access();
    let kind = subresource.kind();
    let endpoint = Arc::new(Endpoint {
        kind: kind.clone(),
        subresource: subresource.clone(),
        parents: parents.clone(),
        parent: PhantomData::<fn() -> K>,
    });
    let mut handlers = Handlers::default();
    if access != Access::Create {
        handlers.get = Some(endpoint.clone());
    }
    if access != Access::Get {
        handlers.create = Some(endpoint);
    }
    registry::Subresource::new(name, handlers).with_kind(kind, Shape::Untyped)
}

struct Endpoint<K, S> {
    kind: GroupVersionKind,
    subresource: Arc<S>,
    parents: Arc<dyn Get>,
    parent: PhantomData<fn() -> K>,
}

impl<K: ServedKind, S: Subresource<K>> Endpoint<K, S> {
    async fn parent(&self, cx: &RequestContext, name: &str) -> Result<K, Status> {
        let options = GetOptions::default();
        let parent = self.parents.get(cx, name, &options).await?;
        serde_json::from_slice(&parent.bytes).map_err(status::internal)
    }

    fn answer(&self, object: &S::Object) -> Result<Object, Status> {
        let mut value = serde_json::to_value(object).map_err(status::internal)?;
        let Value::Object(fields) = &mut value else {
            return Err(status::internal("a subresource returned no JSON object"));
        };
        fields.insert("kind".to_owned(), self.kind.kind.as_str().into());
        fields.insert("apiVersion".to_owned(), self.kind.api_version().into());
        Ok(Object::from_value(&value))
    }
}

#[async_trait]
impl<K: ServedKind, S: Subresource<K>> Get for Endpoint<K, S> {
    async fn get(
        &self,
        cx: &RequestContext,
        name: &str,
        _options: &GetOptions,
    ) -> Result<Object, Status> {
        let parent = self.parent(cx, name).await?;
        self.answer(&self.subresource.get(cx, parent).await?)
    }
}

#[async_trait]
impl<K: ServedKind, S: Subresource<K>> Create for Endpoint<K, S> {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        draft: Draft,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        if options.dry_run {
            return Err(status::bad_request("dryRun is not supported"));
        }
        let parent = self.parent(cx, name).await?;
        let object = serde_json::from_value(draft.into_value()).map_err(|e| {
            status::bad_request(format!("the body is not a {}: {e}", self.kind.kind))
        })?;
        self.answer(&self.subresource.create(cx, parent, object).await?)
    }
}
