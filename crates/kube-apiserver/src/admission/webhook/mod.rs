//! Admission webhooks: code outside the server that may change or reject requests.
//!
//! | file | contents |
//! |---|---|
//! | `hook` | [`Hook`](hook::Hook): one webhook of a configuration |
//! | `index` | the webhooks of all configurations, as new as the store |
//! | `review` | `AdmissionReview`: the request that is sent, and the checks of the response |
//! | `conditions` | match conditions |
//! | `call` | one call, from the review to a verified response |
//! | `denial` | the answer to a request that a webhook denied |
//! | `mutating`, `validating` | the two plugins |
//! | `reinvocation` | the webhooks that a second mutating pass calls again |
//! | `metrics` | metrics by the names of kube-apiserver |
//!
//! Without configurations a request costs one comparison.

mod call;
mod conditions;
mod denial;
mod hook;
mod index;
mod metrics;
mod mutating;
mod reinvocation;
mod review;
mod validating;

use std::sync::Arc;

use kubewright_apiserver::{
    admission::Attributes, registry::BlockingPool, request::RequestContext,
};
use kubewright_machinery::{Status, status};

use super::{
    matching::{Request, is_exempt_from_webhooks},
    stored::Stored,
};
use crate::{follow::Following, kinds::Environment, outgoing::Outgoing};
use hook::Hook;

pub(crate) use index::{Configurations, Family, GROUP, Mutating, Validating};
pub(crate) use metrics::WebhookMetrics;
pub(crate) use mutating::MutatingAdmissionWebhook;
pub(crate) use validating::ValidatingAdmissionWebhook;

/// The webhooks of one kind of configurations, and the means to call them.
pub(crate) struct Webhooks<F: Family> {
    configurations: Arc<Following<Configurations<F>>>,
    stored: Stored,
    compiler: BlockingPool,
    outgoing: Outgoing,
    metrics: WebhookMetrics,
}

impl<F: Family> Webhooks<F> {
    pub(crate) fn new(
        environment: &Environment,
        configurations: &Arc<Following<Configurations<F>>>,
        metrics: &WebhookMetrics,
    ) -> Self {
        Self {
            configurations: configurations.clone(),
            stored: Stored(environment.store.clone()),
            compiler: environment.compiler.clone(),
            outgoing: environment.outgoing.clone(),
            metrics: metrics.clone(),
        }
    }

    /// Returns the webhooks in order, or `None` if there are none for such a request.
    async fn hooks(&self, cx: &RequestContext) -> Result<Option<Arc<[Arc<Hook>]>>, Status> {
        let hooks = {
            let index = self.configurations.index().await;
            index.map_err(status::internal)?.hooks().clone()
        };
        if hooks.is_empty() {
            return Ok(None);
        }
        let attributes = Attributes::connect("");
        let concerned = concern(&hooks, &Request::new(cx, &attributes));
        Ok(concerned.then_some(hooks))
    }

    /// Reports whether a webhook may be called for a request to this resource.
    fn concern(&self, cx: &RequestContext) -> bool {
        let attributes = Attributes::connect("");
        let request = Request::new(cx, &attributes);
        let concerned = |index: &Configurations<F>| concern(index.hooks(), &request);
        // If it has to be read first, the request must be read too.
        self.configurations.peek(concerned).unwrap_or(true)
    }
}

fn concern(hooks: &[Arc<Hook>], request: &Request<'_>) -> bool {
    !hooks.is_empty()
        && !is_exempt_from_webhooks(request.kind)
        && hooks.iter().any(|hook| hook.criteria.concerns(request))
}
