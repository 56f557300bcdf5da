//! [`Operator`]: the APIs, controllers, conversions and permissions that a program registers.

use kube::core::ApiResource;
use kubewright_controller::{ControllerBuilder, Manager, ManagerError, Reconciler};
use kubewright_resource::{CrdError, CustomKind};
use serde_json::Value;

use crate::{
    converter::Converter,
    error::OperatorError,
    model::{ControllerModel, KindModel, Model, PolicyRule},
    rbac,
};

/// The APIs, controllers, conversions and permissions of an operator.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_controller::{Action, Context, Controller, Error, Request};
/// use kubewright_operator::Operator;
///
/// fn register(operator: &mut Operator) {
///     operator
///         .version("1.2.0")
///         .controller(Controller::for_::<ConfigMap>().owns::<Secret>(), reconcile)
///         .rule("", &["pods/log"], &["get"]);
/// }
///
/// async fn reconcile(_: Context, _: Request) -> Result<Action, Error> {
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
    controllers: Vec<Registered>,
    rules: Vec<PolicyRule>,
    pub(crate) converter: Converter,
}

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
    /// The name is that of the program, and the field manager of what the operator applies.
    pub fn new(name: &str, register: impl FnOnce(&mut Operator)) -> Operator {
        let mut operator = Operator {
            name: name.to_owned(),
            version: None,
            apis: Vec::new(),
            controllers: Vec::new(),
            rules: Vec::new(),
            converter: Converter::default(),
        };
        register(&mut operator);
        operator
    }

    /// Sets the version that manifests show; usually `env!("CARGO_PKG_VERSION")`.
    pub fn version(&mut self, version: &str) -> &mut Self {
        self.version = Some(version.to_owned());
        self
    }

    /// Adds an API: one version of a kind.
    ///
    /// A type whose schema comes from schemars alone implements [`CustomKind`] through
    /// [`custom_kind!`](kubewright_resource::custom_kind). An invalid CustomResourceDefinition is reported by
    /// [`model`](Self::model), [`crds`](Self::crds) and [`install`](Self::install).
    pub fn api<K: CustomKind>(&mut self) -> &mut Self {
        self.apis.push(K::manifest());
        self
    }

    /// Adds a controller. Its permissions follow from the kinds it watches and owns.
    pub fn controller(
        &mut self,
        builder: ControllerBuilder,
        reconciler: impl Reconciler,
    ) -> &mut Self {
        let model = controller_model(&builder);
        let start = Box::new(move |manager: &Manager| builder.build(manager, reconciler).map(drop));
        self.controllers.push(Registered { model, start });
        self
    }

    /// Adds a permission that does not follow from the kinds its controllers watch and own.
    pub fn rule(&mut self, group: &str, resources: &[&str], verbs: &[&str]) -> &mut Self {
        self.permit(PolicyRule::new(group, resources, verbs))
    }

    /// Adds a permission of any form: for named objects, for URLs, for one namespace, in a separate role.
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
    /// Fails if a CustomResourceDefinition is not valid, or if versions or conversions contradict each other.
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
            conversions: self.converter.crds(),
            controllers,
            rules,
            ..Model::new(&self.name)
        })
    }

    /// Adds the controllers to a manager, which runs them.
    ///
    /// # Errors
    ///
    /// Fails if the manager does not accept a controller, for example because its name is taken.
    pub fn add_to(self, manager: &Manager) -> Result<(), ManagerError> {
        for controller in self.controllers {
            (controller.start)(manager)?;
        }
        Ok(())
    }
}

fn controller_model(builder: &ControllerBuilder) -> ControllerModel {
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
