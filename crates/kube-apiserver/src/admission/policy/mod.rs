//! Admission policies: expressions that validate or change objects.
//!
//! | module | contents |
//! |---|---|
//! | `index` | policies and bindings by resource, as new as the store |
//! | `candidates` | policies of a resource by the labels that they require |
//! | `definition`, `binding` | a policy and a binding, decoded |
//! | `params`, `param_cache` | the parameters of a policy, read once for each change of them |
//! | `param_access` | permissions to refer to parameters |
//! | `expression`, `conditions` | compiled expressions, their budgets, match conditions |
//! | `selection` | the policies and bindings that a request matches |
//! | `decisions` | authorization checks of expressions |
//! | `metrics` | metrics by the names of kube-apiserver |
//! | `subject` | a request with the variables of expressions |
//! | [`mutating`] | `MutatingAdmissionPolicy` |
//! | [`validating`] | `ValidatingAdmissionPolicy` |
//!
//! A policy takes effect with the write that makes it. Policies are evaluated in the order of their names, the bindings of a policy
//! in the order of theirs.

mod binding;
mod candidates;
mod conditions;
mod decisions;
mod definition;
mod expression;
mod index;
mod metrics;
pub(crate) mod mutating;
pub(crate) mod param_access;
mod param_cache;
mod params;
mod selection;
mod subject;
pub(crate) mod validating;

use kubewright_apiserver::request::RequestContext;
use serde_json::Value;

pub(crate) use conditions::{Conditions, Matched};
pub(crate) use decisions::{Decisions, request_resource};
pub(crate) use index::Index;
pub(crate) use metrics::PolicyMetrics;
pub(crate) use params::Params;

use crate::follow::Following;

/// The group of policies and bindings.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// A kind of policies with the kind of their bindings.
pub(crate) trait Family: Send + Sync + 'static {
    /// The plural name of the policies.
    const POLICIES: &'static str;
    /// The plural name of the bindings.
    const BINDINGS: &'static str;
    /// A policy that is ready to be evaluated.
    type Compiled: Send + Sync;

    /// Reports whether a resource holds the policies or the bindings.
    fn has(plural: &str) -> bool {
        plural == Self::POLICIES || plural == Self::BINDINGS
    }

    /// Compiles the spec of a policy.
    fn compile(spec: &Value) -> Self::Compiled;
}

/// The policies of a family in a store.
pub(crate) type Policies<F> = Following<Index<F>>;

/// Reports whether no policy sees requests for a resource: the policies themselves, and reviews, which are not stored.
fn is_exempt(cx: &RequestContext) -> bool {
    let info = &cx.info;
    match info.group.as_str() {
        GROUP => matches!(
            info.resource.as_str(),
            "validatingadmissionpolicies"
                | "validatingadmissionpolicybindings"
                | "mutatingadmissionpolicies"
                | "mutatingadmissionpolicybindings"
        ),
        "authentication.k8s.io" => {
            matches!(
                info.resource.as_str(),
                "selfsubjectreviews" | "tokenreviews"
            )
        }
        "authorization.k8s.io" => matches!(
            info.resource.as_str(),
            "localsubjectaccessreviews"
                | "selfsubjectaccessreviews"
                | "selfsubjectrulesreviews"
                | "subjectaccessreviews"
        ),
        _ => false,
    }
}
