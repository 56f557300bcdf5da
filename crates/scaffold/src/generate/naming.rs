//! [`Naming`]: what the same objects are called in different places.
//!
//! In `config/` names are short, and kustomize puts the project's name before them. The installer has the whole names. In a
//! chart they are what Helm makes of the release.

use serde_json::{Value, json};

/// What objects are called.
#[derive(Clone, Debug)]
pub(super) struct Naming {
    /// Stands before each name.
    prefix: String,
    /// The namespace of the operator.
    pub(super) namespace: String,
    /// The account it runs as.
    account: String,
    /// Whether it works in that namespace only.
    pub(super) namespaced: bool,
    labels: Value,
}

impl Naming {
    /// As kustomize takes them.
    pub(super) fn kustomize(project: &str, namespaced: bool) -> Self {
        Naming {
            prefix: String::new(),
            namespace: "system".to_owned(),
            account: "controller-manager".to_owned(),
            namespaced,
            labels: json!({"app.kubernetes.io/name": project}),
        }
    }

    /// As a cluster has them.
    pub(super) fn whole(project: &str, namespaced: bool) -> Self {
        Naming {
            prefix: format!("{project}-"),
            namespace: format!("{project}-system"),
            account: format!("{project}-controller-manager"),
            namespaced,
            labels: json!({"app.kubernetes.io/name": project}),
        }
    }

    /// As a chart says them. The label is a place that the chart fills.
    pub(super) fn chart(namespaced: bool) -> Self {
        Naming {
            prefix: "{{ include \"operator.fullname\" . }}-".to_owned(),
            namespace: "{{ .Release.Namespace }}".to_owned(),
            account: "{{ include \"operator.serviceAccountName\" . }}".to_owned(),
            namespaced,
            labels: json!(CHART_LABELS),
        }
    }

    pub(super) fn name(&self, short: &str) -> String {
        format!("{}{short}", self.prefix)
    }

    pub(super) fn account(&self) -> &str {
        &self.account
    }

    pub(super) fn labels(&self) -> Value {
        self.labels.clone()
    }
}

/// Where a chart puts its labels: the text after it is printed takes its place.
pub(super) const CHART_LABELS: &str = "{{ include \"operator.labels\" . }}";
