//! [`Target`]: a server and a namespace on it.

use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::{
    Client, Config,
    api::{Api, DeleteParams, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_client::RestClient;
use kubewright_testing::TestCluster;
use serde_json::json;

/// A server with a namespace for one test.
pub(crate) struct Target {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    _cluster: Option<TestCluster>,
}

impl Target {
    pub(crate) async fn start() -> Self {
        static NAMESPACES: AtomicU32 = AtomicU32::new(0);
        let (client, cluster) = match std::env::var_os("KUBEWRIGHT_TEST_KUBECONFIG") {
            None => {
                let cluster = TestCluster::start().await;
                (cluster.client(), Some(cluster))
            }
            Some(path) => {
                let kubeconfig = Kubeconfig::read_from(path).expect("a kubeconfig");
                let options = KubeConfigOptions::default();
                let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
                (
                    Client::try_from(config.expect("a usable one")).expect("a client"),
                    None,
                )
            }
        };
        let n = NAMESPACES.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("client-it-{}-{n}", std::process::id());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let mut object = Namespace::default();
        object.metadata.name = Some(namespace.clone());
        let made = namespaces.create(&PostParams::default(), &object).await;
        made.expect("a namespace");
        Self {
            client,
            namespace,
            _cluster: cluster,
        }
    }

    /// Leaves nothing behind on a server that goes on, and that may have no controller to empty namespaces.
    pub(crate) async fn clean_up(self) {
        let everything = (DeleteParams::default(), ListParams::default());
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        maps.delete_collection(&everything.0, &everything.1)
            .await
            .expect("maps that can be deleted");
        accounts
            .delete_collection(&everything.0, &everything.1)
            .await
            .expect("accounts that can be deleted");
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces
            .delete(&self.namespace, &DeleteParams::default())
            .await
            .expect("a namespace that can be deleted");
        let empty = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}, "spec": {"finalizers": []},
        });
        let path = format!("/api/v1/namespaces/{}/finalize", self.namespace);
        let finalize = RestClient::new(self.client)
            .put()
            .abs_path(path)
            .json(&empty);
        // A server that empties namespaces has done so already.
        if let Err(error) = finalize.send().await {
            assert!(error.is_not_found() || error.is_conflict(), "{error}");
        }
    }
}

/// A ConfigMap with one value.
pub(crate) fn map(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map.data = Some([("value".to_owned(), value.to_owned())].into());
    map
}
