//! Operators: programs that consist of APIs, controllers, webhooks and permissions.
//!
//! A single function registers all parts of an operator. The program runs it, tests run it on a cluster in the same process, and
//! the `kubewright` tool generates manifests from its [`Model`].
//!
//! ```
//! # #[cfg(feature = "runtime")] {
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kubewright_controller::{Action, Context, Controller, Request, Result};
//! use kubewright_operator::Operator;
//!
//! pub fn register(operator: &mut Operator) {
//!     operator.controller(Controller::for_::<ConfigMap>().owns::<Secret>(), reconcile);
//! }
//!
//! async fn reconcile(_: Context, _: Request) -> Result<Action> {
//!     Ok(Action::done())
//! }
//!
//! let model = Operator::new("keeper", register).model().unwrap();
//! assert_eq!(model.controllers[0].name, "configmap");
//! assert_eq!(model.controllers[0].owns[0].kind, "Secret");
//! assert!(model.rules.iter().any(|rule| rule.resources == ["secrets"]));
//! # }
//! ```
//!
//! The program is one line: `kubewright_operator::main(env!("CARGO_PKG_NAME"), register)`.
//!
//! Without the feature `runtime`, the crate contains only the model: plain serde types for tools that read it.

#[cfg(feature = "apiserver")]
mod aggregated;
mod aggregated_model;
#[cfg(feature = "runtime")]
mod crds;
#[cfg(feature = "runtime")]
mod error;
#[cfg(feature = "runtime")]
mod log;
mod model;
mod names;
#[cfg(feature = "runtime")]
mod operator;
#[cfg(feature = "runtime")]
mod program;
mod rbac;
#[cfg(feature = "testing")]
mod testing;
#[cfg(all(test, feature = "runtime"))]
mod tests;
#[cfg(feature = "runtime")]
mod webhooks;

pub use model::{
    ControllerModel, KindModel, MODEL_VERSION, Model, ModelError, PolicyRule, SubresourceModel,
    WebhookModel, WebhookType,
};

#[cfg(feature = "testing")]
pub use testing::OperatorCluster;

#[cfg(feature = "runtime")]
pub use {
    error::OperatorError,
    operator::Operator,
    program::{main, main_with_flags},
};
