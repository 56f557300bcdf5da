//! Watching objects that others refer to by name.

use std::sync::Arc;

use kube::{ResourceExt, core::ApiResource};
use kubewright_informer::IndexError;

use super::ControllerBuilder;
use crate::{
    client::{Client, Filter, is_namespaced},
    handler::Handler,
    object::Object,
    reconcile::{Request, Result},
    source::Watch,
};

/// A kind to which objects of the main kind refer, and the watch of it.
pub(super) struct Reference {
    pub(super) resource: ApiResource,
    /// Adds an index of that name, and returns the watch that reads it.
    pub(super) watch: Box<AddIndex>,
}

type AddIndex = dyn FnOnce(String, &Client) -> Result<Watch, IndexError> + Send;

impl<S: Send + Sync + 'static> ControllerBuilder<S> {
    /// Watches a type whose objects the main kind refers to by name, and reconciles those that do.
    ///
    /// The function returns the names to which an object refers. They are looked up in an index, so that the cost of a change
    /// does not grow with the number of objects. A namespaced object is looked up by those in its own namespace. For other
    /// relations use [`watches`](Self::watches).
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Secret};
    /// use kubewright_controller::Controller;
    ///
    /// // Reconciles the Deployments that pull their images with a Secret, when that Secret changes.
    /// let builder = Controller::for_::<Deployment>().references::<Deployment, Secret>(|deployment| {
    ///     let pods = deployment.spec.template.spec.iter();
    ///     let secrets = pods.flat_map(|pods| pods.image_pull_secrets.iter().flatten());
    ///     secrets.map(|secret| secret.name.clone()).collect()
    /// });
    /// assert_eq!(builder.watched_kinds().count(), 2);
    /// ```
    pub fn references<K: Object, T: Object>(
        self,
        names: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.references_with::<K, T>(|watch| watch, names)
    }

    /// Watches a type like [`references`](Self::references), with settings for the watch, such as predicates.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kubewright_controller::{Controller, Predicate};
    ///
    /// let builder = Controller::for_::<ConfigMap>().references_with::<ConfigMap, Secret>(
    ///     |watch| watch.predicate(Predicate::typed(|secret: &Secret| secret.data.is_some())),
    ///     |map| map.data.iter().flat_map(|data| data.values().cloned()).collect(),
    /// );
    /// assert_eq!(builder.watched_kinds().count(), 2);
    /// ```
    pub fn references_with<K: Object, T: Object>(
        mut self,
        configure: impl FnOnce(Watch) -> Watch + Send + 'static,
        names: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        let watch = move |index: String, client: &Client| {
            client.index_by::<K>(&index, names)?;
            let index: Arc<str> = index.into();
            let handler = Handler::map_async(move |client: Client, referenced: Arc<T>| {
                let index = index.clone();
                async move { users::<K, T>(&client, &index, &referenced).await }
            });
            Ok(configure(Watch::of::<T>(handler)))
        };
        self.references.push(Reference {
            resource: ApiResource::erase::<T>(&()),
            watch: Box::new(watch),
        });
        self
    }
}

/// Returns the objects that refer to another.
async fn users<K: Object, T: Object>(
    client: &Client,
    index: &str,
    referenced: &T,
) -> Result<Vec<Request>> {
    let mut filter = Filter::new().index(index, referenced.name_any());
    if is_namespaced::<K>()
        && let Some(namespace) = referenced.namespace()
    {
        filter = filter.namespace(namespace);
    }
    let users = client.list::<K>(&filter).await?;
    Ok(users.iter().map(|user| Request::of(&**user)).collect())
}
