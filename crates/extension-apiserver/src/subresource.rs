//! [`Subresource`]: an endpoint below an object, with typed bodies.

use std::{marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use kubewright_apiserver::{
    Object, boxed_async,
    registry::{self, Change, Create, Draft, Get, Handlers, Shape, Update, Updated},
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
    /// [`Subresource::get`] and [`Subresource::update`]: the object can be replaced and patched, like `pods/status`.
    GetAndUpdate,
}

impl Access {
    /// Returns the verbs, in the order of discovery.
    pub(crate) fn verbs(self) -> &'static [&'static str] {
        match self {
            Self::Get => &["get"],
            Self::Create => &["create"],
            Self::GetAndCreate => &["create", "get"],
            Self::GetAndUpdate => &["get", "patch", "update"],
        }
    }
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
    /// The object in requests and responses. `kind` and `apiVersion` are added to responses.
    type Object: Serialize + DeserializeOwned + Send;

    /// Returns the kind of [`Self::Object`].
    fn kind(&self) -> GroupVersionKind;

    /// Returns the supported methods.
    fn access(&self) -> Access;

    /// Returns the object for a `GET`.
    ///
    /// # Errors
    ///
    /// The error is returned to the client, as in the other methods.
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

    /// Handles a `PUT` or `PATCH`: replaces the object of [`get`](Self::get), and returns the new object.
    async fn update(
        &self,
        _cx: &RequestContext,
        _parent: K,
        _object: Self::Object,
    ) -> Result<Self::Object, Status> {
        Err(unsupported("update"))
    }
}

fn unsupported(method: &str) -> Status {
    status::internal(format!(
        "the subresource lists the method {method}, but does not implement it"
    ))
}

/// Returns a subresource of the underlying framework. `parents` reads the parent in the version of `K`.
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
    match access {
        Access::Create | Access::GetAndCreate => handlers.create = Some(endpoint),
        Access::GetAndUpdate => handlers.update = Some(endpoint),
        Access::Get => {}
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
        self.value(object).map(|value| Object::from_value(&value))
    }

    fn decode(&self, object: Value) -> Result<S::Object, Status> {
        serde_json::from_value(object)
            .map_err(|e| status::bad_request(format!("the body is not a {}: {e}", self.kind.kind)))
    }

    fn value(&self, object: &S::Object) -> Result<Value, Status> {
        let mut value = serde_json::to_value(object).map_err(status::internal)?;
        let Value::Object(fields) = &mut value else {
            return Err(status::internal("a subresource returned no JSON object"));
        };
        fields.insert("kind".to_owned(), self.kind.kind.as_str().into());
        fields.insert("apiVersion".to_owned(), self.kind.api_version().into());
        Ok(value)
    }
}

#[boxed_async]
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

#[boxed_async]
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
        let object = self.decode(draft.into_value())?;
        self.answer(&self.subresource.create(cx, parent, object).await?)
    }
}

#[boxed_async]
impl<K: ServedKind, S: Subresource<K>> Update for Endpoint<K, S> {
    async fn update(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
    ) -> Result<Updated, Status> {
        if options.dry_run {
            return Err(status::bad_request("dryRun is not supported"));
        }
        let parent = self.parent(cx, name).await?;
        let mut old = self.value(&self.subresource.get(cx, parent.clone()).await?)?;
        // The name of a subresource is that of its parent.
        old["metadata"]["name"] = name.into();
        let new = change.apply(cx, Some(&old)).await?.into_value();
        let object = self.decode(new)?;
        let updated = self.subresource.update(cx, parent, object).await?;
        Ok(Updated {
            object: self.answer(&updated)?,
            created: false,
        })
    }
}
