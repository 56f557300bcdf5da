//! [`Target`]: a server, a namespace on it, and the running controller, with the permissions of `config/rbac.yaml`.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use ingress_manager::ingress::{ANNOTATION, backend};
use k8s_openapi::api::{
    core::v1::{Namespace, Service, ServiceAccount},
    networking::v1::Ingress,
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
};
use kube::{
    Client, Config,
    api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_controller::{
    Manager, ManagerBuilder, ManagerError,
    wait::{wait_for, wait_for_deletion},
};
use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

/// The time limit for waits.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A server with a namespace for one test.
pub(crate) struct Target {
    /// The administrator's client.
    pub(crate) client: Client,
    /// The controller's client: on a cluster in this process, that of its service account.
    pub(crate) own_client: Client,
    pub(crate) namespace: String,
    pub(crate) services: Api<Service>,
    pub(crate) ingresses: Api<Ingress>,
    _cluster: Option<TestCluster>,
}

/// The controller, running in its own task.
pub(crate) struct Running {
    pub(crate) manager: Manager,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ManagerError>>,
}

impl Target {
    pub(crate) async fn start() -> Self {
        static NAMESPACES: AtomicU32 = AtomicU32::new(0);
        let (client, cluster) = match std::env::var_os("KUBEWRIGHT_TEST_KUBECONFIG") {
            None => {
                let cluster = TestCluster::builder().rbac().start().await;
                (cluster.client(), Some(cluster))
            }
            Some(path) => {
                let kubeconfig = Kubeconfig::read_from(path).expect("a kubeconfig");
                let options = KubeConfigOptions::default();
                let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
                let client = Client::try_from(config.expect("a usable one"));
                (client.expect("a client"), None)
            }
        };
        let n = NAMESPACES.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("ingress-it-{}-{n}", std::process::id());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let mut object = Namespace::default();
        object.metadata.name = Some(namespace.clone());
        let made = namespaces.create(&PostParams::default(), &object).await;
        made.expect("a namespace");
        let own_client = match &cluster {
            None => client.clone(),
            Some(cluster) => {
                apply_permissions(&client, &namespace).await;
                let user = format!("system:serviceaccount:{namespace}:ingress-manager");
                cluster.client_as(&user)
            }
        };
        Self {
            own_client,
            services: Api::namespaced(client.clone(), &namespace),
            ingresses: Api::namespaced(client.clone(), &namespace),
            client,
            namespace,
            _cluster: cluster,
        }
    }

    /// Starts a server with the controller running.
    pub(crate) async fn with_controller() -> (Self, Running) {
        let target = Self::start().await;
        let running = target.run();
        (target, running)
    }

    /// Returns the builder of a manager for this namespace.
    pub(crate) fn manager(&self) -> ManagerBuilder {
        Manager::builder(self.own_client.clone()).namespaces([&self.namespace])
    }

    pub(crate) fn run(&self) -> Running {
        Running::start(self.manager().build().expect("a manager"))
    }

    pub(crate) async fn create(&self, name: &str, annotated: bool, port: i32) -> Service {
        self.create_service(&service(name, annotated, port)).await
    }

    pub(crate) async fn create_service(&self, service: &Service) -> Service {
        let made = self.services.create(&PostParams::default(), service).await;
        made.expect("a service")
    }

    pub(crate) async fn create_ingress(&self, ingress: &Ingress) -> Ingress {
        let made = self.ingresses.create(&PostParams::default(), ingress).await;
        made.expect("an ingress")
    }

    pub(crate) async fn delete_service(&self, name: &str) {
        let gone = self.services.delete(name, &DeleteParams::default()).await;
        gone.expect("a service to delete");
    }

    pub(crate) async fn delete_ingress(&self, name: &str) {
        let gone = self.ingresses.delete(name, &DeleteParams::default()).await;
        gone.expect("an ingress to delete");
    }

    pub(crate) async fn annotate(&self, name: &str, value: Option<&str>) {
        let patch = json!({"metadata": {"annotations": {ANNOTATION: value}}});
        self.patch_service(name, patch).await;
    }

    pub(crate) async fn patch_service(&self, name: &str, patch: Value) {
        self.services
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("a service to change");
    }

    pub(crate) async fn patch_ingress(&self, name: &str, patch: Value) -> Ingress {
        self.ingresses
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("an ingress to change")
    }

    /// Waits for an Ingress that routes to this port of the Service with its name.
    pub(crate) async fn leads_to(&self, name: &str, port: i32) -> Ingress {
        let wanted = |ingress: Option<&Ingress>| {
            ingress.and_then(backend) == Some(("example.com", name, port))
        };
        let ingress = wait_for(&self.ingresses, name, LONG, wanted).await;
        ingress.expect("an ingress in time").expect("an ingress")
    }

    pub(crate) async fn gone(&self, name: &str) {
        wait_for_deletion(&self.ingresses, name, None, LONG)
            .await
            .expect("no ingress, in time");
    }

    /// Waits until all changes of Services so far are processed: a Service created now is processed after them.
    pub(crate) async fn caught_up(&self) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("last-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.create(&name, true, 80).await;
        self.leads_to(&name, 80).await;
        self.delete_service(&name).await;
        self.gone(&name).await;
    }

    /// Cleans up on a server that keeps running and may not empty namespaces itself.
    pub(crate) async fn clean_up(self) {
        let (how, all) = (DeleteParams::default(), ListParams::default());
        for service in self.services.list(&all).await.expect("services") {
            let name = service.metadata.name.expect("a name");
            self.delete_service(&name).await;
        }
        let gone = self.ingresses.delete_collection(&how, &all).await;
        gone.expect("ingresses to delete");
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let gone = namespaces.delete(&self.namespace, &how).await;
        gone.expect("a namespace to delete");
        let empty = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": self.namespace}, "spec": {"finalizers": []},
        });
        // A server that empties namespaces has already done so.
        let _ = namespaces
            .replace_subresource("finalize", &self.namespace, &PostParams::default(), &empty)
            .await;
    }
}

