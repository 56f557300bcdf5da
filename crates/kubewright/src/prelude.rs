//! The names that most files of an operator use: `use kubewright::prelude::*;`.
//!
//! ```
//! use std::sync::Arc;
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kubewright::prelude::*;
//!
//! async fn reconcile(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
//!     let mut secret = Secret { string_data: map.data.clone(), ..Secret::default() };
//!     secret.metadata.name = map.metadata.name.clone();
//!     ctx.apply_owned(secret).await?;
//!     Ok(Action::done())
//! }
//!
//! fn register(operator: &mut Operator) {
//!     operator.controller(Controller::for_::<ConfigMap>().owns::<Secret>(), reconcile);
//! }
//! # assert_eq!(Operator::new("keeper", register).model().unwrap().controllers.len(), 1);
//! ```

pub use kubewright_controller::{
    Action, Client, Context, Controller, Error, ErrorExt, Filter, Handler, Manager, Object,
    Predicate, Reconciler, Request, Result, Watch, conditions::ConditionsExt, events::EventType,
};
pub use kubewright_operator::Operator;
pub use kubewright_resource::Schema;
pub use kubewright_webhook::{Admission, Defaulter, FieldErrors, Validator, Webhook};
