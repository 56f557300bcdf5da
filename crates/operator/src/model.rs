//! [`Model`]: the description of an operator, from which manifests are generated.
//!
//! An operator prints it as JSON, which a tool of another version may read. Therefore fields are only added; a breaking change
//! increments [`MODEL_VERSION`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{names::WebhookNames, rbac};

/// The version of the model that this crate reads and writes.
pub const MODEL_VERSION: u32 = 2;

/// The description of an operator.
///
/// ```
/// use kubewright_operator::{MODEL_VERSION, Model, PolicyRule};
///
/// let model = Model {
///     rules: vec![PolicyRule::new("", &["nodes"], &["get"])],
///     ..Model::new("keeper")
/// };
/// let json = serde_json::to_string(&model).unwrap();
/// assert_eq!(Model::from_json(&json).unwrap(), model);
/// assert_eq!(model.model, MODEL_VERSION);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The version of the model: [`MODEL_VERSION`].
    pub model: u32,
    /// The name of the program.
    pub name: String,
    /// The version of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// One CustomResourceDefinition for each kind, with all its versions.
    #[serde(default)]
    pub crds: Vec<Value>,
    /// The positions of rules, defaults and attributes in the source: by CRD and version, such as
    /// `captains.crew.example.com/v1`, and by their path in the schema.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, BTreeMap<String, String>>,
    /// The names of the CRDs whose objects the operator converts between versions.
    #[serde(default)]
    pub conversions: Vec<String>,
    /// The kinds of aggregated APIs: one definition for each kind, with all its versions, in the form of a
    /// CustomResourceDefinition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregated: Vec<Value>,
    /// The subresources of these kinds besides `status` and `scale`, by the name of the definition.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub subresources: BTreeMap<String, Vec<SubresourceModel>>,
    /// The admission webhooks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub webhooks: Vec<WebhookModel>,
    /// The controllers.
    #[serde(default)]
    pub controllers: Vec<ControllerModel>,
    /// The permissions the operator needs, not merged.
    #[serde(default)]
    pub rules: Vec<PolicyRule>,
}

/// The description of a controller.
///
/// ```
/// use kubewright_operator::{ControllerModel, KindModel};
///
/// let kind = |kind: &str, plural: &str| KindModel {
///     group: String::new(),
///     version: "v1".into(),
///     kind: kind.into(),
///     plural: plural.into(),
/// };
/// let controller = ControllerModel {
///     name: "configmap".into(),
///     main: Some(kind("ConfigMap", "configmaps")),
///     owns: vec![kind("Secret", "secrets")],
///     watches: Vec::new(),
/// };
/// let json = serde_json::to_value(&controller).unwrap();
/// assert_eq!(json["for"]["kind"], "ConfigMap");
/// assert_eq!(json["owns"][0]["plural"], "secrets");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerModel {
    /// The name of the controller.
    pub name: String,
    /// The kind that the controller reconciles.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub main: Option<KindModel>,
    /// The kinds whose objects it owns.
    #[serde(default)]
    pub owns: Vec<KindModel>,
    /// The other kinds it watches.
    #[serde(default)]
    pub watches: Vec<KindModel>,
}

/// A subresource of a kind of an aggregated API.
///
/// ```
/// use kubewright_operator::SubresourceModel;
/// use serde_json::json;
///
/// let json = json!({"name": "radio", "verbs": ["create", "get"]});
/// let radio: SubresourceModel = serde_json::from_value(json).unwrap();
/// assert!(!radio.is_read_only());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubresourceModel {
    /// The name.
    pub name: String,
    /// The verbs.
    pub verbs: Vec<String>,
}

impl SubresourceModel {
    /// Reports whether the subresource can only be read.
    pub fn is_read_only(&self) -> bool {
        self.verbs.iter().all(|verb| verb == "get")
    }
}

