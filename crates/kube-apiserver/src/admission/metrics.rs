//! [`AdmissionMetrics`]: the metrics of the admission plugins, by the names of kube-apiserver.

use kubewright_metrics::TextWriter;

use super::{pod_security::PodSecurityMetrics, policy::PolicyMetrics, webhook::WebhookMetrics};

/// The metrics of all admission plugins. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct AdmissionMetrics {
    pub(crate) webhooks: WebhookMetrics,
    pub(crate) policies: PolicyMetrics,
    pub(crate) pod_security: PodSecurityMetrics,
}

impl AdmissionMetrics {
    /// Writes the metrics.
    pub(crate) fn collect(&self, out: &mut TextWriter) {
        self.webhooks.collect(out);
        self.policies.collect(out);
        self.pod_security.collect(out);
    }
}
