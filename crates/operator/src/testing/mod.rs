//! [`OperatorCluster`]: a test cluster with an operator.

#[cfg(feature = "apiserver")]
mod aggregated;
mod roles;
mod webhooks;

use std::ops::Deref;

use kubewright_controller::{BoxError, Manager, ManagerBuilder, ManagerError};
use kubewright_testing::{Controllers, Installable, RunningManager, TestCluster};

use crate::{Operator, OperatorError, names::Names, program::permissions_directory};

/// A test cluster with a running operator, and the built-in controllers for namespaces, garbage collection and service accounts.
/// Dereferences to [`TestCluster`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kube::{Api, ResourceExt};
/// use kubewright_controller::{Action, Context, Controller, Result};
/// use kubewright_operator::Operator;
///
/// fn register(operator: &mut Operator) {
///     operator.controller(Controller::for_::<ConfigMap>().owns::<Secret>(), reconcile);
/// }
///
/// async fn reconcile(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
///     let mut secret = Secret { string_data: map.data.clone(), ..Secret::default() };
///     secret.metadata.name = Some(map.name_any());
///     ctx.apply_owned(secret).await?;
///     Ok(Action::done())
/// }
///
/// let cluster = Operator::new("keeper", register).start_test().await.unwrap();
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
/// let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
/// maps.create(&Default::default(), &map).await.unwrap();
/// cluster.settled().await.unwrap();
/// assert!(secrets.get_opt("colours").await.unwrap().is_some());
///
/// // Without its owner, the Secret is garbage-collected.
/// maps.delete("colours", &Default::default()).await.unwrap();
/// cluster.settled().await.unwrap();
/// assert!(secrets.get_opt("colours").await.unwrap().is_none());
/// # });
/// ```
#[must_use = "the operator is killed when this is dropped"]
pub struct OperatorCluster {
    running: RunningManager,
    controllers: RunningManager,
    cluster: TestCluster,
}

impl Operator {
    /// Returns the user of the operator on a test cluster: the ServiceAccount that `kubewright generate` creates for it.
    ///
    /// ```
    /// use kubewright_operator::Operator;
    ///
    /// let user = Operator::new("keeper", |_| {}).test_user();
    /// assert_eq!(user, "system:serviceaccount:keeper-system:keeper-controller-manager");
    /// ```
    pub fn test_user(&self) -> String {
        Names::of(&self.name).user()
    }

    /// Installs the operator on a test cluster: its CustomResourceDefinitions and conversions, its ServiceAccount with the
    /// roles that `kubewright generate` writes, its webhooks and its aggregated APIs, both called in the same process. Enables
    /// RBAC.
    ///
    /// # Errors
    ///
    /// Fails as [`install`](Self::install) does, or if the cluster rejects a role.
    pub async fn install_on(&self, cluster: &TestCluster) -> Result<(), OperatorError> {
        self.route(cluster)?;
        #[cfg(feature = "apiserver")]
        self.serve_apis(cluster)?;
        cluster.enable_rbac().await;
        if let Some(directory) = permissions_directory() {
            cluster.record_permissions(&self.test_user(), directory);
        }
        self.install(cluster.client()).await?;
        let manager = Manager::new(cluster.client());
        let client = manager.client().clone().with_field_manager(&self.name);
        let model = self.model()?;
        let names = Names::of(&self.name);
        let mut rules = model.webhook_rules(&names.home, &names.webhook_service);
        #[cfg(feature = "apiserver")]
        rules.extend(model.apiserver_rules(&names.home, &names.apiserver));
        rules.extend(model.rules);
        let applied = roles::apply_roles(&client, &self.name, &rules).await;
        applied.map_err(OperatorError::Roles)?;
        #[cfg(feature = "apiserver")]
        self.register_apis(cluster).await?;
        self.apply_configurations(cluster).await
    }

    /// Starts a test cluster with the built-in controllers, installs the operator on it, and runs it.
    ///
    /// The operator runs as its [own ServiceAccount](Self::test_user), with the permissions of its roles, while
    /// [`client`](TestCluster::client) acts as the administrator. [`settled`](TestCluster::settled) fails if a request of the
    /// operator is denied, and names the rule to add. Call [`tolerate_denied`](TestCluster::tolerate_denied) if the operator
    /// expects denied requests.
    ///
    /// # Errors
    ///
    /// Fails as [`install_on`](Self::install_on) and [`add_to`](Self::add_to) do.
    pub async fn start_test(self) -> Result<OperatorCluster, OperatorError> {
        self.start_on(TestCluster::start().await).await
    }

