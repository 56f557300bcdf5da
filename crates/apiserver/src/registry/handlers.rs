//! [`Handlers`]: the verbs that a resource or a subresource supports.

use std::sync::Arc;

use http::Method;

use super::traits::{Connect, Create, Delete, DeleteCollection, Get, History, List, Update, Watch};

/// The handlers of a resource or a subresource. A verb whose handler is `None` is answered with 405.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{Object, registry::{Get, Handlers}, request::{GetOptions, RequestContext}};
/// use kubewright_machinery::Status;
/// use serde_json::json;
///
/// struct Echo;
///
/// #[boxed_async]
/// impl Get for Echo {
///     async fn get(&self, _: &RequestContext, name: &str, _: &GetOptions) -> Result<Object, Status> {
///         Ok(Object::from_value(&json!({"kind": "Echo", "metadata": {"name": name}})))
///     }
/// }
///
/// let handlers = Handlers { get: Some(Arc::new(Echo)), ..Handlers::default() };
/// assert_eq!(handlers.verbs(), ["get"]);
/// ```
#[derive(Clone, Default)]
pub struct Handlers {
    /// `get`
    pub get: Option<Arc<dyn Get>>,
    /// `list`
    pub list: Option<Arc<dyn List>>,
    /// `watch`
    pub watch: Option<Arc<dyn Watch>>,
    /// `create`
    pub create: Option<Arc<dyn Create>>,
    /// `update` and `patch`
    pub update: Option<Arc<dyn Update>>,
    /// `delete`
    pub delete: Option<Arc<dyn Delete>>,
    /// `deletecollection`
    pub delete_collection: Option<Arc<dyn DeleteCollection>>,
    /// The past of objects, for the ledger.
    pub history: Option<Arc<dyn History>>,
    /// A streaming subresource.
    pub connect: Option<Arc<dyn Connect>>,
}

impl Handlers {
    /// Returns the verbs that have a handler, in the order of discovery.
    pub fn verbs(&self) -> Vec<String> {
        let update = self.update.is_some();
        let connects = |method| {
            let connect = self.connect.as_ref();
            connect.is_some_and(|connect| connect.methods().contains(&method))
        };
        let all = [
            ("create", self.create.is_some() || connects(Method::POST)),
            ("delete", self.delete.is_some() || connects(Method::DELETE)),
            ("deletecollection", self.delete_collection.is_some()),
            ("get", self.get.is_some() || connects(Method::GET)),
            ("list", self.list.is_some()),
            ("patch", update || connects(Method::PATCH)),
            ("update", update || connects(Method::PUT)),
            ("watch", self.watch.is_some()),
        ];
        all.iter()
            .filter(|(_, supported)| *supported)
            .map(|(verb, _)| (*verb).to_owned())
            .collect()
    }
}
