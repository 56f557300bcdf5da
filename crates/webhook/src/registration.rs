//! [`Registration`]: the entry of a webhook in a webhook configuration.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kubewright_controller::Object;
use serde::Serialize;

use crate::review::Operation;

/// The entry of a webhook in a `MutatingWebhookConfiguration` or `ValidatingWebhookConfiguration`, without the address and the
/// certificate of the server. It serializes to that entry.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::Webhook;
/// use serde_json::json;
///
/// let webhook = Webhook::defaulter(|pod: &mut Pod| pod.metadata.labels.get_or_insert_default().clear());
/// assert_eq!(
///     serde_json::to_value(webhook.registration())?,
///     json!({
///         "name": "mpod-v1.kb.io",
///         "admissionReviewVersions": ["v1"],
///         "failurePolicy": "Fail",
///         "sideEffects": "None",
///         "rules": [{
///             "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
///         }],
///     }),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// Whether the webhook may change objects.
    #[serde(skip)]
    pub type_: WebhookType,
    /// The path on the server.
    #[serde(skip)]
    pub path: String,
    /// The name, a domain name such as `vcaptain-v1.kb.io`.
    pub name: String,
    /// The versions of the review that the server understands, the preferred first.
    pub admission_review_versions: Vec<String>,
    /// The policy for requests while the webhook cannot be called.
    pub failure_policy: FailurePolicy,
    /// Whether the webhook has side effects.
    pub side_effects: SideEffects,
    /// Whether requests for other versions of the resources match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_policy: Option<MatchPolicy>,
    /// The time limit of a call, from 1 to 30 seconds. The cluster's default is 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u8>,
    /// Whether a mutating webhook is called again after other webhooks have changed the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reinvocation_policy: Option<ReinvocationPolicy>,
    /// The requests that the webhook is called for.
    pub rules: Vec<Rule>,
    /// The labels of the namespaces whose objects are reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// The labels of the objects that are reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_selector: Option<LabelSelector>,
    /// The conditions under which the webhook is called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_conditions: Vec<MatchCondition>,
}

/// A set of resources and operations.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kubewright_webhook::Rule;
///
/// let rule = Rule::of::<Deployment>().with_subresource("scale");
/// assert_eq!(rule.resources, ["deployments", "deployments/scale"]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The operations; if empty, those of the webhook.
    #[serde(serialize_with = "names")]
    pub operations: Vec<Operation>,
    /// The API groups; `*` is all of them.
    pub api_groups: Vec<String>,
    /// The versions; `*` is all of them.
    pub api_versions: Vec<String>,
    /// The resources and subresources, such as `pods`, `pods/exec`, `*/scale` or `*/*`.
    pub resources: Vec<String>,
    /// `Namespaced` or `Cluster`; `None` for both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// A CEL expression that decides whether a webhook is called.
///
/// ```
/// use kubewright_webhook::MatchCondition;
///
/// let not_for_nodes = MatchCondition {
///     name: "not-for-nodes".to_owned(),
///     expression: "!('system:nodes' in request.userInfo.groups)".to_owned(),
/// };
/// # let _ = not_for_nodes;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MatchCondition {
    /// The name of the condition.
    pub name: String,
    /// The expression.
    pub expression: String,
}

/// The type of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WebhookType {
    /// It may change objects.
    Mutating,
    /// It only allows or rejects requests.
    Validating,
}

/// The policy for requests while a webhook cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum FailurePolicy {
    /// The request fails.
    Fail,
    /// The request continues.
    Ignore,
}

/// Whether a webhook has side effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum SideEffects {
    /// It has none.
    None,
    /// It has none when a request is a [dry run](crate::AdmissionRequest::is_dry_run).
    NoneOnDryRun,
}

/// Whether requests for other versions of a resource match a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum MatchPolicy {
    /// Only requests for exactly the resource of the rule match.
    Exact,
    /// Requests for other versions match too, and the objects are converted.
    Equivalent,
}

/// Whether a mutating webhook is called again after other webhooks have changed the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ReinvocationPolicy {
    /// It is called once.
    Never,
    /// It is called again if something after it changed the object.
    IfNeeded,
}

impl Rule {
    /// Returns a rule for a resource, such as `Rule::new("apps", "v1", "deployments")`.
    pub fn new(group: &str, version: &str, resource: &str) -> Self {
        Self {
            operations: Vec::new(),
            api_groups: vec![group.to_owned()],
            api_versions: vec![version.to_owned()],
            resources: vec![resource.to_owned()],
            scope: None,
        }
    }

    /// Returns a rule for the resource of a type.
    pub fn of<K: Object>() -> Self {
        Self::new(&K::group(&()), &K::version(&()), &K::plural(&()))
    }

    /// Adds a subresource of the first resource.
    #[must_use]
    pub fn with_subresource(mut self, name: &str) -> Self {
        let resource = self.resources.first().map_or("*", String::as_str);
        self.resources.push(format!("{resource}/{name}"));
        self
    }
}

fn names<S: serde::Serializer>(operations: &[Operation], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(operations.iter().map(|operation| operation.as_str()))
}