    /// Starts a test cluster as [`start_test`](Self::start_test) does, with all built-in controllers, a scheduler and simulated
    /// nodes: a Deployment of the operator becomes available, and its pods run. Requires the feature `workloads`.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use kube::Api;
    /// use kubewright_controller::{Action, Context, Controller, Result};
    /// use kubewright_operator::Operator;
    /// use serde_json::{from_value, json};
    ///
    /// fn register(operator: &mut Operator) {
    ///     operator.controller(Controller::for_::<ConfigMap>().owns::<Deployment>(), reconcile);
    /// }
    ///
    /// async fn reconcile(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
    ///     let Some(image) = map.data.as_ref().and_then(|data| data.get("image")) else {
    ///         return Ok(Action::done());
    ///     };
    ///     let labels = json!({"app": map.metadata.name});
    ///     let deployment = json!({
    ///         "metadata": {"name": map.metadata.name},
    ///         "spec": {
    ///             "selector": {"matchLabels": labels},
    ///             "template": {
    ///                 "metadata": {"labels": labels},
    ///                 "spec": {"containers": [{"name": "main", "image": image}]},
    ///             },
    ///         },
    ///     });
    ///     ctx.apply_owned::<Deployment>(from_value(deployment)?).await?;
    ///     Ok(Action::done())
    /// }
    ///
    /// let cluster = Operator::new("runner", register).start_test_with_nodes(1).await.unwrap();
    /// let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    /// let map = json!({"metadata": {"name": "web"}, "data": {"image": "nginx"}});
    /// maps.create(&Default::default(), &from_value(map).unwrap()).await.unwrap();
    /// cluster.settled().await.unwrap();
    ///
    /// let deployments: Api<Deployment> = Api::default_namespaced(cluster.client());
    /// let status = deployments.get("web").await.unwrap().status.unwrap();
    /// assert_eq!(status.available_replicas, Some(1));
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Fails as [`install_on`](Self::install_on) and [`add_to`](Self::add_to) do.
    #[cfg(feature = "workloads")]
    pub async fn start_test_with_nodes(
        self,
        nodes: impl Into<kubewright_testing::Nodes>,
    ) -> Result<OperatorCluster, OperatorError> {
        let builder = TestCluster::builder().workloads().nodes(nodes);
        self.start_on(builder.start().await).await
    }

    /// Installs and runs the operator on an existing cluster, which may have objects and faults.
    ///
    /// # Errors
    ///
    /// Fails as [`install_on`](Self::install_on) and [`add_to`](Self::add_to) do.
    pub async fn start_on(self, cluster: TestCluster) -> Result<OperatorCluster, OperatorError> {
        let controllers = cluster.run_controllers(&Controllers::default());
        self.install_on(&cluster).await?;
        let user = self.test_user();
        cluster.fail_on_denied(&user);
        let manager = self.build(Manager::builder(cluster.client_as(&user)))?;
        Ok(OperatorCluster {
            running: cluster.run(&manager),
            controllers,
            cluster,
        })
    }
}

/// Perturbs an operator with its definitions installed, under its own roles, and beside the built-in controllers.
///
/// ```
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kube::{Api, ResourceExt};
/// use kubewright_controller::{Action, Context, Controller, Result};
/// use kubewright_operator::Operator;
/// use kubewright_testing::{World, perturb};
///
/// fn operator() -> Operator {
///     Operator::new("keeper", |operator| {
///         operator.controller(Controller::for_::<ConfigMap>().owns::<Secret>(), reconcile);
///     })
/// }
///
/// async fn reconcile(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
///     let mut secret = Secret::default();
///     secret.metadata.name = Some(map.name_any());
///     ctx.apply_owned(secret).await?;
///     Ok(Action::done())
/// }
///
/// async fn story(world: World) {
///     let maps: Api<ConfigMap> = Api::default_namespaced(world.client());
///     let mut map = ConfigMap::default();
///     map.metadata.name = Some("colours".into());
///     maps.create(&Default::default(), &map).await.unwrap();
/// }
///
/// perturb(operator, story).run();
/// ```
impl Installable for Operator {
    async fn install(&self, cluster: &TestCluster) -> Result<(), BoxError> {
        self.install_on(cluster).await?;
        Ok(())
    }

    fn serve(&self, cluster: &TestCluster) -> Result<(), BoxError> {
        self.route(cluster)?;
        #[cfg(feature = "apiserver")]
        self.serve_apis(cluster)?;
        Ok(())
    }

    fn user(&self) -> Option<String> {
        Some(self.test_user())
    }

    fn into_manager(self, builder: ManagerBuilder) -> Result<Manager, ManagerError> {
        self.build(builder)
    }
}

impl OperatorCluster {
    /// Returns the operator's manager.
    pub fn manager(&self) -> &Manager {
        self.running.manager()
    }

    /// Stops the operator and the built-in controllers, and returns the cluster.
    ///
    /// # Errors
    ///
    /// Returns the error that the operator ended with.
    pub async fn stop(self) -> Result<TestCluster, ManagerError> {
        self.running.stop().await?;
        self.controllers.stop().await?;
        Ok(self.cluster)
    }
}

impl Deref for OperatorCluster {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.cluster
    }
}
