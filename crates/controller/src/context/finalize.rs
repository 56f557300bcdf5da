//! Finalizers as closures.

use std::{future::Future, sync::Arc};

use kube::ResourceExt;

use super::Context;
use crate::{
    finalizer::{FinalizerFailed, change_finalizers},
    object::Object,
    reconcile::{Error, Result},
};

impl<K: Object, S> Context<K, S> {
    /// Adds a finalizer to a live object; once the object is being deleted, runs the cleanup and removes the finalizer.
    ///
    /// For an object that is being deleted this fails with an error that ends the reconcile and counts as success, since
    /// there is nothing else to do about it: use `?`. The cleanup may run more than once.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let cluster = kubewright_testing::TestCluster::start().await;
    /// # let manager = kubewright_controller::Manager::new(cluster.client());
    /// use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::{Api, ResourceExt};
    /// use kubewright_controller::{Action, Context, Controller, Result};
    ///
    /// async fn reconcile(ctx: Context<ConfigMap>, _: Arc<ConfigMap>) -> Result<Action> {
    ///     ctx.finalize("example.com/sign", take_down_sign).await?;
    ///     Ok(Action::done())
    /// }
    ///
    /// async fn take_down_sign(map: Arc<ConfigMap>) -> Result<()> {
    ///     println!("taking down the sign of {}", map.name_any());
    ///     Ok(())
    /// }
    ///
    /// Controller::for_::<ConfigMap>().build(&manager, reconcile).unwrap();
    /// let running = cluster.run(&manager);
    /// let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("shop".into());
    /// maps.create(&Default::default(), &map).await.unwrap();
    /// cluster.settled().await.unwrap();
    /// assert_eq!(maps.get("shop").await.unwrap().finalizers(), ["example.com/sign"]);
    /// maps.delete("shop", &Default::default()).await.unwrap();
    /// cluster.settled().await.unwrap();
    /// assert!(maps.get_opt("shop").await.unwrap().is_none());
    /// # running.stop().await.unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the cleanup fails or a write is rejected, and for an object that is being deleted.
    pub async fn finalize<F, R>(&self, name: &str, cleanup: F) -> Result<()>
    where
        F: FnOnce(Arc<K>) -> R,
        R: Future<Output = Result<()>>,
    {
        let object = self.object();
        if object.meta().deletion_timestamp.is_none() {
            return self.add_finalizer(name, &object).await;
        }
        if object.finalizers().iter().any(|present| present == name) {
            cleanup(object.clone())
                .await
                .map_err(|cause| FinalizerFailed {
                    name: name.to_owned(),
                    cause,
                })?;
            let left = change_finalizers(self.client(), &*object, |object| {
                let mut all = object.finalizers().to_vec();
                all.retain(|present| present != name);
                (all.len() != object.finalizers().len()).then_some(all)
            });
            if let Some(left) = left.await? {
                self.replace_object(left);
            }
        }
        Err(Error::finalized().into())
    }

    async fn add_finalizer(&self, name: &str, object: &K) -> Result<()> {
        let written = change_finalizers(self.client(), object, |object| {
            let missing = object.meta().deletion_timestamp.is_none()
                && !object.finalizers().iter().any(|present| present == name);
            missing.then(|| [object.finalizers(), &[name.to_owned()]].concat())
        });
        match written.await? {
            Some(object) if object.meta().deletion_timestamp.is_none() => {
                self.replace_object(object);
                Ok(())
            }
            // It was deleted meanwhile; the event of that leads to the next run.
            _ => Err(Error::finalized().into()),
        }
    }
}
