//! Admission and conversion webhooks.
//!
//! | trait or type | purpose |
//! |---|---|
//! | [`Defaulter`] | changes a typed object before it is stored |
//! | [`Validator`] | allows or rejects the creation, update and deletion of a typed object |
//! | [`Converter`] | converts objects between the versions of their kind |
//! | [`Handler`] | handles reviews of any kind |
//! | [`Webhook`] | one of the above with its path, rules and policies |
//! | [`Webhooks`] | all webhooks of a program, as a `tower::Service` |
//! | [`WebhookServer`] | serves them over TLS |
//!
//! An operator registers them with `operator.defaulter(..)`, `operator.validator(..)` and `operator.conversion::<A, B>()`.
//! The crate also works without an operator or a manager:
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kubewright_controller::Result;
//! use kubewright_webhook::{Admission, FieldErrors, Validator, Webhooks};
//!
//! struct Registry {
//!     allowed: String,
//! }
//!
//! impl Validator<Pod> for Registry {
//!     async fn validate(&self, ctx: &Admission<'_>, pod: &Pod) -> Result<()> {
//!         let mut errors = FieldErrors::new();
//!         let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
//!         for (i, container) in containers.enumerate() {
//!             let image = container.image.as_deref().unwrap_or_default();
//!             if !image.starts_with(&self.allowed) {
//!                 let detail = format!("must come from {}", self.allowed);
//!                 errors.invalid(format!("spec.containers[{i}].image"), image, detail);
//!             }
//!             if image.ends_with(":latest") {
//!                 ctx.warn(format!("{image} changes under your feet"));
//!             }
//!         }
//!         errors.into_result()
//!     }
//! }
//!
//! let webhooks = Webhooks::builder()
//!     .validator(Registry { allowed: "registry.example.com/".into() })
//!     .build()?;
//! assert_eq!(webhooks.admission()[0].path(), "/validate--v1-pod");
//! # Ok::<(), kubewright_webhook::WebhookError>(())
//! ```

mod admission;
mod bodies;
mod certificates;
mod conversion;
mod converter;
mod defaulter;
mod error;
mod field_errors;
mod handler;
mod journal;
mod members;
mod metrics;
mod patch;
mod registration;
mod review;
mod server;
mod validator;
mod webhook;
mod webhooks;

pub use admission::{Admission, Undecodable};
pub use certificates::{CertificateError, Certificates, ManagedCertificates, Presented};
pub use converter::Converter;
pub use defaulter::Defaulter;
pub use error::{NoClient, WebhookError};
pub use field_errors::FieldErrors;
pub use handler::Handler;
pub use patch::PatchOperation;
pub use registration::{
    FailurePolicy, MatchCondition, MatchPolicy, Registration, ReinvocationPolicy, Rule,
    SideEffects, WebhookType,
};
pub use review::{AdmissionRequest, AdmissionResponse, Operation, UserInfo};
pub use server::WebhookServer;
pub use validator::{SchemaValidator, Validator};
pub use webhook::Webhook;
pub use webhooks::{Webhooks, WebhooksBuilder};