/// The description of an admission webhook.
///
/// ```
/// use kubewright_operator::{WebhookModel, WebhookType};
/// use serde_json::json;
///
/// let json = json!({
///     "type": "validating", "path": "/validate--v1-pod",
///     "webhook": {"name": "vpod-v1.kb.io", "failurePolicy": "Fail"},
/// });
/// let webhook: WebhookModel = serde_json::from_value(json).unwrap();
/// assert_eq!(webhook.type_, WebhookType::Validating);
/// assert_eq!(webhook.webhook["name"], "vpod-v1.kb.io");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebhookModel {
    /// Whether the webhook may change objects.
    #[serde(rename = "type")]
    pub type_: WebhookType,
    /// The path on the operator's server.
    pub path: String,
    /// The entry in the webhook configuration, without its `clientConfig`.
    pub webhook: Value,
}

/// The type of a webhook, which determines its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookType {
    /// An entry of a `MutatingWebhookConfiguration`.
    Mutating,
    /// An entry of a `ValidatingWebhookConfiguration`.
    Validating,
}

/// A kind and the resource that serves it.
///
/// ```
/// use kubewright_operator::KindModel;
/// use serde_json::json;
///
/// let json = json!({"group": "apps", "version": "v1", "kind": "Deployment", "plural": "deployments"});
/// let deployment: KindModel = serde_json::from_value(json.clone()).unwrap();
/// assert_eq!(deployment.plural, "deployments");
/// assert_eq!(serde_json::to_value(&deployment).unwrap(), json);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KindModel {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural name of the resource.
    pub plural: String,
}

/// A permission: a policy rule of RBAC, and the role and namespace it belongs to.
///
/// ```
/// use kubewright_operator::PolicyRule;
///
/// let rule = PolicyRule::new("", &["secrets"], &["get"])
///     .resource_names(&["crew-token"])
///     .namespace("vault");
/// assert_eq!(rule.namespace.as_deref(), Some("vault"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRule {
    /// The API groups; an empty string is the core group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// The resources, including subresources such as `pods/log`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The names of the objects. An empty list means all objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// The non-resource URLs, such as `/metrics`.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// The allowed verbs.
    pub verbs: Vec<String>,
    /// The namespace the rule applies to. Defaults to every namespace the operator works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The role the rule is part of. Defaults to the operator's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// A [`Model`] that cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The text is not the JSON of a model.
    #[error("the output is not the description of an operator: {0}")]
    Json(#[from] serde_json::Error),
    /// The operator was built with another version of the model.
    #[error(
        "the operator uses version {0} of the description, and this program reads version {MODEL_VERSION}"
    )]
    Version(u64),
}

impl Model {
    /// Returns the permissions that follow from the kinds that its controllers watch and own. They are part of its rules,
    /// which also contain those that its author declared.
    ///
    /// ```
    /// use kubewright_operator::Model;
    ///
    /// assert!(Model::new("keeper").derived_rules().is_empty());
    /// ```
    pub fn derived_rules(&self) -> Vec<PolicyRule> {
        rbac::rules(&self.controllers)
    }

    /// Reports whether the operator serves webhooks, for admission or conversion.
    ///
    /// ```
    /// use kubewright_operator::Model;
    ///
    /// let mut model = Model::new("crew");
    /// assert!(!model.serves_webhooks());
    /// model.conversions.push("captains.crew.example.com".into());
    /// assert!(model.serves_webhooks());
    /// ```
    pub fn serves_webhooks(&self) -> bool {
        !self.webhooks.is_empty() || !self.conversions.is_empty()
    }

    /// Returns the permissions that the operator needs to maintain the certificates of its webhooks: access to a Secret in the
    /// namespace of their Service, and to the objects whose `caBundle` it writes. They are not part of its rules, since
    /// certificates may also come from files. Empty without webhooks.
    ///
    /// ```
    /// use kubewright_operator::Model;
    ///
    /// let mut model = Model::new("crew");
    /// assert!(model.webhook_rules("crew-system", "crew-webhook-service").is_empty());
    /// model.conversions.push("captains.crew.example.com".into());
    /// let rules = model.webhook_rules("crew-system", "crew-webhook-service");
    /// assert_eq!(rules[0].namespace.as_deref(), Some("crew-system"));
    /// assert!(rules.iter().any(|rule| rule.resource_names == ["captains.crew.example.com"]));
    /// ```
    pub fn webhook_rules(&self, namespace: &str, service: &str) -> Vec<PolicyRule> {
        rbac::webhook_rules(self, namespace, service)
    }

