//! An operator: APIs, the controllers for them, and a program around both.
//!
//! What an operator is made of is said in one function. The program runs it; tests run it on a cluster of their own; the
//! tool asks it to describe itself and makes manifests of the answer.
//!
//! ```
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kubewright::{
//!     controller::{Action, Context, Controller, Error, Request},
//!     operator::Operator,
//! };
//!
//! pub fn register(operator: &mut Operator) {
//!     operator.controller(Controller::for_::<ConfigMap>().owns::<Secret>(), reconcile);
//! }
//!
//! async fn reconcile(_: Context, _: Request) -> Result<Action, Error> {
//!     Ok(Action::done())
//! }
//!
//! let model = Operator::of("keeper", register).model().unwrap();
//! assert_eq!(model.controllers[0].name, "configmap");
//! assert_eq!(model.controllers[0].owns[0].kind, "Secret");
//! assert!(model.rules.iter().any(|rule| rule.resources == ["secrets"]));
//! ```
//!
//! The program is one line: `kubewright::operator::main(env!("CARGO_PKG_NAME"), register)`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`model`] | [`Model`]: what an operator says of itself |
//! | `rules` | the permissions that its controllers need |
//! | `definitions` | one definition of several versions, and how they get to a cluster |
//! | `conversion` | [`Converter`]: objects from version to version |
//! | `webhook` | [`ConversionWebhook`]: the endpoint that a cluster calls to have them converted |
//! | `program` | [`main()`]: flags, logs, health, metrics, signals |

mod conversion;
mod definitions;
pub mod model;
mod program;
mod rules;
#[cfg(test)]
mod tests;
mod webhook;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright_controller::{Builder, Manager, ManagerError, Reconciler, wait::WaitError};
use kubewright_resource::CustomKind;

pub use conversion::Converter;
pub use model::{ControllerModel, KindModel, Model, RuleModel};
pub use program::main;
pub use webhook::ConversionWebhook;

/// What an operator is made of.
pub struct Operator {
    name: String,
    version: Option<String>,
    definitions: Vec<CustomResourceDefinition>,
    controllers: Vec<Part>,
    rules: Vec<RuleModel>,
    converter: Converter,
}

/// Why an operator cannot be described, installed or run.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// Not exactly one version of a kind is stored.
    #[error(
        "{stored} of {versions} versions of {name} are stored: write `storage = false` in #[kube(...)] of all but one"
    )]
    Storage {
        /// The definition: `captains.crew.example.com`.
        name: String,
        /// How many versions it has.
        versions: usize,
        /// How many of them are stored.
        stored: usize,
    },
    /// Versions of a kind do not agree on its names or its scope.
    #[error("the versions of {name} differ in {what}: make them equal")]
    Versions {
        /// The definition.
        name: String,
        /// Where they differ.
        what: &'static str,
    },
    /// Types that are no versions of one kind are to convert into each other.
    #[error("{0} and {1} do not convert into each other: let both be versions of one kind")]
    Conversion(String, String),
    /// There is no certificate to convert with.
    #[error("the certificate in {directory} cannot be used: {why}")]
    Certificate {
        /// Where it should be.
        directory: String,
        /// Why not.
        why: String,
    },
    /// The cluster refused a definition.
    #[error("cannot install {name}: {cause}")]
    Install {
        /// The definition.
        name: String,
        /// Why.
        cause: kube::Error,
    },
    /// A definition did not become usable.
    #[error("{name} was not established: {cause}")]
    Establish {
        /// The definition.
        name: String,
        /// Why.
        cause: WaitError<kube::Error>,
    },
}

/// Puts a controller on a manager.
type Start = Box<dyn FnOnce(&Manager) -> Result<(), ManagerError> + Send>;

/// A controller to be.
struct Part {
    model: ControllerModel,
    start: Start,
}

impl Operator {
    /// The operator that a function registers. The name is that of the program: it owns the fields that it applies.
    pub fn of(name: &str, register: impl FnOnce(&mut Operator)) -> Operator {
        let mut operator = Operator {
            name: name.to_owned(),
            version: None,
            definitions: Vec::new(),
            controllers: Vec::new(),
            rules: Vec::new(),
            converter: Converter::default(),
        };
        register(&mut operator);
        operator
    }

    /// Has a version, which manifests name: `env!("CARGO_PKG_VERSION")`.
    pub fn version(&mut self, version: &str) -> &mut Self {
        self.version = Some(version.to_owned());
        self
    }

    /// Has an API: a version of a kind. A kind whose schema comes from schemars alone becomes one by
    /// [`custom_kind!`](crate::custom_kind).
    pub fn api<K: CustomKind>(&mut self) -> &mut Self {
        self.definitions.push(K::definition());
        self
    }

    /// Has a controller. What it watches and owns, it may read and write.
    pub fn controller(&mut self, builder: Builder, reconciler: impl Reconciler) -> &mut Self {
        let model = ControllerModel::of(&builder);
        let start = Box::new(move |manager: &Manager| builder.build(manager, reconciler).map(drop));
        self.controllers.push(Part { model, start });
        self
    }

    /// Needs a permission that does not follow from what its controllers watch and own.
    pub fn rule(&mut self, group: &str, resources: &[&str], verbs: &[&str]) -> &mut Self {
        self.permit(RuleModel::new(group, resources, verbs))
    }

    /// Needs a permission of any form: for named objects, for URLs, in one namespace, in a role of its own.
    ///
    /// ```
    /// use kubewright::operator::{Operator, RuleModel};
    ///
    /// fn register(operator: &mut Operator) {
    ///     operator
    ///         .permit(RuleModel::new("", &["secrets"], &["get"]).named(&["crew-token"]).within("vault"))
    ///         .permit(RuleModel::urls(&["/metrics"], &["get"]));
    /// }
    /// # assert_eq!(Operator::of("crew", register).model().unwrap().rules.len(), 2);
    /// ```
    pub fn permit(&mut self, rule: RuleModel) -> &mut Self {
        self.rules.push(rule);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says of itself.
    pub fn model(&self) -> Result<Model, OperatorError> {
        let controllers: Vec<ControllerModel> = self
            .controllers
            .iter()
            .map(|part| part.model.clone())
            .collect();
        let mut rules = rules::of_controllers(&controllers);
        rules.extend(self.rules.iter().cloned());
        Ok(Model {
            model: model::VERSION,
            name: self.name.clone(),
            version: self.version.clone(),
            definitions: self.definitions()?,
            conversions: self.converter.definitions(),
            controllers,
            rules,
        })
    }

    /// Hands the controllers to a manager, which runs them.
    pub fn add_to(self, manager: &Manager) -> Result<(), ManagerError> {
        for part in self.controllers {
            (part.start)(manager)?;
        }
        Ok(())
    }
}
