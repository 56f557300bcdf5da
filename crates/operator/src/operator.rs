//! [`Operator`]: the APIs, controllers, webhooks and permissions that a program registers.

use std::{collections::BTreeMap, sync::OnceLock};

use kube::core::ApiResource;
use kubewright_controller::{
    BoxError, ControllerBuilder, IntoReconciler, Manager, ManagerBuilder, ManagerError,
};
use kubewright_resource::{CrdError, CustomKind};
use kubewright_webhook::{Converter, WebhookError, Webhooks, WebhooksBuilder};
use serde_json::Value;

use crate::{
    error::OperatorError,
    model::{ControllerModel, KindModel, Model, PolicyRule},
    rbac,
};

/// The APIs, controllers, webhooks and permissions of an operator.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_controller::{Action, Context, Controller, Request, Result};
/// use kubewright_operator::Operator;
///
/// fn register(operator: &mut Operator) {
///     operator
///         .version("1.2.0")
///         .controller(Controller::for_::<ConfigMap>().owns::<Secret>(), reconcile)
///         .rule("", &["pods/log"], &["get"]);
/// }
///
/// async fn reconcile(_: Context, _: Request) -> Result<Action> {
///     Ok(Action::done())
/// }
///
/// let operator = Operator::new("keeper", register);
/// assert_eq!(operator.model().unwrap().version.as_deref(), Some("1.2.0"));
/// ```
pub struct Operator {
    pub(crate) name: String,
    version: Option<String>,
    pub(crate) apis: Vec<Result<Value, CrdError>>,
    sources: BTreeMap<String, BTreeMap<String, String>>,
    controllers: Vec<Registered>,
    rules: Vec<PolicyRule>,
    pub(crate) converter: Converter,
    pub(crate) webhooks: WebhooksBuilder,
    #[cfg(feature = "apiserver")]
    pub(crate) aggregated: crate::aggregated::Aggregated,
    /// The webhooks as a service, built on first use.
    pub(crate) service: OnceLock<Result<Webhooks, WebhookError>>,
    configure: Vec<Configure>,
    setup: Vec<Setup>,
}

/// Configures the manager before it is built.
type Configure = Box<dyn FnOnce(ManagerBuilder) -> ManagerBuilder + Send>;

/// Adds parts to the manager.
type Setup = Box<dyn FnOnce(&Manager) -> Result<(), BoxError> + Send>;

/// Builds a controller on a manager.
type Start = Box<dyn FnOnce(&Manager) -> Result<(), ManagerError> + Send>;

/// A registered controller, not built yet.
struct Registered {
    model: ControllerModel,
    start: Start,
}

impl Operator {
    /// Creates an operator from the function that registers its parts.
    ///
    /// The name is that of the program, and the field manager of the objects that the operator writes.
    pub fn new(name: &str, register: impl FnOnce(&mut Operator)) -> Operator {
        let mut operator = Operator {
            name: name.to_owned(),
            version: None,
            apis: Vec::new(),
            sources: BTreeMap::new(),
            controllers: Vec::new(),
            rules: Vec::new(),
            converter: Converter::new(),
            webhooks: Webhooks::builder(),
            #[cfg(feature = "apiserver")]
            aggregated: Default::default(),
            service: OnceLock::new(),
            configure: Vec::new(),
            setup: Vec::new(),
        };
        register(&mut operator);
        operator
    }

    /// Sets the version that manifests show; usually `env!("CARGO_PKG_VERSION")`.
    pub fn version(&mut self, version: &str) -> &mut Self {
        self.version = Some(version.to_owned());
        self
    }

    /// Adds an API: a version of a kind.
    ///
    /// Types whose schema is derived by schemars only implement [`CustomKind`] through
    /// [`custom_kind!`](kubewright_resource::custom_kind). An invalid CustomResourceDefinition is reported by
    /// [`model`](Self::model), [`crds`](Self::crds) and [`install`](Self::install).
    pub fn api<K: CustomKind>(&mut self) -> &mut Self {
        self.apis.push(K::manifest());
        let version = format!("{}/{}", K::crd_name(), K::version(&()));
        self.sources.insert(version, K::sources());
        self
    }

    /// Adds a controller. Its permissions follow from the kinds it watches and owns.
    ///
    /// Its field manager is the name of the operator, unless the builder sets another.
    pub fn controller<S, Form>(
        &mut self,
        builder: ControllerBuilder<S>,
        reconciler: impl IntoReconciler<S, Form>,
    ) -> &mut Self
    where
        S: Send + Sync + 'static,
    {
        let model = controller_model(&builder);
        let builder = builder.default_field_manager(&self.name);
        let start = Box::new(move |manager: &Manager| builder.build(manager, reconciler).map(drop));
        self.controllers.push(Registered { model, start });
        self
    }

    /// Adds a function that is called with the manager before the controllers are built: for field indices, runnables, health
    /// checks and metrics.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::Group;
    /// use kubewright_operator::Operator;
    ///
    /// fn register(operator: &mut Operator) {
    ///     operator.setup(|manager| {
    ///         manager.client().index_by::<Pod>("node", |pod| {
    ///             let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    ///             node.into_iter().collect()
    ///         })?;
    ///         manager.readyz().add("disk", || Ok(()));
    ///         manager.add(Group::Others, "clock", |stop| async move {
    ///             stop.stopping().await;
    ///             Ok(())
    ///         })?;
    ///         Ok(())
    ///     });
    /// }
    /// # Operator::new("keeper", register);
    /// ```
    pub fn setup(
        &mut self,
        setup: impl FnOnce(&Manager) -> Result<(), BoxError> + Send + 'static,
    ) -> &mut Self {
        self.setup.push(Box::new(setup));
        self
    }