    /// Returns the `MutatingWebhookConfiguration` and the `ValidatingWebhookConfiguration` of the operator, if it has webhooks
    /// for them, which call the webhooks at a Service. They have no `caBundle`.
    ///
    /// ```
    /// use kubewright_operator::{Model, WebhookModel, WebhookType};
    /// use serde_json::json;
    ///
    /// let mut model = Model::new("crew");
    /// model.webhooks.push(WebhookModel {
    ///     type_: WebhookType::Validating,
    ///     path: "/validate--v1-pod".into(),
    ///     webhook: json!({"name": "vpod-v1.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None"}),
    /// });
    /// let configurations = model.webhook_configurations("crew-system", "crew-webhook-service");
    /// assert_eq!(configurations.len(), 1);
    /// assert_eq!(configurations[0]["metadata"]["name"], "crew-validating-webhook-configuration");
    /// assert_eq!(configurations[0]["webhooks"][0]["clientConfig"]["service"]["path"], "/validate--v1-pod");
    /// ```
    pub fn webhook_configurations(&self, namespace: &str, service: &str) -> Vec<Value> {
        let names = WebhookNames::of(service);
        let of_type = |(type_, kind, name): (WebhookType, &str, &str)| {
            let webhooks = self.webhooks.iter().filter(|it| it.type_ == type_);
            let webhooks: Vec<Value> = webhooks
                .map(|model| {
                    let mut webhook = model.webhook.clone();
                    webhook["clientConfig"] = json!({"service": {
                        "namespace": namespace, "name": service, "path": model.path,
                    }});
                    webhook
                })
                .collect();
            (!webhooks.is_empty()).then(|| {
                json!({
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": kind,
                    "metadata": {"name": name},
                    "webhooks": webhooks,
                })
            })
        };
        [
            (
                WebhookType::Mutating,
                "MutatingWebhookConfiguration",
                &*names.mutating,
            ),
            (
                WebhookType::Validating,
                "ValidatingWebhookConfiguration",
                &*names.validating,
            ),
        ]
        .into_iter()
        .filter_map(of_type)
        .collect()
    }

    /// Returns the model of an operator without APIs and controllers.
    pub fn new(name: &str) -> Self {
        Model {
            model: MODEL_VERSION,
            name: name.to_owned(),
            version: None,
            crds: Vec::new(),
            sources: BTreeMap::new(),
            conversions: Vec::new(),
            aggregated: Vec::new(),
            subresources: BTreeMap::new(),
            webhooks: Vec::new(),
            controllers: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Decodes a model from the JSON that an operator printed.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a model, or a model of another version.
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        /// The part that all versions share.
        #[derive(Deserialize)]
        struct Header {
            model: u64,
        }
        let Header { model } = serde_json::from_str(text)?;
        if model != u64::from(MODEL_VERSION) {
            return Err(ModelError::Version(model));
        }
        Ok(serde_json::from_str(text)?)
    }
}

impl PolicyRule {
    /// Returns a rule for resources of one API group.
    pub fn new(group: &str, resources: &[&str], verbs: &[&str]) -> Self {
        PolicyRule {
            api_groups: vec![group.to_owned()],
            resources: strings(resources),
            verbs: strings(verbs),
            ..PolicyRule::default()
        }
    }

    /// Returns a rule for non-resource URLs, such as `/metrics`.
    pub fn urls(urls: &[&str], verbs: &[&str]) -> Self {
        PolicyRule {
            urls: strings(urls),
            verbs: strings(verbs),
            ..PolicyRule::default()
        }
    }

    /// Restricts the rule to objects with these names.
    #[must_use]
    pub fn resource_names(mut self, names: &[&str]) -> Self {
        self.resource_names = strings(names);
        self
    }

    /// Restricts the rule to one namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Puts the rule into a role with this name instead of the operator's.
    #[must_use]
    pub fn role(mut self, role: &str) -> Self {
        self.role = Some(role.to_owned());
        self
    }
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_rejected() {
        let error = Model::from_json(r#"{"model": 1, "name": "a"}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the operator uses version 1 of the description, and this program reads version 2"
        );
    }

    #[test]
    fn other_output_is_rejected() {
        let error = Model::from_json("hello").unwrap_err().to_string();
        assert!(
            error.starts_with("the output is not the description of an operator: "),
            "{error}"
        );
    }
}
