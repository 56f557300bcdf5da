//! A cluster with controllers, and objects for it.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, PropagationPolicy},
};
use kubewright_builtin_controllers::Controllers;
use kubewright_client::DynamicClient;
use kubewright_controller::wait::{wait_for, wait_for_deletion};
use kubewright_testing::{RunningManager, TestCluster};
use serde_json::{Value, json};

/// A time limit that is longer than any successful step.
pub(crate) const LONG: Duration = Duration::from_secs(600);

pub(crate) struct Fixture {
    pub(crate) cluster: TestCluster,
    /// The controllers, which end with the fixture.
    pub(crate) _controllers: Option<RunningManager>,
}

impl Fixture {
    /// Starts a cluster with these controllers, and waits for their first listing.
    pub(crate) async fn start(list: &str) -> Self {
        let cluster = TestCluster::start().await;
        let controllers = Controllers::parse(list).unwrap().root_ca("the authority");
        let fixture = Self::without(cluster).with(&controllers);
        fixture.settled().await;
        fixture
    }

    /// Starts a cluster without controllers.
    pub(crate) fn without(cluster: TestCluster) -> Self {
        Self {
            cluster,
            _controllers: None,
        }
    }

    /// Starts these controllers on the same cluster.
    pub(crate) fn with(mut self, controllers: &Controllers) -> Self {
        self._controllers = Some(self.cluster.run_controllers(controllers));
        self
    }

    pub(crate) async fn settled(&self) {
        self.cluster.settled_within(LONG).await.unwrap();
    }

    pub(crate) fn client(&self) -> kube::Client {
        self.cluster.client()
    }

    pub(crate) fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.client())
    }

    pub(crate) fn maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client(), namespace)
    }

    pub(crate) async fn namespace(&self, name: &str) -> Namespace {
        let namespace = json!({"metadata": {"name": name}});
        let namespace: Namespace = serde_json::from_value(namespace).unwrap();
        self.namespaces()
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap()
    }

    /// Creates an object of any kind.
    pub(crate) async fn create(&self, object: Value) -> DynamicObject {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let objects = DynamicClient::new(self.client());
        let objects = objects.for_object(&object).await.unwrap();
        objects
            .create(&PostParams::default(), &object)
            .await
            .unwrap()
    }

    /// Creates a ConfigMap in `default` with these owners.
    pub(crate) async fn map(&self, name: &str, owners: &[Value]) -> ConfigMap {
        self.map_in("default", name, owners).await
    }

    /// Creates a ConfigMap with these owners.
    pub(crate) async fn map_in(&self, namespace: &str, name: &str, owners: &[Value]) -> ConfigMap {
        let map = json!({"metadata": {"name": name, "ownerReferences": owners}});
        let map: ConfigMap = serde_json::from_value(map).unwrap();
        self.maps(namespace)
            .create(&PostParams::default(), &map)
            .await
            .unwrap()
    }

    /// Deletes a ConfigMap in `default`.
    pub(crate) async fn delete(&self, name: &str, policy: PropagationPolicy) {
        let how = DeleteParams {
            propagation_policy: Some(policy),
            ..DeleteParams::default()
        };
        self.maps("default").delete(name, &how).await.unwrap();
    }

    /// Waits until a ConfigMap in `default` is gone.
    pub(crate) async fn gone(&self, name: &str) {
        wait_for_deletion(&self.maps("default"), name, None, LONG)
            .await
            .unwrap_or_else(|error| panic!("{name} stays: {error}\n{}", self.status()));
    }

    /// Returns the status of the controllers.
    fn status(&self) -> String {
        let manager = self._controllers.as_ref().map(RunningManager::manager);
        let controllers = manager
            .into_iter()
            .flat_map(|manager| manager.controllers());
        controllers
            .map(|controller| format!("{:?}\n", controller.status()))
            .collect()
    }

    /// Returns a ConfigMap in `default`, if it exists.
    pub(crate) async fn find(&self, name: &str) -> Option<ConfigMap> {
        self.maps("default").get_opt(name).await.unwrap()
    }

    /// Waits until a ConfigMap in `default` satisfies a condition.
    pub(crate) async fn until(&self, name: &str, wanted: impl Fn(&ConfigMap) -> bool) -> ConfigMap {
        let wanted = |map: Option<&ConfigMap>| map.is_some_and(&wanted);
        wait_for(&self.maps("default"), name, LONG, wanted)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .unwrap()
    }

    /// Sets the finalizers of a ConfigMap in `default`.
    pub(crate) async fn finalizers(&self, name: &str, finalizers: &[&str]) {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
        self.maps("default")
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

/// Returns a reference to a ConfigMap.
pub(crate) fn owner(map: &ConfigMap) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": map.name_any(),
        "uid": map.uid().unwrap(),
    })
}

/// Returns a reference to a ConfigMap that blocks its deletion.
pub(crate) fn blocked_owner(map: &ConfigMap) -> Value {
    let mut owner = owner(map);
    owner["blockOwnerDeletion"] = true.into();
    owner
}

/// Returns the names of the owners.
pub(crate) fn owners_of(map: &ConfigMap) -> Vec<String> {
    let owners = map.owner_references().iter();
    owners.map(|owner| owner.name.clone()).collect()
}
