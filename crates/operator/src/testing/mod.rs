//! [`OperatorCluster`]: an operator on a test cluster, in one line.

mod roles;
mod webhooks;

use std::ops::Deref;

use kubewright_controller::{BoxError, Manager, ManagerBuilder, ManagerError};
use kubewright_testing::{Controllers, Installable, RunningManager, TestCluster};

use crate::{Operator, OperatorError, names::Names, program::permissions_directory};

/// A test cluster on which an operator runs, with the built-in controllers for namespaces, garbage collection and service
/// accounts. It is a [`TestCluster`].
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
/// // Its owner gone, the Secret is garbage-collected.
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
    /// Returns the user that the operator runs as on a test cluster: the ServiceAccount that `kubewright generate` gives it.
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

    /// Installs the operator on a test cluster: its CustomResourceDefinitions, the conversions of their objects, its
    /// ServiceAccount, its roles, which are those that `kubewright generate` writes, and its webhooks, which the cluster calls
    /// in the same process. Switches RBAC on.
    ///
    /// # Errors
    ///
    /// Fails as [`install`](Self::install) does, or if the cluster rejects a role.
    pub async fn install_on(&self, cluster: &TestCluster) -> Result<(), OperatorError> {
        self.route(cluster)?;
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
        rules.extend(model.rules);
        let applied = roles::apply_roles(&client, &self.name, &rules).await;
        applied.map_err(OperatorError::Roles)?;
        self.apply_configurations(cluster).await
    }

    /// Starts a test cluster with the built-in controllers, installs the operator on it, and runs it.
    ///
    /// The operator runs as its [own ServiceAccount](Self::test_user), with the permissions of its roles, while
    /// [`client`](TestCluster::client) stays the administrator. [`settled`](TestCluster::settled) fails once the operator is
    /// denied a request, and names the rule to add. Programs that expect to be denied something call
    /// [`tolerate_denied`](TestCluster::tolerate_denied).
    ///
    /// # Errors
    ///
    /// Fails as [`install_on`](Self::install_on) and [`add_to`](Self::add_to) do.
    pub async fn start_test(self) -> Result<OperatorCluster, OperatorError> {
        self.start_on(TestCluster::start().await).await
    }

    /// Does the same on a cluster that exists already, which may have objects and faults.
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

/// An operator is perturbed with its definitions installed, under its own roles, and with the built-in controllers running.
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
