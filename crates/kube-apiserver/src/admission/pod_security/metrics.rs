//! The metrics of Pod Security, by the names of kube-apiserver.

use kubewright_apiserver::{
    admission::{Attributes, Operation},
    request::RequestContext,
};
use kubewright_metrics::{Collect, Counter, CounterVec, TextWriter};

use super::policy::{PodSecurityLevel, PodSecurityVersion, Standard};

/// The minor version of the newest standards that the server knows.
const NEWEST_MINOR: u64 = 36;

/// The metrics of Pod Security. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct PodSecurityMetrics {
    evaluations: CounterVec<7>,
    /// The evaluations of most pods: created, and updated, in namespaces where everything is allowed.
    privileged: [Counter; 2],
    exemptions: CounterVec<3>,
    errors: CounterVec<4>,
}

/// The labels of a request: its operation, the kind of its resource, and the subresource.
#[derive(Clone, Copy)]
pub(super) struct Labels<'a> {
    operation: &'static str,
    resource: &'static str,
    subresource: &'a str,
}

/// A mode of a policy.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    Enforce,
    Audit,
    Warn,
}

impl Default for PodSecurityMetrics {
    fn default() -> Self {
        let evaluations = CounterVec::new(
            "pod_security_evaluations_total",
            "Evaluations of policies, without those of requests that are ignored or exempt.",
            [
                "decision",
                "mode",
                "policy_level",
                "policy_version",
                "request_operation",
                "resource",
                "subresource",
            ],
        );
        // The usual ones exist from the start.
        let privileged = ["create", "update"].map(|operation| {
            let labels = [
                "allow",
                "enforce",
                "privileged",
                "latest",
                operation,
                "pod",
                "",
            ];
            evaluations.with(labels)
        });
        let metrics = Self {
            evaluations,
            privileged,
            exemptions: CounterVec::new(
                "pod_security_exemptions_total",
                "Requests that are exempt, without those that are ignored.",
                ["request_operation", "resource", "subresource"],
            ),
            errors: CounterVec::new(
                "pod_security_errors_total",
                "Errors that prevented the usual evaluation. After one that is not fatal, the latest restricted policy may have been evaluated.",
                ["fatal", "request_operation", "resource", "subresource"],
            ),
        };
        for operation in ["create", "update"] {
            for resource in ["pod", "controller"] {
                metrics.exemptions.with([operation, resource, ""]);
            }
        }
        metrics
    }
}

impl<'a> Labels<'a> {
    pub(super) fn of(cx: &'a RequestContext, attributes: &Attributes<'_>) -> Self {
        Self {
            operation: match attributes.operation {
                Operation::Create => "create",
                _ => "update",
            },
            resource: match (cx.info.group.as_str(), cx.info.resource.as_str()) {
                ("", "pods") => "pod",
                ("", "namespaces") => "namespace",
                _ => "controller",
            },
            subresource: &cx.info.subresource,
        }
    }
}

impl Mode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Audit => "audit",
            Self::Warn => "warn",
        }
    }
}

impl PodSecurityMetrics {
    /// Counts the evaluation of a pod in a namespace where everything is allowed.
    pub(super) fn evaluated_privileged(&self, labels: Labels<'_>) {
        let [create, update] = &self.privileged;
        match labels {
            Labels {
                operation: "create",
                subresource: "",
                ..
            } => create.inc(),
            Labels {
                operation: "update",
                subresource: "",
                ..
            } => update.inc(),
            _ => self.evaluated(labels, Mode::Enforce, Standard::default(), true),
        }
    }

    /// Counts an evaluation.
    pub(super) fn evaluated(
        &self,
        labels: Labels<'_>,
        mode: Mode,
        standard: Standard,
        is_allowed: bool,
    ) {
        let version = match (standard.level, standard.version) {
            (PodSecurityLevel::Privileged, _) => "latest".to_owned(),
            (_, PodSecurityVersion::Minor(minor)) if minor > NEWEST_MINOR => "future".to_owned(),
            (_, version) => version.to_string(),
        };
        let level = standard.level.to_string();
        let Labels {
            operation,
            resource,
            subresource,
        } = labels;
        let decision = if is_allowed { "allow" } else { "deny" };
        let labels = [
            decision,
            mode.as_str(),
            &level,
            &version,
            operation,
            resource,
            subresource,
        ];
        self.evaluations.with(labels).inc();
    }

    /// Counts a request that is exempt.
    pub(super) fn exempted(&self, labels: Labels<'_>) {
        let labels = [labels.operation, labels.resource, labels.subresource];
        self.exemptions.with(labels).inc();
    }

    /// Counts an error because of which nothing was evaluated.
    pub(super) fn failed(&self, labels: Labels<'_>) {
        self.count_error("true", labels);
    }

    /// Counts an error in the labels of a namespace, in spite of which a policy is evaluated.
    pub(super) fn passed_over(&self, labels: Labels<'_>) {
        self.count_error("false", labels);
    }

    /// Writes the metrics.
    pub(crate) fn collect(&self, out: &mut TextWriter) {
        self.errors.collect(out);
        self.evaluations.collect(out);
        self.exemptions.collect(out);
    }

    fn count_error(&self, fatal: &str, labels: Labels<'_>) {
        let Labels {
            operation,
            resource,
            subresource,
        } = labels;
        let labels = [fatal, operation, resource, subresource];
        self.errors.with(labels).inc();
    }
}
