//! [`Storage`]: the data of a kind, wherever it lives.

use async_trait::async_trait;
use kubewright_machinery::{Status, fields::FieldSelector, labels::LabelSelector, status};
use kubewright_resource::CustomKind;
use serde::de::DeserializeOwned;

use crate::changes::Changes;

/// A kind that a server can serve: a type of `kube::CustomResource` with `#[derive(Schema)]`.
pub trait ServedKind: CustomKind + DeserializeOwned + Clone + Send + Sync {}

impl<K: CustomKind + DeserializeOwned + Clone + Send + Sync> ServedKind for K {}

/// The verbs that a [`Storage`] supports. Discovery lists those that follow from them: `patch` from `get` and `update`,
/// `deletecollection` from `list` and `delete`.
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

/// The objects that a list asks for.
///
/// A storage may use all of it or nothing: the server applies the namespace and the selectors to what the storage returns.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// The namespace; `None` is all of them.
    pub namespace: Option<String>,
    /// The label selector.
    pub labels: LabelSelector,
    /// The field selector.
    pub fields: FieldSelector,
    /// The maximum number of objects; `None` is no limit.
    pub limit: Option<usize>,
    /// The [`next`](Listing::next) of the page before.
    pub start: Option<String>,
}

/// The answer to a list, or a page of it.
///
/// ```
/// use kubewright_extension_apiserver::Listing;
///
/// let page = Listing::new(vec!["mars", "venus"]).version(7).next("venus");
/// assert_eq!(page.next.as_deref(), Some("venus"));
/// ```
#[derive(Clone, Debug)]
pub struct Listing<K> {
    /// The objects, in the order of namespaces and names.
    pub items: Vec<K>,
    /// The version of the data, which a watch continues at; 0 if it has none.
    pub version: u64,
    /// The start of the next page, in any form; `None` at the end.
    pub next: Option<String>,
    /// The number of objects after this page, if it is known.
    pub remaining: Option<u64>,
}

impl<K> Listing<K> {
    /// Returns a list of all objects.
    pub fn new(items: Vec<K>) -> Self {
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

    /// Makes it a page that is followed by another.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

/// The data of a kind: a database, another API, a computation.
///
/// Implement the methods of the verbs that [`verbs`](Self::verbs) returns. The server does the rest: objects are decoded,
/// defaulted and validated by the schema of the type, patches and server-side apply are computed, finalizers hold objects that
/// are deleted.
///
/// Objects that can be changed or watched carry a `metadata.resourceVersion`, a decimal number that grows with each change of
/// the data; [`ChangeFeed`](crate::ChangeFeed) counts it. The namespace is empty for cluster-scoped kinds.
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
    /// Returns the verbs that it supports.
    fn verbs(&self) -> Verbs;

    /// Returns an object, or `None` if there is none of that name.
    ///
    /// # Errors
    ///
    /// The error is the answer to the client, here and in every other method.
    async fn get(&self, _namespace: &str, _name: &str) -> Result<Option<K>, Status> {
        Err(unsupported("get"))
    }

    /// Returns the objects that a query selects, or the first page of them.
    async fn list(&self, _query: &ListQuery) -> Result<Listing<K>, Status> {
        Err(unsupported("list"))
    }

    /// Returns the changes after a version of the data, in order. [`ChangeFeed::changes`](crate::ChangeFeed::changes) is one
    /// source of them.
    async fn watch(&self, _after: u64) -> Result<Changes<K>, Status> {
        Err(unsupported("watch"))
    }

    /// Returns the current version of the data, which watches start at. Defaults to that of a list.
    async fn version(&self) -> Result<u64, Status> {
        let query = ListQuery {
            limit: Some(1),
            ..ListQuery::default()
        };
        Ok(self.list(&query).await?.version)
    }

    /// Stores a new object and returns it with its `resourceVersion`. It is valid and has its name, uid and creation time.
    ///
    /// # Errors
    ///
    /// Return [`status::already_exists`] if the name is taken.
    async fn create(&self, _object: K) -> Result<K, Status> {
        Err(unsupported("create"))
    }

    /// Replaces the object whose `resourceVersion` is that of the given one, and returns it with its new `resourceVersion`.
    ///
    /// # Errors
    ///
    /// Return [`status::conflict`] if the object has changed since; the server then tries again with the newer object.
    async fn update(&self, _object: K) -> Result<K, Status> {
        Err(unsupported("update"))
    }

    /// Deletes an object, which is the one that `get` returned last.
    async fn delete(&self, _object: &K) -> Result<(), Status> {
        Err(unsupported("delete"))
    }
}

fn unsupported(method: &str) -> Status {
    status::internal(format!(
        "the storage lists the verb {method}, but does not implement it"
    ))
}
