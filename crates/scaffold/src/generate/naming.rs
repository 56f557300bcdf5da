//! [`Naming`]: the names of the generated objects in each output.
//!
//! In `config/` names are short, and kustomize adds the name of the project as prefix. The installer has full names. In a
//! chart they are derived from the release.

use serde_json::{Value, json};

/// The names of generated objects.
#[derive(Clone, Debug)]
pub(super) struct Naming {
    /// The prefix of each name.
    prefix: String,
    /// The namespace of the operator.
    pub(super) namespace: String,
    /// The ServiceAccount of the operator.
    account: String,
    /// Set if the operator is restricted to that namespace.
    pub(super) namespaced: bool,
    labels: Value,
    /// The prefix and the namespace that names have in a cluster, where kustomize does not put them.
    installed: (String, String),
}

impl Naming {
    /// Returns the names for kustomize.
    pub(super) fn kustomize(project: &str, namespaced: bool) -> Self {
        Naming {
            prefix: String::new(),
            namespace: "system".to_owned(),
            account: "controller-manager".to_owned(),
            namespaced,
            labels: json!({"app.kubernetes.io/name": project}),
            installed: (format!("{project}-"), format!("{project}-system")),
        }
    }

    /// Returns the names in a cluster.
    pub(super) fn whole(project: &str, namespaced: bool) -> Self {
        Naming {
            prefix: format!("{project}-"),
            namespace: format!("{project}-system"),
            account: format!("{project}-controller-manager"),
            namespaced,
            labels: json!({"app.kubernetes.io/name": project}),
            installed: (format!("{project}-"), format!("{project}-system")),
        }
    }

    /// Returns the names for a chart. The label is a placeholder that the chart fills.
    pub(super) fn chart(namespaced: bool) -> Self {
        Naming {
            prefix: "{{ include \"operator.fullname\" . }}-".to_owned(),
            namespace: "{{ .Release.Namespace }}".to_owned(),
            account: "{{ include \"operator.serviceAccountName\" . }}".to_owned(),
            namespaced,
            labels: json!(CHART_LABELS),
            installed: (
                "{{ include \"operator.fullname\" . }}-".to_owned(),
                "{{ .Release.Namespace }}".to_owned(),
            ),
        }
    }

    pub(super) fn name(&self, short: &str) -> String {
        format!("{}{short}", self.prefix)
    }

    /// Returns the name of an object in a cluster, for fields that kustomize does not know.
    pub(super) fn installed_name(&self, short: &str) -> String {
        format!("{}{short}", self.installed.0)
    }

    /// Returns the namespace of the operator in a cluster.
    pub(super) fn installed_namespace(&self) -> &str {
        &self.installed.1
    }

    /// Returns the name of the ServiceAccount in a cluster.
    pub(super) fn installed_account(&self) -> String {
        match self.prefix.is_empty() {
            true => self.installed_name(&self.account),
            false => self.account.clone(),
        }
    }

    pub(super) fn account(&self) -> &str {
        &self.account
    }

    pub(super) fn labels(&self) -> Value {
        self.labels.clone()
    }
}

/// The placeholder for the labels of a chart, replaced after printing.
pub(super) const CHART_LABELS: &str = "{{ include \"operator.labels\" . }}";
