//! An operator that runs web applications.
//!
//! For each `WebApp` it keeps a Deployment, a Service, a ConfigMap and, if the app has a host, an Ingress and a DNS record. The
//! Deployment is rolled when the configuration changes, or the Secret that the app refers to.
//!
//! | module | contents |
//! |---|---|
//! | [`api`] | the kind, in two versions, and the conversion between them |
//! | [`controller`] | what is done about a `WebApp` |
//! | [`objects`] | the objects that a `WebApp` owns, as pure functions |
//! | [`dns`] | the records outside of the cluster |

#[allow(clippy::duplicated_attributes, reason = "columns may share a type")]
pub mod api;
pub mod controller;
pub mod dns;
pub mod objects;

use kubewright::operator::Operator;

/// The flags of this operator, beside those of every operator.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Flags {
    /// IngressClass of the Ingresses. Defaults to the default class of the cluster.
    #[arg(long, default_value = "")]
    pub ingress_class: String,
}

/// Registers the APIs and controllers of this operator.
pub fn register(operator: &mut Operator, flags: Flags) {
    operator.version(env!("CARGO_PKG_VERSION"));
    api::register(operator);
    controller::register(operator, flags, dns::Dns::default());
}