impl Running {
    pub(crate) fn start(manager: Manager) -> Self {
        ingress_manager::builder()
            .build(&manager, ingress_manager::reconcile)
            .expect("a controller");
        let (stop, stopped) = oneshot::channel::<()>();
        let run = manager.clone();
        let task = tokio::spawn(async move {
            run.run(async {
                let _ = stopped.await;
            })
            .await
        });
        Self {
            manager,
            stop,
            task,
        }
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        let ended = self.task.await.expect("no panic");
        ended.expect("a manager that ends well");
    }
}

/// Creates the objects of the manifest, with the service account in another namespace.
async fn apply_permissions(client: &Client, namespace: &str) {
    let manifest = include_str!("../../config/rbac.yaml");
    let manifest = manifest.replace("namespace: default", &format!("namespace: {namespace}"));
    for document in manifest.split("\n---\n") {
        let object: Value = serde_saphyr::from_str(document).expect("YAML");
        let everywhere = client.clone();
        match object["kind"].as_str().expect("a kind") {
            "ServiceAccount" => {
                make::<ServiceAccount>(Api::namespaced(everywhere, namespace), object).await;
            }
            "ClusterRole" => make::<ClusterRole>(Api::all(everywhere), object).await,
            "ClusterRoleBinding" => make::<ClusterRoleBinding>(Api::all(everywhere), object).await,
            "Role" => make::<Role>(Api::namespaced(everywhere, namespace), object).await,
            "RoleBinding" => {
                make::<RoleBinding>(Api::namespaced(everywhere, namespace), object).await;
            }
            other => panic!("{other} in the manifest"),
        }
    }
}

async fn make<K>(api: Api<K>, object: Value)
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned + serde::Serialize,
{
    let object: K = serde_json::from_value(object).expect("an object of its kind");
    let made = api.create(&PostParams::default(), &object).await;
    made.expect("an object of the manifest");
}

pub(crate) fn service(name: &str, annotated: bool, port: i32) -> Service {
    let mut service: Service = serde_json::from_value(json!({
        "metadata": {"name": name}, "spec": {"ports": [{"port": port}]},
    }))
    .expect("a service");
    if annotated {
        let annotations = service.metadata.annotations.get_or_insert_default();
        annotations.insert(ANNOTATION.into(), "true".into());
    }
    service
}