    /// Adds a function that configures the manager of the program before it is built: cache scopes, timeouts, defaults of
    /// controllers.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_operator::Operator;
    ///
    /// fn register(operator: &mut Operator) {
    ///     operator.configure(|manager| manager.graceful_shutdown_timeout(Duration::from_secs(5)));
    /// }
    /// # Operator::new("keeper", register);
    /// ```
    pub fn configure(
        &mut self,
        configure: impl FnOnce(ManagerBuilder) -> ManagerBuilder + Send + 'static,
    ) -> &mut Self {
        self.configure.push(Box::new(configure));
        self
    }

    /// Builds a manager with the settings of this operator, and adds the operator to it.
    ///
    /// # Errors
    ///
    /// Fails if the settings are invalid, or as [`add_to`](Self::add_to) does.
    pub fn build(mut self, manager: ManagerBuilder) -> Result<Manager, ManagerError> {
        let configure = std::mem::take(&mut self.configure);
        let manager = manager.field_manager(&self.name);
        let manager = configure.into_iter().fold(manager, |manager, f| f(manager));
        let manager = manager.build()?;
        self.add_to(&manager)?;
        Ok(manager)
    }

    /// Adds a permission that does not follow from the kinds its controllers watch and own.
    pub fn rule(&mut self, group: &str, resources: &[&str], verbs: &[&str]) -> &mut Self {
        self.permit(PolicyRule::new(group, resources, verbs))
    }

    /// Adds a permission of any form: for named objects, URLs or a namespace, or in a separate role.
    ///
    /// ```
    /// use kubewright_operator::{Operator, PolicyRule};
    ///
    /// fn register(operator: &mut Operator) {
    ///     let token = PolicyRule::new("", &["secrets"], &["get"]);
    ///     operator
    ///         .permit(token.resource_names(&["crew-token"]).namespace("vault"))
    ///         .permit(PolicyRule::urls(&["/metrics"], &["get"]));
    /// }
    /// # assert_eq!(Operator::new("crew", register).model().unwrap().rules.len(), 2);
    /// ```
    pub fn permit(&mut self, rule: PolicyRule) -> &mut Self {
        self.rules.push(rule);
        self
    }

    /// Returns the name of the operator.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description of the operator.
    ///
    /// # Errors
    ///
    /// Fails if a CustomResourceDefinition is not valid, if versions or conversions contradict each other, or if two webhooks
    /// have the same path.
    pub fn model(&self) -> Result<Model, OperatorError> {
        let controllers: Vec<ControllerModel> = self
            .controllers
            .iter()
            .map(|controller| controller.model.clone())
            .collect();
        let mut rules = rbac::rules(&controllers);
        rules.extend(self.rules.iter().cloned());
        Ok(Model {
            version: self.version.clone(),
            crds: self.crd_manifests()?,
            sources: self.sources.clone(),
            conversions: self.converter().crds(),
            #[cfg(feature = "apiserver")]
            aggregated: self.aggregated.definitions()?,
            #[cfg(feature = "apiserver")]
            subresources: self.aggregated.subresources.clone(),
            webhooks: self.webhook_models()?,
            controllers,
            rules,
            ..Model::new(&self.name)
        })
    }

    /// Adds the controllers to a manager, after running the functions of [`setup`](Self::setup). Webhooks then use the manager's
    /// client.
    ///
    /// # Errors
    ///
    /// Fails if such a function fails, if the manager does not accept a controller, for example because its name is taken,
    /// or if two webhooks have the same path.
    pub fn add_to(self, manager: &Manager) -> Result<(), ManagerError> {
        let webhooks = self.webhooks().map_err(|error| ManagerError::Runnable {
            name: "webhooks".to_owned(),
            cause: error.into(),
        })?;
        webhooks.set_client(manager.client().clone());
        webhooks.set_clock(manager.clock());
        webhooks.register_metrics(manager.registry());
        for setup in self.setup {
            setup(manager).map_err(|cause| ManagerError::Runnable {
                name: "setup".to_owned(),
                cause,
            })?;
        }
        for controller in self.controllers {
            (controller.start)(manager)?;
        }
        Ok(())
    }
}

fn controller_model<S: Send + Sync + 'static>(builder: &ControllerBuilder<S>) -> ControllerModel {
    let main = builder.main_kind().map(kind_model);
    let owns: Vec<KindModel> = builder.owned_kinds().iter().map(kind_model).collect();
    let watches = builder
        .watched_kinds()
        .map(kind_model)
        .filter(|kind| Some(kind) != main.as_ref() && !owns.contains(kind))
        .collect();
    ControllerModel {
        name: builder.name().unwrap_or_default(),
        main,
        owns,
        watches,
    }
}

fn kind_model(resource: &ApiResource) -> KindModel {
    KindModel {
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
        plural: resource.plural.clone(),
    }
}
