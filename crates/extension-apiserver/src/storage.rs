//! [`Storage`]: the data of a kind.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_machinery::{Status, fields::FieldSelector, labels::LabelSelector, status};
use kubewright_resource::CustomKind;
use serde::de::DeserializeOwned;

use crate::changes::Changes;

/// A kind that a server can serve: a type of `kube::CustomResource` with `#[derive(Schema)]`.
pub trait ServedKind: CustomKind + DeserializeOwned + Clone + Send + Sync {}

impl<K: CustomKind + DeserializeOwned + Clone + Send + Sync> ServedKind for K {}

/// The verbs that a [`Storage`] supports. Derived verbs are listed in discovery too: `patch` requires `get` and `update`, and
/// `deletecollection` requires `list` and `delete`.
///
/// ```
/// use kubewright_extension_apiserver::Verbs;
///
/// let appendable = Verbs { create: true, ..Verbs::READ };
/// assert!(appendable.list && !appendable.delete);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verbs {
    /// [`Storage::get`]
    pub get: bool,
    /// [`Storage::list`]
    pub list: bool,
    /// [`Storage::watch`]
    pub watch: bool,
    /// [`Storage::create`]
    pub create: bool,
    /// [`Storage::update`]
    pub update: bool,
    /// [`Storage::delete`]
    pub delete: bool,
}

impl Verbs {
    /// `get` and `list`.
    pub const READ: Self = Self {
        get: true,
        list: true,
        watch: false,
        create: false,
        update: false,
        delete: false,
    };

    /// Every verb.
    pub const ALL: Self = Self {
        get: true,
        list: true,
        watch: true,
        create: true,
        update: true,
        delete: true,
    };
}

/// The objects that a list requests.
///
/// A storage can use any or none of it: the server applies the namespace and the selectors to the returned objects.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// The namespace; `None` for all namespaces.
    pub namespace: Option<String>,
    /// The label selector.
    pub labels: LabelSelector,
    /// The field selector.
    pub fields: FieldSelector,
    /// The maximum number of objects; `None` for no limit.
    pub limit: Option<usize>,
    /// The [`next`](Listing::next) of the previous page.
    pub start: Option<String>,
}

/// The result of a list, or a page of it.
///
/// ```
/// use kubewright_extension_apiserver::Listing;
///
/// let page = Listing::new(vec!["mars", "venus"]).version(7).next("venus");
/// assert_eq!(page.next.as_deref(), Some("venus"));
/// ```
///
/// A storage that keeps its objects in memory should return [shared](Self::shared) ones, which the server encodes only once.
#[derive(Clone, Debug)]
pub struct Listing<K> {
    /// The objects, sorted by namespace and name.
    pub items: Vec<Arc<K>>,
    /// The version of the data, at which a watch continues; 0 if the data has no version.
    pub version: u64,
    /// A token for the start of the next page, in any form; `None` at the end.
    pub next: Option<String>,
    /// The number of objects after this page, if known.
    pub remaining: Option<u64>,
}

impl<K> Listing<K> {
    /// Returns a list of all objects.
    pub fn new(items: Vec<K>) -> Self {
        Self::shared(items.into_iter().map(Arc::new).collect())
    }

    /// Returns a list of all objects, which the storage keeps. An object that is returned again is not encoded again.
    pub fn shared(items: Vec<Arc<K>>) -> Self {
        Self {
            items,
            version: 0,
            next: None,
            remaining: None,
        }
    }

    /// Sets the version of the data.
    #[must_use]
    pub fn version(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    /// Declares that another page follows.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

/// The data of a kind: a database, another API, a computation.
///
/// Implement the methods for the verbs that [`verbs`](Self::verbs) returns. The server handles the rest: it decodes, defaults and
/// validates objects by the schema of the type, computes patches and server-side apply, and delays the deletion of objects with
/// finalizers.
///
/// Objects that can be changed or watched need a `metadata.resourceVersion`, a decimal number that grows with each change of
/// the data; [`ChangeFeed`](crate::ChangeFeed) maintains it. The namespace is empty for cluster-scoped kinds.
///
/// ```
/// use async_trait::async_trait;
/// use kube::CustomResource;
/// use kubewright_extension_apiserver::{ExtensionServer, ListQuery, Listing, Storage, Verbs};
/// # extern crate kubewright_resource as kubewright;
/// use kubewright::Schema;
/// use kubewright_machinery::Status;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
/// #[kube(group = "sky.example.com", version = "v1", kind = "Planet")]
/// pub struct PlanetSpec {
///     moons: u32,
/// }
///
/// struct Planets;
///
/// #[async_trait]
/// impl Storage<Planet> for Planets {
///     fn verbs(&self) -> Verbs {
///         Verbs::READ
///     }
///
///     async fn get(&self, _: &str, name: &str) -> Result<Option<Planet>, Status> {
///         Ok((name == "mars").then(|| Planet::new("mars", PlanetSpec { moons: 2 })))
///     }
///
///     async fn list(&self, _: &ListQuery) -> Result<Listing<Planet>, Status> {
///         Ok(Listing::new(vec![Planet::new("mars", PlanetSpec { moons: 2 })]))
///     }
/// }
///
/// let server = ExtensionServer::builder().serve::<Planet>(Planets).build()?;
/// # let _ = server;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[async_trait]
pub trait Storage<K: ServedKind>: Send + Sync + 'static {
    /// Returns the supported verbs.
    fn verbs(&self) -> Verbs;

    /// Returns an object, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// The error is returned to the client, as in every other method.
    async fn get(&self, _namespace: &str, _name: &str) -> Result<Option<K>, Status> {
        Err(unsupported("get"))
    }

    /// Returns an object that the storage keeps and returns again, so that it is encoded only once (default: what
    /// [`get`](Self::get) returns). Implement one of both.
    async fn get_shared(&self, namespace: &str, name: &str) -> Result<Option<Arc<K>>, Status> {
        Ok(self.get(namespace, name).await?.map(Arc::new))
    }

    /// Returns the objects that a query selects, or the first page of them.
    async fn list(&self, _query: &ListQuery) -> Result<Listing<K>, Status> {
        Err(unsupported("list"))
    }

    /// Returns the changes after a version of the data, in order. [`ChangeFeed::changes`](crate::ChangeFeed::changes) can provide
    /// them.
    async fn watch(&self, _after: u64) -> Result<Changes<K>, Status> {
        Err(unsupported("watch"))
    }

    /// Returns the current version of the data, at which watches start (default: that of a list).
    async fn version(&self) -> Result<u64, Status> {
        let query = ListQuery {
            limit: Some(1),
            ..ListQuery::default()
        };
        Ok(self.list(&query).await?.version)
    }

    /// Stores a new object, and returns it with its `resourceVersion`. The object is valid and has a name, uid and creation time.
    ///
    /// # Errors
    ///
    /// Return [`status::already_exists`] if the name is taken.
    async fn create(&self, _object: K) -> Result<K, Status> {
        Err(unsupported("create"))
    }

    /// Replaces the object with the same `resourceVersion`, and returns it with its new `resourceVersion`.
    ///
    /// # Errors
    ///
    /// Return [`status::conflict`] if the object has changed since; the server then retries with the newer object.
    async fn update(&self, _object: K) -> Result<K, Status> {
        Err(unsupported("update"))
    }

    /// Deletes an object, as returned by the last `get`.
    async fn delete(&self, _object: &K) -> Result<(), Status> {
        Err(unsupported("delete"))
    }
}

fn unsupported(method: &str) -> Status {
    status::internal(format!(
        "the storage lists the verb {method}, but does not implement it"
    ))
}
