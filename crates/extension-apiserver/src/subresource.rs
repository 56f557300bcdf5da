//! [`Subresource`]: an endpoint below an object, with typed bodies that have a schema.

use std::{marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use kubewright_apiserver::{
    Object, boxed_async,
    registry::{self, Change, Create, Draft, Get, Handlers, Update, Updated},
    request::{GetOptions, RequestContext, WriteOptions},
};
use kubewright_custom_kinds::{CustomResources, Definition};
use kubewright_machinery::{Status, gvk::GroupVersionKind, status};
use kubewright_resource::{Validator, subresource_manifest};
use kubewright_store::MemoryStore;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{server::BuildError, storage::ServedKind};

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
/// The objects have a kind and a schema of their own, from a type with `#[derive(Schema)]`: it is part of the OpenAPI documents,
/// and objects in requests are decoded, defaulted and validated by it before they get here.
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
/// use kubewright::Schema;
/// use serde::{Deserialize, Serialize};
///
/// /// The season of a planet on a day.
/// #[derive(Schema, Serialize, Deserialize)]
/// struct Season {
///     #[schema(minimum = 1)]
///     day: u32,
///     name: Option<String>,
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
///         let name = if winter { "winter" } else { "summer" };
///         Ok(Season { name: Some(name.to_owned()), ..asked })
///     }
/// }
/// ```
#[async_trait]
pub trait Subresource<K: ServedKind>: Send + Sync + 'static {
    /// The object in requests and responses. `kind` and `apiVersion` are added to responses.
    type Object: JsonSchema + Serialize + DeserializeOwned + Send;

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
) -> Result<registry::Subresource, BuildError> {
    let access = subresource.access();
    let kind = subresource.kind();
    let invalid = |reason: String| BuildError {
        kind: kind.kind.clone(),
        reason,
    };
    let manifest = subresource_manifest::<K, S::Object>(&kind);
    let manifest = manifest.map_err(|e| invalid(e.to_string()))?;
    let definition = Definition::read(&manifest).map_err(|e| invalid(e.to_string()))?;
    definition.compile_rules();
    // The objects are only described: none is stored.
    let described = CustomResources::new(&definition, Arc::new(MemoryStore::new())).stored();
    let (_, object) = described.ok_or_else(|| invalid("it has no version".to_owned()))?;
    let endpoint = Arc::new(Endpoint {
        validator: Validator::new(&manifest, &kind.version),
        kind,
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
    Ok(registry::Subresource::new(name, handlers).with_object(object))
}

struct Endpoint<K, S> {
    kind: GroupVersionKind,
    validator: Validator,
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

    /// Adds the name and the namespace of the parent to an object. The object may have the same name already.
    fn name(&self, cx: &RequestContext, name: &str, object: &mut Value) -> Result<(), Status> {
        match object["metadata"]["name"].as_str().unwrap_or_default() {
            own if own.is_empty() || own == name => {}
            own => {
                return Err(status::bad_request(format!(
                    "the name of the object ({own}) does not match the name on the URL ({name})"
                )));
            }
        }
        if !object["metadata"].is_object() {
            object["metadata"] = Value::Object(serde_json::Map::new());
        }
        object["metadata"]["name"] = name.into();
        if !cx.namespace().is_empty() {
            object["metadata"]["namespace"] = cx.namespace().into();
        }
        Ok(())
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
        let mut object = draft.into_value();
        self.name(cx, name, &mut object)?;
        self.validator.create(&object)?;
        let object = self.decode(object)?;
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
        self.name(cx, name, &mut old)?;
        let new = change.apply(cx, Some(&old)).await?.into_value();
        self.validator.update(&new, &old)?;
        let object = self.decode(new)?;
        let updated = self.subresource.update(cx, parent, object).await?;
        Ok(Updated {
            object: self.answer(&updated)?,
            created: false,
        })
    }
}
