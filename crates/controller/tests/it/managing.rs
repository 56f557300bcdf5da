//! A manager in a task of its own, and objects for it.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use kubewright_controller::{Manager, ManagerError};
use kubewright_testing::TestCluster;
use tokio::{sync::oneshot, task::JoinHandle};

/// Longer than anything takes that goes well.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Managed {
    pub(crate) manager: Manager,
    pub(crate) task: JoinHandle<Result<(), ManagerError>>,
    stop: Option<oneshot::Sender<()>>,
}

impl Managed {
    pub(crate) fn start(manager: &Manager) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let manager = manager.clone();
        let run = manager.clone();
        let task = tokio::spawn(async move {
            run.run(async {
                let _ = stopped.await;
            })
            .await
        });
        Self {
            manager,
            task,
            stop: Some(stop),
        }
    }

    /// Waits until there is nothing to do.
    pub(crate) async fn settled(&self) {
        self.manager.settled(LONG).await.unwrap();
    }

    pub(crate) fn tell(&mut self) {
        self.stop.take();
    }

    pub(crate) async fn stop(mut self) -> Result<(), ManagerError> {
        self.tell();
        self.ended().await
    }

    pub(crate) async fn ended(self) -> Result<(), ManagerError> {
        tokio::time::timeout(LONG * 100, self.task)
            .await
            .expect("the manager ends")
            .unwrap()
    }
}

pub(crate) fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map
}

pub(crate) fn maps(cluster: &TestCluster) -> Api<ConfigMap> {
    Api::default_namespaced(cluster.client())
}

pub(crate) async fn create(cluster: &TestCluster, name: &str) -> ConfigMap {
    maps(cluster)
        .create(&PostParams::default(), &map(name))
        .await
        .unwrap()
}

pub(crate) async fn merge(cluster: &TestCluster, name: &str, patch: serde_json::Value) {
    maps(cluster)
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}
