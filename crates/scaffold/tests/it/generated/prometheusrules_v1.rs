//! `PrometheusRule` of monitoring.coreos.com/v1, made by `kubewright import crd`.

#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

/// Rule describes an alerting or recording rule
/// See Prometheus documentation: [alerting](https://www.prometheus.io/docs/prometheus/latest/configuration/alerting_rules/) or [recording](https://www.prometheus.io/docs/prometheus/latest/configuration/recording_rules/#recording-rules) rule
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Rule {
    /// Name of the alert. Must be a valid label value.
    /// Only one of `record` and `alert` must be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    /// Annotations to add to each alert.
    /// Only valid for alerting rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<std::collections::BTreeMap<String, String>>,
    /// PromQL expression to evaluate.
    pub expr: k8s_openapi::apimachinery::pkg::util::intstr::IntOrString,
    /// Alerts are considered firing once they have been returned for this long.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$")]
    pub r#for: Option<String>,
    /// KeepFiringFor defines how long an alert will continue firing after the condition that triggered it has cleared.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, pattern = "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$")]
    pub keep_firing_for: Option<String>,
    /// Labels to add or overwrite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<std::collections::BTreeMap<String, String>>,
    /// Name of the time series to output to. Must be a valid metric name.
    /// Only one of `record` and `alert` must be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// RuleGroup is a list of sequentially evaluated recording and alerting rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Group {
    /// Interval determines how often rules in the group are evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$")]
    pub interval: Option<String>,
    /// Labels to add or overwrite before storing the result for its rules.
    /// The labels defined at the rule level take precedence.
    ///
    /// It requires Prometheus >= 3.0.0.
    /// The field is ignored for Thanos Ruler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<std::collections::BTreeMap<String, String>>,
    /// Limit the number of alerts an alerting rule and series a recording
    /// rule can produce.
    /// Limit is supported starting with Prometheus >= 2.31 and Thanos Ruler >= 0.24.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = null)]
    pub limit: Option<i64>,
    /// Name of the rule group.
    #[schema(min_length = 1)]
    pub name: String,
    /// PartialResponseStrategy is only used by ThanosRuler and will
    /// be ignored by Prometheus instances.
    /// More info: https://github.com/thanos-io/thanos/blob/main/docs/components/rule.md#partial-response
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(?i)(abort|warn)?$")]
    pub partial_response_strategy: Option<String>,
    /// Defines the offset the rule evaluation timestamp of this particular group by the specified duration into the past.
    ///
    /// It requires Prometheus >= v2.53.0.
    /// It is not supported for ThanosRuler.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$")]
    pub query_offset: Option<String>,
    /// List of alerting and recording rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<Rule>>,
}

/// Specification of desired alerting rule definitions for Prometheus.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[kube(
    group = "monitoring.coreos.com",
    version = "v1",
    kind = "PrometheusRule",
    plural = "prometheusrules",
    singular = "prometheusrule",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "The `PrometheusRule` custom resource definition (CRD) defines [alerting](https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/) and [recording](https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/) rules to be evaluated by `Prometheus` or `ThanosRuler` objects.\n\n`Prometheus` and `ThanosRuler` objects select `PrometheusRule` objects using label and namespace selectors.",
    shortname = "promrule",
    category = "prometheus-operator",
)]
#[crd(
    annotation("operator.prometheus.io/version", "0.85.0"),
)]
pub struct PrometheusRuleSpec {
    /// Content of Prometheus rule file
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(list_map_keys("name"))]
    pub groups: Option<Vec<Group>>,
}
